//! Files of the kernel, in /proc and /sys. They are short, and are read anew each time.

use std::{fs, path::Path};

/// Returns the text of a file, or an empty text if it cannot be read, as on kernels without the
/// file.
pub fn read(path: impl AsRef<Path>) -> String {
    try_read(path).unwrap_or_default()
}

/// Returns the text of a file, or `None` if it cannot be read.
#[expect(clippy::disallowed_methods, reason = "reads the kernel's files, which are short")]
pub fn try_read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}
