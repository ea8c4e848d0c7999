//! The node's engines and batcher without its network, as the baseline for network runs.

use std::time::Instant;

use bytes::Bytes;
use netdiv_contract::v1::{InferResponse, Tokens};

use crate::{
    engine::pool::EnginePool,
    ground::background::Background,
    model::identity::Model,
    process::error::NodeError,
    sample::{admission::Admission, queued_sample::QueuedSample, replies::ReplyTarget},
    settings::config::Config,
};

/// Engines and batcher of a node, in the caller's process. Results that are measured without a
/// network are not valid in the Network division.
pub struct InProcess {
    engines: EnginePool,
    /// Limits of the samples in flight, as in a node with a network.
    admission: &'static Admission,
    /// Runtime with one thread. Engines that compute nothing run on it, and [`Self::push`] waits
    /// for room with it. Because the thread is the only one, it reports both the first token of a
    /// sample and its response to LoadGen.
    background: Background,
    replies: ReplyTarget,
}

impl InProcess {
    /// Loads the model and warms it up. The engines pass their replies to `answered`, in any order,
    /// but all replies to a sample from the same thread. `tokens` selects the tokens that are sent
    /// before their output is complete.
    pub fn start(
        config: &Config,
        tokens: Tokens,
        answered: impl Fn(Vec<InferResponse>) + Send + Sync + 'static,
    ) -> Result<Self, NodeError> {
        let background = Background::start("in-process")?;
        let engines = EnginePool::start(&config.engine, &config.node, &background.handle)?;
        if engines.engines == 0 {
            return Err(NodeError::NoEngine(engines.model.engine.clone()));
        }
        if tokens != Tokens::Whole && engines.model.tokens.is_none() {
            return Err(NodeError::NoTokens(engines.model.engine.clone()));
        }
        let max_samples = config.node.max_in_flight_samples.unwrap_or(engines.room);
        Ok(Self {
            engines,
            admission: Admission::new(
                max_samples,
                config.node.max_in_flight_bytes,
                config.node.max_in_flight_tokens,
            ),
            background,
            replies: ReplyTarget::here(answered, tokens),
        })
    }

    /// Returns the description of the model that the engines run.
    pub fn model(&self) -> &Model {
        &self.engines.model
    }

    /// Passes samples to the engines. Each item is an id, which the replies to the sample repeat,
    /// and the sample's payload. Waits while there is no room for a sample. Fails at the first
    /// sample that does not fit the model or the limits of the node; later samples are not read.
    pub fn push(&self, samples: impl Iterator<Item = (u64, Bytes)>) -> Result<(), String> {
        let mut burst = Vec::new();
        for (id, payload) in samples {
            let model = &self.engines.model;
            let payload = model.read(payload)?;
            let bytes = payload.bytes().len() as u64;
            let working = model.working_bytes(bytes);
            if let Some(why) = self.admission.refusal(bytes, working) {
                return Err(why);
            }
            let cost = self.admission.cost(bytes, bytes, working);
            let admitted = self.admission.try_admit([cost]).unwrap_or_else(|| {
                // No more samples will fill up this batch until there is room.
                self.engines.queue.push(&mut burst);
                self.engines.queue.flush();
                self.background.handle.block_on(self.admission.admit(cost))
            });
            burst.push(QueuedSample {
                id,
                length: model.length(&payload),
                payload,
                digest: None,
                arrived: Instant::now(),
                admitted: Some(admitted),
                replies: self.replies.clone(),
            });
        }
        self.engines.queue.push(&mut burst);
        Ok(())
    }

    /// Flushes the batcher: no samples follow, so the samples in it need not wait.
    pub fn flush(&self) {
        self.engines.queue.flush();
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.engines.end();
    }
}
