//! Interference with a measurement: a clock that is set or runs unevenly, a file system without
//! space for LoadGen's logs, and a file that has reached its size limit.
//!
//! LoadGen takes its times from `std::chrono::high_resolution_clock`, which is the system's wall
//! clock with GCC's library: setting it while a test runs changes latencies and the length of the
//! test. LoadGen does not check that its logs were written.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use crate::{
    official_log,
    run::guard::free_space::{FreeSpace, free_bytes},
};

/// Maximum difference between the wall clock and its time without corrections: the time that
/// reading two clocks may take on a busy machine, plus a thousandth of the elapsed time, twice what
/// NTP corrects gradually (500 ppm). It applies to the time since the start of the run and since
/// the last check, so that no step hides in the thousandth of hours.
pub(crate) const CLOCK_TOLERANCE: Duration = Duration::from_millis(20);
const UNEVEN_SHARE: u32 = 1000;

/// Wall clock, and the time of the machine's oscillator since an arbitrary moment. The oscillator
/// is never set or corrected.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    wall: SystemTime,
    steady: Duration,
}

/// Reads `CLOCK_MONOTONIC_RAW`; the other monotonic clock follows the corrections of the wall
/// clock.
fn steady() -> Duration {
    let time = clock_gettime(ClockId::MonotonicRaw);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Clocks {
    /// Reads both clocks at nearly the same time: of a few attempts, the shortest one counts.
    fn now() -> Self {
        let attempt = |_| {
            let (before, wall, steady) = (steady(), SystemTime::now(), steady());
            (steady.saturating_sub(before), Self { wall, steady })
        };
        let (_, first) = attempt(0);
        (0..4).map(attempt).min_by_key(|(took, _)| *took).map_or(first, |(_, clocks)| clocks)
    }
}

/// Detector of interference with a run's measurement.
#[derive(Debug)]
pub(crate) struct InterferenceWatch {
    /// Set once a file of this process has reached its size limit: later writes are lost.
    cut: Arc<AtomicBool>,
    start: Clocks,
    last_look: Mutex<Clocks>,
    output: PathBuf,
    space: FreeSpace,
}

impl InterferenceWatch {
    pub(crate) fn new(cut: Arc<AtomicBool>, output: &Path, min_free_bytes: u64) -> Self {
        let start = Clocks::now();
        let last_look = Mutex::new(start);
        let space = FreeSpace::new(free_bytes, output, min_free_bytes);
        Self { cut, start, last_look, output: output.into(), space }
    }

    /// Fails with the reason if the measurement is invalid.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.cut.load(Ordering::SeqCst) {
            return Err(
                "a file of this run has reached the size limit (SIGXFSZ), so that LoadGen's logs are incomplete: raise the limit \
                 (ulimit -f), and run again"
                    .into(),
            );
        }
        let now = Clocks::now();
        check_clocks(self.start, now)?;
        check_clocks(std::mem::replace(&mut *self.last_look.lock(), now), now)?;
        self.space.check()
    }

    /// Checks a finished measurement, and that its logs are complete. Fails with the reason if the
    /// measurement is invalid.
    pub(crate) fn check_ended(&self) -> Result<(), String> {
        self.check()?;
        official_log::check_ends(&self.output).map_err(|error| error.to_string())
    }
}

fn check_clocks(start: Clocks, now: Clocks) -> Result<(), String> {
    let steady = now.steady.saturating_sub(start.steady);
    let (direction, off) = match now.wall.duration_since(start.wall + steady) {
        Ok(off) => ("forward", off),
        Err(back) => ("back", back.duration()),
    };
    if off <= CLOCK_TOLERANCE + steady / UNEVEN_SHARE {
        return Ok(());
    }
    Err(format!(
        "the system's clock went {direction} by {:.3} s during the test, and LoadGen measures with it: stop what sets the \
         clock or suspends the machine, and run again",
        off.as_secs_f64()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed_and_one_that_is_corrected_gradually_is_not() {
        let start = Clocks { wall: SystemTime::UNIX_EPOCH, steady: Duration::from_secs(7) };
        let after = |steady_ms: u64, wall_ms: u64| Clocks {
            wall: start.wall + Duration::from_millis(wall_ms),
            steady: start.steady + Duration::from_millis(steady_ms),
        };
        check_clocks(start, after(600_000, 600_300)).unwrap();
        check_clocks(start, after(600_000, 599_700)).unwrap();
        let error = check_clocks(start, after(10_000, 70_000)).unwrap_err();
        assert!(error.contains("went forward by 60.000 s"), "{error}");
        let error = check_clocks(start, after(10_000, 9_900)).unwrap_err();
        assert!(error.contains("went back by 0.100 s"), "{error}");
        check_clocks(Clocks::now(), Clocks::now()).unwrap();
    }

    #[test]
    fn a_file_that_cannot_grow_spoils_the_run_for_good() {
        let cut = Arc::<AtomicBool>::default();
        let fitness = InterferenceWatch::new(cut.clone(), Path::new("/"), 0);
        fitness.check().unwrap();
        cut.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            assert!(fitness.check().unwrap_err().contains("ulimit -f"));
        }
    }
}
