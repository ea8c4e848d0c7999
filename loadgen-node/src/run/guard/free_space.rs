//! Free space for LoadGen's logs. A separate thread asks the file system. An unresponsive file
//! system, such as a network file system that has lost its server, delays neither the watchdog nor
//! the end of a run.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{fs::statvfs, io::retry_on_intr};

/// Maximum time that one check waits for the file system.
const LOOK: Duration = Duration::from_millis(200);

/// Time without an answer after which the file system counts as lost.
const LOST: Duration = Duration::from_secs(30);

/// Function that returns the free bytes of a folder's file system.
pub(crate) type ReadFreeBytes = fn(&Path) -> io::Result<u64>;

/// File system of a folder, and the free bytes that it must have.
#[derive(Debug)]
pub(crate) struct FreeSpace {
    folder: PathBuf,
    min_free_bytes: u64,
    ask: ReadFreeBytes,
    asking: Mutex<Option<AskThread>>,
}

#[derive(Debug)]
struct AskThread {
    questions: Sender<()>,
    answers: Receiver<io::Result<u64>>,
    /// Time of the question that is not answered yet.
    asked: Option<Instant>,
}

impl FreeSpace {
    pub(crate) fn new(ask: ReadFreeBytes, folder: &Path, min_free_bytes: u64) -> Self {
        Self { folder: folder.into(), min_free_bytes, ask, asking: Mutex::default() }
    }

    /// Fails with the reason if there is known to be too little space.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut asking = self.asking.lock();
        let asking = match &mut *asking {
            Some(asking) => asking,
            none => none.insert(self.start().map_err(|error| format!("free space: {error}"))?),
        };
        let asked = *asking.asked.get_or_insert_with(|| {
            // The thread outlives this end of the channel.
            let _ = asking.questions.send(());
            Instant::now()
        });
        match asking.answers.recv_timeout(LOOK) {
            Ok(free) => {
                asking.asked = None;
                check_free_bytes(free, &self.folder, self.min_free_bytes)
            }
            Err(_) if asked.elapsed() < LOST => Ok(()),
            Err(_) => Err(format!(
                "the file system of {} has not answered for {} s, and LoadGen's logs are there: repair it, or choose \
                 --output on another one",
                self.folder.display(),
                LOST.as_secs()
            )),
        }
    }

    fn start(&self) -> io::Result<AskThread> {
        let (questions, asked) = channel();
        let (answer, answers) = channel();
        let (folder, ask) = (self.folder.clone(), self.ask);
        thread::Builder::new().name("free space".into()).spawn(move || {
            for () in asked {
                if answer.send(ask(&folder)).is_err() {
                    return;
                }
            }
        })?;
        Ok(AskThread { questions, answers, asked: None })
    }
}

/// Checks that the file system of a folder has at least `min_free_bytes` free. Blocks until the
/// file system responds.
pub(crate) fn check_free_space(folder: &Path, min_free_bytes: u64) -> Result<(), String> {
    check_free_bytes(free_bytes(folder), folder, min_free_bytes)
}

pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let system = retry_on_intr(|| statvfs(folder))?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

fn check_free_bytes(
    free: io::Result<u64>,
    folder: &Path,
    min_free_bytes: u64,
) -> Result<(), String> {
    let free = free.map_err(|error| format!("{}: {error}", folder.display()))?;
    if free >= min_free_bytes.max(1) {
        return Ok(());
    }
    Err(format!(
        "the file system of {} has {free} bytes free, and LoadGen's logs need --min-free-bytes ({min_free_bytes}): free some space, \
         or lower it",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_room_is_named() {
        for check in
            [check_free_space, |folder: &Path, n| FreeSpace::new(free_bytes, folder, n).check()]
        {
            check(Path::new("/"), 1).unwrap();
            let error = check(Path::new("/"), u64::MAX).unwrap_err();
            assert!(error.contains("bytes free"), "{error}");
            assert!(check(Path::new("/nowhere"), 1).is_err());
        }
    }

    #[test]
    fn a_file_system_that_does_not_answer_delays_no_run() {
        let hangs = |_: &Path| {
            thread::sleep(Duration::from_secs(3600));
            Ok(0)
        };
        let space = FreeSpace::new(hangs, Path::new("/"), 1);
        let started = Instant::now();
        space.check().unwrap();
        space.check().unwrap();
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        space.asking.lock().as_mut().unwrap().asked = Instant::now().checked_sub(LOST);
        let error = space.check().unwrap_err();
        assert!(error.contains("has not answered for 30 s"), "{error}");
    }

    #[test]
    fn each_look_asks_again() {
        let space = FreeSpace::new(free_bytes, Path::new("/"), 1);
        for _ in 0..3 {
            space.check().unwrap();
            assert_eq!(space.asking.lock().as_ref().unwrap().asked, None);
        }
    }
}
