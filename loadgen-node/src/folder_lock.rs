//! Lock of an output folder: one process at a time may write into it.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};
use tracing::warn;

/// Name of the lock file. It is empty, and removed when the run has ended.
const LOCK: &str = "run.lock";

/// Exclusive right of this process to write into a folder, as long as this value lives. The kernel
/// releases it when the process ends, in whatever way.
#[derive(Debug)]
pub(crate) struct FolderLock {
    folder: PathBuf,
    _lock: File,
    _made: MadeFolders,
}

/// Folders that were created for a claim, the innermost first. Dropping them removes the empty
/// ones.
#[derive(Debug, Default)]
struct MadeFolders(Vec<PathBuf>);

impl FolderLock {
    /// Claims a folder, and creates it if it is missing. Returns `None` if another process has
    /// claimed it. A created folder that is still empty when the claim is dropped is removed again.
    pub(crate) fn make(folder: &Path) -> io::Result<Option<Self>> {
        // The last ancestor of a relative path is empty.
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing).map(Path::to_path_buf);
        let made = MadeFolders(missing.collect());
        fs::create_dir_all(folder)?;
        Self::lock(folder, made)
    }

    /// Claims an existing folder. Returns `None` if another process has claimed it.
    pub(crate) fn of(folder: &Path) -> io::Result<Option<Self>> {
        Self::lock(folder, MadeFolders::default())
    }

    fn lock(folder: &Path, made: MadeFolders) -> io::Result<Option<Self>> {
        let path = folder.join(LOCK);
        loop {
            // The file may be another process's, so it is not truncated. It may be a pipe, so
            // opening must not block.
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(&path)?;
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                // Some network file systems do not support locks.
                Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                    warn!(folder = %folder.display(), "the file system does not support locks: start no other run into this folder");
                    return Ok(Some(Self { folder: folder.into(), _lock: lock, _made: made }));
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => {}
            }
            // Another process may have removed the file after it was opened here and before it was
            // locked.
            let place = |file: &fs::Metadata| (file.dev(), file.ino());
            let ours = lock.metadata()?;
            if fs::metadata(&path).is_ok_and(|now| place(&now) == place(&ours)) {
                return Ok(Some(Self { folder: folder.into(), _lock: lock, _made: made }));
            }
        }
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    let none = [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOLCK].map(|none| none.raw_os_error());
    error.raw_os_error().is_some_and(|error| none.contains(&error))
}

/// Removes the lock file of a folder that this process has claimed, for a process that ends without
/// dropping its claim.
pub(crate) fn tidy(folder: &Path) {
    // Otherwise an empty, unlocked file would remain.
    let _ = fs::remove_file(folder.join(LOCK));
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        tidy(&self.folder);
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder that is not empty stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn one_has_a_folder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::of(folder.path()).unwrap().unwrap();
        assert!(FolderLock::of(folder.path()).unwrap().is_none());
        drop(first);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        // A lock file left by a killed process is not locked.
        fs::write(folder.path().join(LOCK), "").unwrap();
        drop(FolderLock::of(folder.path()).unwrap().unwrap());
        assert!(FolderLock::of(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_folder_that_was_made_for_nothing_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("out"), root.path().join("out/fabric"));
        let made = || FolderLock::make(&inner).unwrap().unwrap();
        drop(made());
        assert!(!outer.exists());
        let claim = made();
        fs::write(outer.join("other.txt"), "1").unwrap();
        drop(claim);
        assert!(!inner.exists() && outer.exists(), "what another wrote stays");
        let claim = made();
        fs::write(inner.join("fabric.json"), "{}").unwrap();
        drop(claim);
        drop(made());
        assert!(inner.join("fabric.json").exists());
        fs::remove_file(inner.join("fabric.json")).unwrap();
        drop(made());
        assert!(inner.exists(), "it was there before");
    }

    #[test]
    fn of_many_that_try_and_let_go_never_two_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, had) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Some(claim) = FolderLock::of(folder.path()).unwrap() else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        had.fetch_add(1, Ordering::SeqCst);
                        drop(claim);
                    }
                });
            }
        });
        assert!(had.load(Ordering::SeqCst) > 0);
    }
}
