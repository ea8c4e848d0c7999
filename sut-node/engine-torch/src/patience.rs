//! Waits for a batch: spinning for short batches, sleeping for long ones.
//!
//! libtorch's events make a waiting thread spin. A spinning thread detects the end of a batch
//! earliest, but occupies a core that could decode samples.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::failure::Failure;

/// Maximum duration of a wait after which the next wait still spins.
const LONG: Duration = Duration::from_millis(2);

/// Pause between two polls of a batch: 2.5 % of the shortest wait with pauses.
const PAUSE: Duration = Duration::from_micros(50);

/// Work that a device computes, such as a batch.
pub(crate) trait DeviceWork {
    /// Returns true if the work has ended.
    fn is_done(&mut self) -> Result<bool, Failure>;

    /// Waits for the end of the work; the thread may spin.
    fn wait(&mut self) -> Result<(), Failure>;
}

/// Chooses between spinning and sleeping for an instance's next batch, by the duration of the last
/// wait. Any thread may use it.
#[derive(Default)]
pub(crate) struct WaitStrategy {
    /// Duration of the last wait, in nanoseconds.
    last: AtomicU64,
}

impl WaitStrategy {
    /// Waits for the end of a batch. A batch that has already ended has no influence on later
    /// waits.
    pub(crate) fn wait(&self, batch: &mut impl DeviceWork) -> Result<(), Failure> {
        if batch.is_done()? {
            return Ok(());
        }
        let started = Instant::now();
        let outcome = if self.is_long() { look(batch) } else { batch.wait() };
        let last = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last.store(last, Ordering::Relaxed);
        outcome
    }

    fn is_long(&self) -> bool {
        Duration::from_nanos(self.last.load(Ordering::Relaxed)) > LONG
    }
}

/// Sleeps between polls until the batch has ended.
fn look(batch: &mut impl DeviceWork) -> Result<(), Failure> {
    loop {
        thread::sleep(PAUSE);
        if batch.is_done()? {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that ends after a time, and counts polls and waits.
    struct FakeWork {
        takes: Duration,
        started: Instant,
        looks: usize,
        waits: usize,
    }

    impl FakeWork {
        fn new(takes: Duration) -> Self {
            Self { takes, started: Instant::now(), looks: 0, waits: 0 }
        }
    }

    impl DeviceWork for FakeWork {
        fn is_done(&mut self) -> Result<bool, Failure> {
            self.looks += 1;
            Ok(self.started.elapsed() >= self.takes)
        }

        fn wait(&mut self) -> Result<(), Failure> {
            self.waits += 1;
            thread::sleep(self.takes.saturating_sub(self.started.elapsed()));
            Ok(())
        }
    }

    /// Waits for a batch with the duration `takes`, and returns it.
    fn after(patience: &WaitStrategy, takes: Duration) -> FakeWork {
        let mut batch = FakeWork::new(takes);
        assert!(patience.wait(&mut batch).is_ok());
        assert!(batch.started.elapsed() >= takes, "it waits for the end");
        batch
    }

    #[test]
    fn long_batches_are_looked_at_and_short_ones_waited_for() {
        let patience = WaitStrategy::default();
        assert_eq!(after(&patience, LONG * 2).waits, 1, "nothing is known of the first");
        for _ in 0..2 {
            let long = after(&patience, LONG * 2);
            assert_eq!(long.waits, 0);
            assert!(long.looks > 2, "{} looks", long.looks);
            // Another thread waited, and this one finishes the ended batch.
            let ended = after(&patience, Duration::ZERO);
            assert_eq!((ended.waits, ended.looks), (0, 1));
        }
        let short = Duration::from_micros(200);
        assert_eq!(after(&patience, short).waits, 0);
        assert_eq!(after(&patience, short).waits, 1);
    }

    #[test]
    fn a_failure_ends_the_waiting() {
        struct Broken(usize);
        impl DeviceWork for Broken {
            fn is_done(&mut self) -> Result<bool, Failure> {
                self.0 += 1;
                if self.0 > 1 { Err(Failure::failed("looked".into())) } else { Ok(false) }
            }
            fn wait(&mut self) -> Result<(), Failure> {
                thread::sleep(LONG * 2);
                Err(Failure::failed("waited".into()))
            }
        }
        let patience = WaitStrategy::default();
        for want in ["waited", "looked"] {
            let failure = patience.wait(&mut Broken(0)).expect_err("a failure");
            assert_eq!(failure.text, want);
        }
    }
}
