//! The engines of a node: loaded, warm, each on a thread of its own, fed from one queue.

use std::{sync::Arc, thread};

use crate::{
    config::Config,
    engine::{self, Engine, Model},
    engine_thread::{self, Sample},
    queue::BatchQueue,
    server::NodeError,
};

/// Running engines. They end when the queue is closed.
pub(crate) struct Engines {
    pub(crate) model: Model,
    pub(crate) queue: Arc<BatchQueue<Sample>>,
    /// Samples that keep all of them busy: four batches for each.
    pub(crate) room: u32,
}

/// Loads the model, warms the engines up and starts their threads.
pub(crate) fn start(config: &Config) -> Result<Engines, NodeError> {
    let (model, mut engines) = engine::load(config)?;
    engines.iter_mut().try_for_each(|engine| engine.warm_up())?;
    let pads = model.workload.as_ref().is_some_and(|workload| workload.pads());
    let queue = Arc::new(BatchQueue::new(config.batching.rules(pads)));
    let room = config.batching.max_batch * engines.len().max(1) * 4;
    for (number, engine) in engines.into_iter().enumerate() {
        spawn(number, engine, queue.clone(), config)?;
    }
    Ok(Engines { model, queue, room: u32::try_from(room).unwrap_or(u32::MAX) })
}

/// The thread is not joined: an engine that hangs must not keep the node from ending.
fn spawn(
    number: usize,
    engine: Box<dyn Engine>,
    queue: Arc<BatchQueue<Sample>>,
    config: &Config,
) -> Result<(), NodeError> {
    let encoding = config.response_encoding;
    thread::Builder::new()
        .name(format!("engine-{number}"))
        .spawn(move || engine_thread::run(engine, &queue, encoding))?;
    Ok(())
}
