//! What every target needs: a limit for decoders, and files of hostile bytes.

use std::{io::Write as _, path::Path};

/// Limits of a decoder under test, in bytes.
pub(crate) const LONGEST: usize = 4096;

/// Gives a reader of files these bytes. A file that cannot be made is no finding.
pub(crate) fn with_file(data: &[u8], read: impl FnOnce(&Path)) {
    if let Ok(mut file) = tempfile::NamedTempFile::new()
        && file.write_all(data).is_ok()
    {
        read(file.path());
    }
}
