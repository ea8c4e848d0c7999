//! How digests are written, on the wire and in logs.

/// In hexadecimal digits.
pub fn in_hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
