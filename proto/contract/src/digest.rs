//! Digests as text, on the wire and in logs.

/// In hexadecimal digits.
pub use hex::encode as in_hex;
