//! What an engine's thread or task does with samples, whatever kind the engine is.

use std::any::Any;

use crate::{
    engine::interface::Done,
    ground::{error::EngineError, metrics},
    sample::queued::Sample,
};

/// An engine at work.
pub(crate) trait Work: Send {
    /// Runs before the node says that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError>;

    /// Whether it has nothing to do.
    fn is_idle(&self) -> bool;

    /// How many more samples it can begin now; at least one when it is idle.
    fn room(&self) -> usize;

    /// Has that called once `step` would not wait, so that more can be begun until then; false: it cannot tell.
    fn when_done(&mut self, _done: Done) -> bool {
        false
    }

    /// Begins samples.
    fn begin(&mut self, samples: Vec<Sample>);

    /// Goes on with what was begun.
    fn step(&mut self);
}

/// Drops the samples whose clients have gone.
pub(crate) fn drop_abandoned(samples: &mut Vec<Sample>) {
    let all = samples.len();
    samples.retain(|sample| !sample.replies.is_closed());
    if samples.len() < all {
        metrics::abandoned(all - samples.len());
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}
