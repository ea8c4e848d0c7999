//! Exchange of one sample with a server.

use std::{sync::Arc, time::Duration};

use crate::{
    engine::{
        kserve::{caller::KserveServers, tensors::TensorPlan, tokens::TokenPlan},
        remote::{refusal::Retries, tasks},
        sink::Sink,
    },
    ground::error::EngineError,
    model::{
        payload::Payload,
        workload::{SampleResponse, integers},
    },
};

/// Plan by which samples become requests, and responses become outputs.
pub(super) enum Plan {
    Tensors(TensorPlan),
    Tokens(TokenPlan),
}

/// State that all samples of an instance share.
pub(super) struct KserveExchange {
    pub(super) plan: Arc<Plan>,
    pub(super) servers: KserveServers,
    pub(super) timeout: Duration,
}

impl tasks::SampleHandler for KserveExchange {
    async fn answer(&self, payload: Payload, mut sink: Sink, _place: tasks::SlotGuard) {
        match self.ask(&payload, &mut sink).await {
            Ok(Some(answer)) => sink.finish_with(answer),
            Ok(None) => sink.end(),
            Err(error) => sink.finish_with(Err(error)),
        }
    }
}

impl KserveExchange {
    /// Sends the sample to a server, with retries. Tokens go to the sink as they arrive. Returns
    /// the response, or `None` if it consisted of tokens.
    async fn ask(
        &self,
        payload: &Payload,
        sink: &mut Sink,
    ) -> Result<Option<SampleResponse>, EngineError> {
        let prompt: Vec<_> = match (&*self.plan, payload.tensors()) {
            (Plan::Tokens(_), [prompt, ..]) => integers(prompt).collect(),
            _ => Vec::new(),
        };
        let mut tries = Retries::new(&self.servers);
        loop {
            let server = tries.next()?;
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
                Err(refused) => tries.wait_for_retry(server, refused, sink).await?,
            }
        }
    }
}
