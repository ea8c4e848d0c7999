//! Exchange of one sample with a server.

use std::{sync::Arc, time::Duration};

use crate::{
    engine::{
        kserve::{caller::Servers, tensors::Tensors, tokens::Tokens},
        remote::{tasks, tries::Tries},
        sink::Sink,
    },
    ground::error::EngineError,
    model::{
        payload::Payload,
        workload::{Answer, integers},
    },
};

/// Conversion of samples into requests.
pub(super) enum Plan {
    Tensors(Tensors),
    Tokens(Tokens),
}

/// State that all samples of an instance share.
pub(super) struct Exchange {
    pub(super) plan: Arc<Plan>,
    pub(super) servers: Servers,
    pub(super) timeout: Duration,
}

impl tasks::Answer for Exchange {
    async fn answer(&self, payload: Payload, mut sink: Sink, _place: tasks::Place) {
        match self.ask(&payload, &mut sink).await {
            Ok(Some(answer)) => sink.last(answer),
            Ok(None) => sink.end(),
            Err(error) => sink.last(Err(error)),
        }
    }
}

impl Exchange {
    /// Asks a server. Tokens go to the sink as they arrive. Returns `None` if the tokens were the
    /// whole output.
    async fn ask(&self, payload: &Payload, sink: &mut Sink) -> Result<Option<Answer>, EngineError> {
        let prompt: Vec<_> = match (&*self.plan, payload.tensors()) {
            (Plan::Tokens(_), [prompt, ..]) => integers(prompt).collect(),
            _ => Vec::new(),
        };
        let mut tries = Tries::new();
        loop {
            let server = tries.next(|busy| self.servers.pick(busy))?;
            let outcome = match &*self.plan {
                Plan::Tensors(tensors) => {
                    tensors.attempt(&server, payload, sink, self.timeout).await.map(Some)
                }
                Plan::Tokens(tokens) => {
                    tokens.attempt(&server, &prompt, sink, self.timeout).await.map(|()| None)
                }
            };
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(refused) => tries.again(server, refused, sink).await?,
            }
        }
    }
}
