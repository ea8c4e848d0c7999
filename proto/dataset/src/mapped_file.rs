//! A file mapped into memory: loaded samples are slices of it, without a second copy.

use std::path::Path;

use bytes::Bytes;

use crate::error::DatasetError;

/// Maps a file, which nobody may shorten while the program runs.
#[allow(
    unsafe_code,
    reason = "mapping is always unsafe; it saves a copy of the whole data set (ImageNet as uint8 is 7.5 GB)"
)]
pub(super) fn map(path: &Path) -> Result<Bytes, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
    let file = netdiv_resources::files::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() == 0 {
        return Err(DatasetError::Empty(path.into()));
    }
    // SAFETY: the mapping is read-only and private to this process. If another program writes to the
    // file meanwhile, samples change, which is wrong data but still initialised bytes; if it shortens the file, the
    // system ends this process. The operator must avoid both, as with every mapped file.
    let mapped = unsafe { memmap2::Mmap::map(&file) }.map_err(unreadable)?;
    Ok(Bytes::from_owner(mapped))
}
