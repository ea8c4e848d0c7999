//! Waiting for a batch: with a core, where batches are short, and without one where they are long.
//!
//! libtorch's events make a waiting thread spin. That answers soonest, and takes a core that decodes no samples.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::failure::Failure;

/// A wait that took longer makes the next one sleep in between.
const LONG: Duration = Duration::from_millis(2);

/// Pause between two looks at a batch: 2.5 % of the shortest wait that has pauses.
const PAUSE: Duration = Duration::from_micros(50);

/// Work of a device that is under way.
pub(crate) trait Batch {
    /// Asks whether it has ended.
    fn is_done(&mut self) -> Result<bool, Failure>;

    /// Waits for its end; the thread may spin.
    fn wait(&mut self) -> Result<(), Failure>;
}

/// An instance's waiting, on any thread.
#[derive(Default)]
pub(crate) struct Patience {
    /// The last wait, in nanoseconds.
    last: AtomicU64,
}

impl Patience {
    /// Waits for the end of a batch. One that has ended already says nothing about the next.
    pub(crate) fn wait(&self, batch: &mut impl Batch) -> Result<(), Failure> {
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

/// Sleeps until a batch that was under way has ended, with looks in between.
fn look(batch: &mut impl Batch) -> Result<(), Failure> {
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

    /// Ends after some time, and counts looks and waits.
    struct Fake {
        takes: Duration,
        started: Instant,
        looks: usize,
        waits: usize,
    }

    impl Fake {
        fn new(takes: Duration) -> Self {
            Self { takes, started: Instant::now(), looks: 0, waits: 0 }
        }
    }

    impl Batch for Fake {
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

    /// Waits for a batch that takes that long.
    fn after(patience: &Patience, takes: Duration) -> Fake {
        let mut batch = Fake::new(takes);
        assert!(patience.wait(&mut batch).is_ok());
        assert!(batch.started.elapsed() >= takes, "it waits for the end");
        batch
    }

    #[test]
    fn long_batches_are_looked_at_and_short_ones_waited_for() {
        let patience = Patience::default();
        assert_eq!(after(&patience, LONG * 2).waits, 1, "nothing is known of the first");
        for _ in 0..2 {
            let long = after(&patience, LONG * 2);
            assert_eq!(long.waits, 0);
            assert!(long.looks > 2, "{} looks", long.looks);
            // Another thread waited, and this one takes the batch that has ended.
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
        impl Batch for Broken {
            fn is_done(&mut self) -> Result<bool, Failure> {
                self.0 += 1;
                if self.0 > 1 { Err(Failure::failed("looked".into())) } else { Ok(false) }
            }
            fn wait(&mut self) -> Result<(), Failure> {
                thread::sleep(LONG * 2);
                Err(Failure::failed("waited".into()))
            }
        }
        let patience = Patience::default();
        for want in ["waited", "looked"] {
            let failure = patience.wait(&mut Broken(0)).expect_err("a failure");
            assert_eq!(failure.text, want);
        }
    }
}
