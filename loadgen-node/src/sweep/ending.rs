//! End of a sweep by a signal: its run ends first.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, Ordering},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{RunError, run::Interruptions};

/// Request to end a sweep, and the process of its run.
#[derive(Debug, Default)]
pub(super) struct Ending {
    is_requested: AtomicBool,
    /// Process of the run; 0 between two runs.
    run: AtomicI32,
}

impl Ending {
    /// Ends the run and the sweep at the first signal from now on.
    pub(super) fn listen(interruptions: &Interruptions) -> Arc<Self> {
        let ending = Arc::<Self>::default();
        let asked = ending.clone();
        interruptions.end_run(move |_| {
            asked.is_requested.store(true, Ordering::SeqCst);
            if let Some(run) = Pid::from_raw(asked.run.load(Ordering::SeqCst)) {
                // It may have ended.
                let _ = kill_process(run, Signal::TERM);
            }
        });
        ending
    }

    pub(super) fn set_run(&self, process: u32) {
        self.run.store(process.cast_signed(), Ordering::SeqCst);
    }

    /// Fails if a signal has ended the sweep.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match self.is_requested.load(Ordering::SeqCst) {
            true => Err(RunError::Failed("a signal ended it; continue with --resume".into())),
            false => Ok(()),
        }
    }
}
