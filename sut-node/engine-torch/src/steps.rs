//! The order in which a batch is copied and computed.

use crate::failure::Failure;

/// Two streams of a device, one to copy and one to compute, to which a thread directs its work.
pub(crate) trait Streams {
    /// Directs this thread's work to the copying stream.
    fn enter(&mut self) -> Result<(), Failure>;

    /// Directs this thread's work to the computing stream, which waits for the copies of this slot.
    fn compute(&mut self, slot: usize) -> Result<(), Failure>;

    /// Restores the thread's own stream, and marks the end of the slot's work.
    fn leave(&mut self, slot: usize) -> Result<(), Failure>;

    /// Waits for all work on both streams.
    fn synchronize(&mut self) -> Result<(), Failure>;
}

/// Runs this thread's work for a slot on the streams: first `copy` on the copying stream, then
/// `compute` on the other one, which waits for the copies. If `copy` or `compute` fails, no work is
/// in progress afterwards.
pub(crate) fn run<S: Streams, T>(
    streams: &mut S,
    slot: usize,
    copy: impl FnOnce() -> Result<T, Failure>,
    compute: impl FnOnce(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    streams.enter()?;
    let mut entered = StreamsGuard { streams, slot, left: false };
    let outcome = copy().and_then(|copied| {
        entered.streams.compute(slot)?;
        compute(copied)
    });
    let left = entered.leave();
    drop(entered);
    outcome.and(left).map_err(|first| match streams.synchronize() {
        // Other errors, such as those of cuDNN, may follow from the loss of the device.
        Err(lost) if lost.is_lost() => lost,
        // `synchronize` has waited, because the caller reuses its memory. Report the first error.
        _ => first,
    })
}

/// Guard of this thread's use of the streams, which it ends even after a panic.
struct StreamsGuard<'a, S: Streams> {
    streams: &'a mut S,
    slot: usize,
    left: bool,
}

impl<S: Streams> StreamsGuard<'_, S> {
    fn leave(&mut self) -> Result<(), Failure> {
        self.left = true;
        self.streams.leave(self.slot)
    }
}

impl<S: Streams> Drop for StreamsGuard<'_, S> {
    fn drop(&mut self) {
        if !self.left {
            // The panic is reported instead of this error.
            let _ = self.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        panic::{AssertUnwindSafe, catch_unwind},
    };

    use super::*;

    /// Streams that record their steps. The step named `fails` fails, and a wait for their work
    /// reports the error `lost`, if any.
    struct FakeStreams<'a> {
        steps: &'a RefCell<Vec<&'static str>>,
        fails: &'static str,
        lost: Option<&'static str>,
    }

    fn step(
        steps: &RefCell<Vec<&'static str>>,
        fails: &str,
        step: &'static str,
    ) -> Result<(), Failure> {
        steps.borrow_mut().push(step);
        if step == fails { Err(Failure::failed(step.into())) } else { Ok(()) }
    }

    impl Streams for FakeStreams<'_> {
        fn enter(&mut self) -> Result<(), Failure> {
            step(self.steps, self.fails, "enter")
        }

        fn compute(&mut self, slot: usize) -> Result<(), Failure> {
            assert_eq!(slot, 1);
            step(self.steps, self.fails, "switch")
        }

        fn leave(&mut self, slot: usize) -> Result<(), Failure> {
            assert_eq!(slot, 1);
            step(self.steps, self.fails, "leave")
        }

        fn synchronize(&mut self) -> Result<(), Failure> {
            step(self.steps, self.fails, "synchronize")?;
            self.lost.map_or(Ok(()), |lost| Err(Failure::torch(lost)))
        }
    }

    /// Runs a batch in which the step `fails` fails. Returns the recorded steps, and the text of
    /// the error.
    fn steps(fails: &'static str) -> (Vec<&'static str>, Option<String>) {
        let steps = RefCell::default();
        let outcome = run(
            &mut FakeStreams { steps: &steps, fails, lost: None },
            1,
            || step(&steps, fails, "copy").map(|()| 7),
            |copied| {
                assert_eq!(copied, 7);
                step(&steps, fails, "compute")
            },
        );
        (steps.take(), outcome.err().map(|failure| failure.text))
    }

    #[test]
    fn a_batch_is_copied_before_it_is_computed() {
        let whole = vec!["enter", "copy", "switch", "compute", "leave"];
        assert_eq!(steps(""), (whole, None));
    }

    #[test]
    fn a_step_that_fails_ends_the_batch_and_nothing_goes_on() {
        let all = ["enter", "copy", "switch", "compute", "leave", "synchronize"];
        for (fails, want) in [
            ("enter", &all[..1]),
            ("copy", &["enter", "copy", "leave", "synchronize"]),
            ("switch", &["enter", "copy", "switch", "leave", "synchronize"]),
            ("compute", &all),
            ("leave", &all),
        ] {
            assert_eq!(steps(fails), (want.to_vec(), Some(fails.into())));
        }
    }

    #[test]
    fn an_error_that_follows_from_a_lost_device_is_reported_as_its_loss() {
        let lost = "CUDA error: an illegal memory access was encountered";
        for (fails, want) in [(lost, lost), ("out of memory", "CUDNN_STATUS_EXECUTION_FAILED")] {
            let steps = RefCell::default();
            let mut streams = FakeStreams { steps: &steps, fails: "", lost: Some(fails) };
            let failed = || Err(Failure::torch("CUDNN_STATUS_EXECUTION_FAILED"));
            let failure = run(&mut streams, 1, failed, |()| Ok(())).expect_err("a failure");
            assert_eq!(failure.text, want);
        }
    }

    #[test]
    fn a_panic_leaves_the_streams() {
        let steps = RefCell::default();
        let mut streams = FakeStreams { steps: &steps, fails: "", lost: None };
        let panics = AssertUnwindSafe(|| run(&mut streams, 1, || Ok(()), |()| panic!("no")));
        assert!(catch_unwind(panics).is_err());
        assert_eq!(steps.take(), ["enter", "switch", "leave"]);
    }
}
