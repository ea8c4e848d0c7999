//! The right to write into a folder, which one process has at a time.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{fs::OFlags, io::Errno};
use tracing::warn;

/// The file that is locked. It is empty, and gone when the run has ended.
const LOCK: &str = "run.lock";

/// A folder that no other run writes into as long as this value lives. The system lets go of it when the process ends,
/// however it does.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    _lock: File,
    _made: MadeFolders,
}

/// Folders that were made for a claim, the innermost first; dropping them removes those that are empty.
#[derive(Debug, Default)]
struct MadeFolders(Vec<PathBuf>);

impl Claim {
    /// Claims a folder, which is made where it is missing; `None` when another process has it. A folder that was made and is still
    /// empty in the end is removed again.
    pub(crate) fn make(folder: &Path) -> io::Result<Option<Self>> {
        // The last ancestor of a relative path is empty.
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing).map(Path::to_path_buf);
        let made = MadeFolders(missing.collect());
        fs::create_dir_all(folder)?;
        Self::lock(folder, made)
    }

    /// Claims a folder; `None` when another process has it.
    pub(crate) fn of(folder: &Path) -> io::Result<Option<Self>> {
        Self::lock(folder, MadeFolders::default())
    }

    fn lock(folder: &Path, made: MadeFolders) -> io::Result<Option<Self>> {
        let path = folder.join(LOCK);
        loop {
            // It may be the other's, so it is not truncated; and it may be a pipe, so it is not waited for.
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(&path)?;
            match lock.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                // Some network file systems lock nothing.
                Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                    warn!(folder = %folder.display(), "the file system has no locks: start no other run into this folder");
                    return Ok(Some(Self { folder: folder.into(), _lock: lock, _made: made }));
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) => {}
            }
            // The other may have removed the file between our opening and our locking it.
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

/// Tidies up a folder that this process has claimed, where the process ends without dropping its claim.
pub(crate) fn tidy(folder: &Path) {
    // Left behind it would be an empty file that nobody has locked.
    let _ = fs::remove_file(folder.join(LOCK));
}

impl Drop for Claim {
    fn drop(&mut self) {
        tidy(&self.folder);
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder that holds anything stays.
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
        let first = Claim::of(folder.path()).unwrap().unwrap();
        assert!(Claim::of(folder.path()).unwrap().is_none());
        drop(first);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        // What a process that was killed leaves is no lock.
        fs::write(folder.path().join(LOCK), "").unwrap();
        drop(Claim::of(folder.path()).unwrap().unwrap());
        assert!(Claim::of(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_folder_that_was_made_for_nothing_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let (outer, inner) = (root.path().join("out"), root.path().join("out/fabric"));
        let made = || Claim::make(&inner).unwrap().unwrap();
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
                        let Some(claim) = Claim::of(folder.path()).unwrap() else { continue };
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
