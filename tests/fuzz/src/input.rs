//! Helpers of all targets: a limit for decoders, and files of hostile bytes.

use std::{io::Write as _, path::Path};

/// Maximum length of a message or payload that a decoder under test accepts, in bytes.
pub(crate) const LONGEST: usize = 4096;

/// Passes a file of these bytes to a reader. A file that cannot be created is not a finding.
pub(crate) fn with_file(data: &[u8], read: impl FnOnce(&Path)) {
    if let Ok(mut file) = tempfile::NamedTempFile::new()
        && file.write_all(data).is_ok()
    {
        read(file.path());
    }
}
