//! Files of the kernel, in /proc and /sys: short, of one form, and read anew each time.

use std::{fs, path::Path};

/// Returns the text of a file; an empty one where it cannot be read, as on kernels without it.
pub fn read(path: impl AsRef<Path>) -> String {
    said(path).unwrap_or_default()
}

/// Returns the text of a file; `None` where it cannot be read.
#[expect(clippy::disallowed_methods, reason = "the kernel's files are what this is for")]
pub fn said(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}
