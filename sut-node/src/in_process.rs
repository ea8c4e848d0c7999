//! The node's engines and batcher without its network: what a network run is compared with.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use netdiv_contract::v1::{InferResponse, Part, Tokens};
use parking_lot::{Condvar, Mutex};

use crate::{
    engine::pool::EnginePool, error::NodeError, intake::replies::ReplyTo, model::identity::Model,
    sample::Sample, settings::config::Config,
};

/// A node in this process. No result that it takes part in is one of the Network division.
pub struct InProcess {
    engines: EnginePool,
    room: Arc<Room>,
    replies: ReplyTo,
}

/// How many samples may be under way, as at a node.
struct Room {
    free: Mutex<usize>,
    more: Condvar,
}

impl InProcess {
    /// Loads the model and warms it up. Replies come, in any order, on the engines' threads; `tokens` says which tokens of an
    /// output come before it.
    pub fn start(
        config: &Config,
        tokens: Tokens,
        answered: impl Fn(Vec<InferResponse>) + Send + Sync + 'static,
    ) -> Result<Self, NodeError> {
        let engines = EnginePool::start(config)?;
        if engines.engines == 0 {
            return Err(NodeError::NoEngine(engines.model.engine.clone()));
        }
        if tokens != Tokens::Whole && engines.model.tokens.is_none() {
            return Err(NodeError::NoTokens(engines.model.engine.clone()));
        }
        let free = config.max_in_flight_samples.unwrap_or(engines.room) as usize;
        let room = Arc::new(Room { free: Mutex::new(free), more: Condvar::new() });
        let here = {
            let room = room.clone();
            move |replies: Vec<InferResponse>| {
                let whole = replies.iter().filter(|reply| reply.part() == Part::Whole).count();
                *room.free.lock() += whole;
                room.more.notify_all();
                answered(replies);
            }
        };
        let replies = ReplyTo::here(here, tokens);
        Ok(Self { engines, room, replies })
    }

    /// What runs here.
    pub fn model(&self) -> &Model {
        &self.engines.model
    }

    /// Hands samples to the engines, each with an id that comes back with the reply; waits while there is no room. One that
    /// does not fit the model's layout is an error, and those after it are not looked at.
    pub fn push(&self, samples: impl Iterator<Item = (u64, Bytes)>) -> Result<(), String> {
        let mut burst = Vec::new();
        for (id, payload) in samples {
            let model = &self.engines.model;
            let payload = model.read(payload).map_err(|error| error.to_string())?;
            let mut free = self.room.free.lock();
            if *free == 0 {
                drop(free);
                // No more samples will fill up this batch until there is room.
                self.engines.queue.push(&mut burst);
                self.engines.queue.flush();
                free = self.room.free.lock();
                while *free == 0 {
                    self.room.more.wait(&mut free);
                }
            }
            *free -= 1;
            drop(free);
            burst.push(Sample {
                id,
                length: model.length(&payload),
                payload,
                digest: None,
                arrived: Instant::now(),
                admitted: None,
                replies: self.replies.clone(),
            });
        }
        self.engines.queue.push(&mut burst);
        Ok(())
    }

    /// Nothing follows: what is here goes without waiting.
    pub fn flush(&self) {
        self.engines.queue.flush();
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.engines.end();
    }
}
