//! A file mapped into memory: loaded samples are slices of it, without a second copy.

use std::{fs::File, path::Path};

use bytes::Bytes;

use super::DatasetError;

/// Maps a file, which nobody may shorten while the program runs.
///
/// The one exception from "unsafe code only in loadgen-sys": mapping is unsafe wherever it is done. What it
/// saves is a copy of the whole data set (ImageNet as uint8 is 7.5 GB).
#[allow(unsafe_code)]
pub(super) fn map(path: &Path) -> Result<Bytes, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() == 0 {
        return Err(DatasetError::Empty(path.into()));
    }
    // SAFETY: the mapping is read-only and private to this process. Should another program write to the file
    // meanwhile, samples change under us, which is wrong data but still initialised bytes; should it shorten
    // the file, the system ends this process. Both are the operator's to avoid, as with every mapped file.
    let mapped = unsafe { memmap2::Mmap::map(&file) }.map_err(unreadable)?;
    Ok(Bytes::from_owner(mapped))
}
