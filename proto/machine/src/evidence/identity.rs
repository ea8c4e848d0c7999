//! Identities of machines. machine-id(5) declares the machine id confidential, and only root can
//! read serial numbers. Therefore only digests leave the machine. Equal identities have equal
//! digests.

use sha2::{Digest as _, Sha256};

/// Placeholders for a missing serial number or machine id.
const PLACEHOLDERS: [&str; 12] = [
    "none",
    "n/a",
    "default string",
    "not specified",
    "not applicable",
    "not available",
    "system serial number",
    "base board serial number",
    "to be filled by o.e.m.",
    "0123456789",
    "unknown",
    // Value of an image before its first boot (machine-id(5)).
    "uninitialized",
];

/// Returns the digest of a machine id, or `None` for a placeholder.
pub(crate) fn machine_id(id: &str) -> Option<String> {
    digest("netdiv machine-id", id)
}

/// Returns the digest of a serial number, or `None` for a placeholder.
pub(crate) fn board_serial(serial: &str) -> Option<String> {
    digest("netdiv board-serial", serial)
}

/// Returns the first 16 bytes of SHA-256, in hex, or `None` for a placeholder.
fn digest(domain: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let is_nothing = text.bytes().all(|byte| byte == b'0')
        || PLACEHOLDERS.iter().any(|placeholder| placeholder.eq_ignore_ascii_case(text));
    let hash = Sha256::digest([domain.as_bytes(), &[0], text.as_bytes()].concat());
    (!is_nothing).then(|| hex::encode(&hash[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_tell_apart_and_give_nothing_away() {
        // printf 'netdiv machine-id\0abc' | sha256sum
        assert_eq!(machine_id(" abc\n").unwrap(), "a9315f3a39d985bcecad0fd22c935e2f");
        assert_eq!(board_serial("abc").unwrap(), "8bf52410f9a2d39655a035551b58fb41");
        assert_ne!(machine_id("abd"), machine_id("abc"));
    }

    #[test]
    fn placeholders_identify_nothing() {
        for nothing in ["", "0", "00000000", "To be filled by O.E.M.", "Default string", "NONE"] {
            assert_eq!(board_serial(nothing), None, "{nothing}");
        }
        assert_eq!(machine_id("uninitialized"), None);
        assert!(board_serial("0001").is_some());
    }
}
