//! Waits for a batch: spinning for short batches, sleeping for long ones.
//!
//! libtorch's events make a waiting thread spin. A spinning thread detects the end of a batch
//! earliest, but occupies a core that could decode samples.

use std::{
    hint,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::failure::Failure;

/// Maximum expected duration of a wait that spins from its beginning.
const LONG: Duration = Duration::from_millis(2);

/// Pause between two polls of a batch that takes longer than expected. With the system's timers it
/// takes some 130 µs.
const PAUSE: Duration = Duration::from_micros(50);

/// Work that a device computes, such as a batch.
pub(crate) trait DeviceWork {
    /// Returns true if the work has ended.
    fn is_done(&mut self) -> Result<bool, Failure>;

    /// Waits for the end of the work; the thread may spin.
    fn wait(&mut self) -> Result<(), Failure>;
}

/// Time and sleep. Tests simulate both.
trait Clock {
    /// Returns the time since some fixed instant.
    fn now(&self) -> Duration;

    fn sleep(&self, time: Duration);
}

impl Clock for Instant {
    fn now(&self) -> Duration {
        self.elapsed()
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }
}

/// Chooses between spinning and sleeping for an instance's next batch, by the duration of the last
/// waits. Any thread may use it.
#[derive(Default)]
pub(crate) struct WaitStrategy {
    /// Expected duration of the next wait, in nanoseconds; 0 if unknown.
    expected: AtomicU64,
}

impl WaitStrategy {
    /// Waits for the end of a batch. A batch that has already ended has no influence on later
    /// waits.
    pub(crate) fn wait(&self, batch: &mut impl DeviceWork) -> Result<(), Failure> {
        self.wait_by(&Instant::now(), batch)
    }

    fn wait_by(&self, clock: &impl Clock, batch: &mut impl DeviceWork) -> Result<(), Failure> {
        if batch.is_done()? {
            return Ok(());
        }
        let started = clock.now();
        let expected = Duration::from_nanos(self.expected.load(Ordering::Relaxed));
        let is_early = if expected > LONG {
            sleep_and_poll(clock, batch, expected)?
        } else {
            batch.wait()?;
            false
        };
        let took = clock.now() - started;
        let next = match (is_early, expected.is_zero()) {
            // The batch may have ended long before. Long batches rarely become short ones, so that
            // the next wait polls with pauses.
            (true, _) if expected > 2 * LONG => LONG + Duration::from_nanos(1),
            (true, _) => Duration::ZERO,
            (false, true) => took,
            // After a few long batches, a short one must not be detected much later.
            (false, false) => took.min(expected + expected / 4),
        };
        self.expected.store(u64::try_from(next.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(())
    }
}

/// Sleeps for nine tenths of the expected wait, and then polls until the batch has ended: without
/// pauses near the expected end, with pauses before and after. Returns true if the batch ended during the
/// first sleep.
fn sleep_and_poll(
    clock: &impl Clock,
    batch: &mut impl DeviceWork,
    expected: Duration,
) -> Result<bool, Failure> {
    let (started, margin) = (clock.now(), expected / 10);
    clock.sleep(expected - margin);
    if batch.is_done()? {
        return Ok(true);
    }
    while !batch.is_done()? {
        let until_end = expected.abs_diff(clock.now() - started);
        if until_end < margin.min(LONG) {
            hint::spin_loop();
        } else {
            clock.sleep(PAUSE);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Time of a simulated thread.
    #[derive(Default)]
    struct FakeClock {
        now: Cell<Duration>,
        slept: Cell<Duration>,
    }

    impl FakeClock {
        fn pass(&self, time: Duration) {
            self.now.set(self.now.get() + time);
        }
    }

    impl Clock for FakeClock {
        fn now(&self) -> Duration {
            self.now.get()
        }

        /// Takes 80 µs longer than `time`, as a system's timers do.
        fn sleep(&self, time: Duration) {
            let time = time + 80 * MICROSECOND;
            self.pass(time);
            self.slept.set(self.slept.get() + time);
        }
    }

    /// Work that ends after a time, and counts waits.
    struct FakeWork<'a> {
        clock: &'a FakeClock,
        end: Duration,
        waits: usize,
    }

    impl DeviceWork for FakeWork<'_> {
        fn is_done(&mut self) -> Result<bool, Failure> {
            self.clock.pass(MICROSECOND);
            Ok(self.clock.now() >= self.end)
        }

        fn wait(&mut self) -> Result<(), Failure> {
            self.waits += 1;
            self.clock.pass(self.end.saturating_sub(self.clock.now()));
            Ok(())
        }
    }

    /// Costs of a wait.
    struct Cost {
        /// Time between the end of the batch and the end of the wait.
        lateness: Duration,
        /// Share of the wait in which the thread did not sleep.
        busy: f64,
        /// Number of waits that left everything to the device.
        waits: usize,
    }

    /// Waits for a batch that takes `takes`.
    fn after(patience: &WaitStrategy, takes: Duration) -> Cost {
        let clock = FakeClock::default();
        let mut batch = FakeWork { clock: &clock, end: takes, waits: 0 };
        assert!(patience.wait_by(&clock, &mut batch).is_ok());
        let (now, slept) = (clock.now.get(), clock.slept.get());
        assert!(now >= takes, "it waits for the end");
        let busy = (now - slept).as_secs_f64() / now.as_secs_f64();
        Cost { lateness: now - takes, busy, waits: batch.waits }
    }

    #[test]
    fn long_batches_are_slept_for_and_short_ones_waited_for() {
        let patience = WaitStrategy::default();
        assert_eq!(after(&patience, LONG * 2).waits, 1, "nothing is known of the first");
        for _ in 0..2 {
            assert_eq!(after(&patience, LONG * 2).waits, 0);
            // Another thread waited, and this one finishes the ended batch.
            assert_eq!(after(&patience, Duration::ZERO).waits, 0);
        }
        let short = 200 * MICROSECOND;
        assert_eq!(after(&patience, short).waits, 0);
        assert_eq!(after(&patience, short).waits, 1, "nothing is known after a sleep too long");
        assert_eq!(after(&patience, short).waits, 1);
    }

    #[test]
    fn the_end_of_a_long_batch_is_detected_at_once_by_a_thread_that_sleeps() {
        for takes in [2_100, 2_500, 3_000, 20_000_u32] {
            let patience = WaitStrategy::default();
            after(&patience, takes * MICROSECOND);
            // Batches differ by up to 2 %.
            for thousandths in [1_000, 1_015, 980, 1_004, 1_020, 987_u32] {
                let takes = takes * thousandths / 1_000 * MICROSECOND;
                let cost = after(&patience, takes);
                assert!(cost.lateness <= 20 * MICROSECOND, "{:?} after {takes:?}", cost.lateness);
                assert!(cost.busy <= 0.15, "{} of {takes:?}", cost.busy);
            }
        }
    }

    #[test]
    fn batches_of_other_durations_are_neither_late_nor_spun_for() {
        let patience = WaitStrategy::default();
        let (short, long) = (3_000 * MICROSECOND, 20_000 * MICROSECOND);
        after(&patience, short);
        for _ in 0..3 {
            let cost = after(&patience, long);
            assert!(cost.lateness <= 200 * MICROSECOND && cost.busy <= 0.1, "{}", cost.busy);
            assert!(after(&patience, short).lateness <= short / 4);
            assert_eq!(after(&patience, short).waits, 1);
        }
    }

    #[test]
    fn long_batches_whose_durations_differ_are_not_spun_for() {
        for (durations, busy) in [([20, 17], 0.2), ([200, 190], 0.03)] {
            let patience = WaitStrategy::default();
            after(&patience, LONG * durations[0] / 2);
            for round in 0..40 {
                let takes = LONG * durations[round % 2] / 2;
                let cost = after(&patience, takes);
                assert_eq!(cost.waits, 0, "round {round} of {takes:?}");
                assert!(cost.busy <= busy, "{} of {takes:?} in round {round}", cost.busy);
                assert!(cost.lateness <= takes / 10, "{:?} after {takes:?}", cost.lateness);
            }
        }
    }

    #[test]
    fn a_failure_ends_the_waiting() {
        struct Broken<'a>(&'a FakeClock, usize);
        impl DeviceWork for Broken<'_> {
            fn is_done(&mut self) -> Result<bool, Failure> {
                self.1 += 1;
                if self.1 > 1 { Err(Failure::failed("polled".into())) } else { Ok(false) }
            }
            fn wait(&mut self) -> Result<(), Failure> {
                self.0.pass(LONG * 2);
                Err(Failure::failed("waited".into()))
            }
        }
        let (patience, clock) = (WaitStrategy::default(), FakeClock::default());
        for want in ["waited", "polled"] {
            let failure = patience.wait_by(&clock, &mut Broken(&clock, 0)).expect_err("a failure");
            assert_eq!(failure.text, want);
            after(&patience, LONG * 2);
        }
    }
}
