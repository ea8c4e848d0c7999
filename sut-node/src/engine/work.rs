//! Interface between an engine's thread or task and any kind of engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    engine::interface::DoneCallback,
    ground::{error::EngineError, metrics},
    sample::queued_sample::QueuedSample,
};

/// Engine of any kind, with the functions through which a thread or task drives it.
pub(crate) trait EngineWork: Send {
    /// Prepares the engine before the node reports that it is ready.
    fn warm_up(&mut self) -> Result<(), EngineError>;

    /// Returns true if no sample is in flight.
    fn is_idle(&self) -> bool;

    /// Number of samples that the engine can begin now, at least 1 when idle.
    fn room(&self) -> usize;

    /// Lets the engine call `done` once [`Self::step`] would not wait. Until then, the caller can
    /// begin more samples. Returns false if the engine cannot detect this.
    fn when_done(&mut self, _done: DoneCallback) -> bool {
        false
    }

    fn begin(&mut self, samples: Vec<QueuedSample>);

    /// Continues the samples in flight: waits for the oldest batch, or runs a step of a streaming
    /// engine.
    fn step(&mut self);
}

/// Drops the samples whose clients have gone.
pub(crate) fn drop_abandoned(samples: &mut Vec<QueuedSample>) {
    let all = samples.len();
    samples.retain(|sample| !sample.replies.is_closed());
    if samples.len() < all {
        metrics::abandoned(all - samples.len());
    }
}

/// Calls an engine. A panic counts as a failure of the engine, and the node continues.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        EngineError::Failed(format!("panic: {text}"))
    })
}
