//! Writer of `.npy` files for tests of all crates.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "crates include this file, and each uses a part of it"
)]

/// Returns a `.npy` file from NumPy's name of the element type, the shape as a Python tuple, and
/// the elements' bytes.
pub fn npy(descr: &str, shape: &str, data: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    npy_under(&header, data)
}

/// Returns a `.npy` file with this header.
pub fn npy_under(header: &str, data: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}
