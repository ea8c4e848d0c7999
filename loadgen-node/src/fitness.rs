//! Whether this machine is fit to measure while a run goes on: its clock must run evenly, and LoadGen's logs need room.
//!
//! LoadGen takes its times from `std::chrono::high_resolution_clock`, which is the system's wall clock with GCC's library:
//! one that is set while a test runs changes its latencies and its length. And LoadGen does not look whether its logs
//! were written.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use rustix::fs::statvfs;

/// How far the wall clock may be from where it would be without corrections: what reading two clocks may take on a busy
/// machine, and a thousandth of the time, twice what NTP corrects gradually (500 ppm).
const UNEVEN: Duration = Duration::from_millis(20);
const UNEVEN_SHARE: u32 = 1000;

/// The wall clock and one that cannot be set.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    wall: SystemTime,
    steady: Instant,
}

impl Clocks {
    /// Both at nearly the same time: of a few attempts the one in which the least time passed between the two.
    fn now() -> Self {
        let attempt = |_| {
            let (before, wall, steady) = (Instant::now(), SystemTime::now(), Instant::now());
            (steady - before, Self { wall, steady })
        };
        let (_, first) = attempt(0);
        (0..4).map(attempt).min_by_key(|(took, _)| *took).map_or(first, |(_, clocks)| clocks)
    }
}

/// What a run started with, and what it needs.
#[derive(Debug)]
pub(crate) struct Fitness {
    start: Clocks,
    output: PathBuf,
    min_free_bytes: u64,
}

impl Fitness {
    /// From now on.
    pub(crate) fn new(output: &Path, min_free_bytes: u64) -> Self {
        Self { start: Clocks::now(), output: output.into(), min_free_bytes }
    }

    /// Why the measurement is worthless, if it is.
    pub(crate) fn check(&self) -> Result<(), String> {
        even(self.start, Clocks::now())?;
        has_room(&self.output, self.min_free_bytes)
    }
}

fn even(start: Clocks, now: Clocks) -> Result<(), String> {
    let steady = now.steady - start.steady;
    let (direction, off) = match now.wall.duration_since(start.wall + steady) {
        Ok(off) => ("forward", off),
        Err(back) => ("back", back.duration()),
    };
    match off > UNEVEN + steady / UNEVEN_SHARE {
        true => Err(format!(
            "the system's clock went {direction} by {:.3} s during the test, and LoadGen measures with it: stop what sets \
             the clock, and run again",
            off.as_secs_f64()
        )),
        false => Ok(()),
    }
}

/// Whether the file system of that folder has room for so much.
pub(crate) fn has_room(folder: &Path, min_free_bytes: u64) -> Result<(), String> {
    let system = statvfs(folder)
        .map_err(|error| format!("{}: {}", folder.display(), io::Error::from(error)))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    match free < min_free_bytes {
        true => Err(format!(
            "the file system of {} has {free} bytes free, and LoadGen's logs need room: make some, or lower \
             --min-free-bytes ({min_free_bytes})",
            folder.display()
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed_and_one_that_is_corrected_gradually_is_not() {
        let start = Clocks { wall: SystemTime::UNIX_EPOCH, steady: Instant::now() };
        let after = |steady_ms: u64, wall_ms: u64| Clocks {
            wall: start.wall + Duration::from_millis(wall_ms),
            steady: start.steady + Duration::from_millis(steady_ms),
        };
        even(start, after(600_000, 600_300)).unwrap();
        even(start, after(600_000, 599_700)).unwrap();
        let error = even(start, after(10_000, 70_000)).unwrap_err();
        assert!(error.contains("went forward by 60.000 s"), "{error}");
        let error = even(start, after(10_000, 9_900)).unwrap_err();
        assert!(error.contains("went back by 0.100 s"), "{error}");
        even(Clocks::now(), Clocks::now()).unwrap();
    }

    #[test]
    fn a_file_system_without_room_is_named() {
        has_room(Path::new("/"), 1).unwrap();
        let error = has_room(Path::new("/"), u64::MAX).unwrap_err();
        assert!(error.contains("bytes free"), "{error}");
        assert!(has_room(Path::new("/nowhere"), 1).is_err());
    }
}
