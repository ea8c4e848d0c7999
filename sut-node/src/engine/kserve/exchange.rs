//! One sample at a server, and what to do when the server has too much to do.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use crate::{
    engine::{
        error::EngineError,
        kserve::{
            caller::{Caller, Refused, Servers},
            tensors::Tensors,
            tokens::Tokens,
        },
        remote::{servers::Request, taker::wait, tasks},
        sink::Sink,
    },
    model::{
        payload::Payload,
        workload::{Answer, integers},
    },
};

/// How often a request is tried again at a server that has too much to do.
const RETRIES: usize = 3;

/// Time until then.
const PAUSE: Duration = Duration::from_millis(500);

/// How samples become requests.
pub(super) enum Plan {
    Tensors(Tensors),
    Tokens(Tokens),
}

/// What every sample of an instance shares.
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
            Err(why) => sink.last(Err(EngineError::Failed(why))),
        }
    }
}

impl Exchange {
    /// Asks a server. Tokens go to the sink as they come; `None`: they were all.
    async fn ask(&self, payload: &Payload, sink: &mut Sink) -> Result<Option<Answer>, String> {
        let prompt: Vec<_> = match (&*self.plan, payload.tensors()) {
            (Plan::Tokens(_), [prompt, ..]) => integers(prompt).collect(),
            _ => Vec::new(),
        };
        let mut tries = 0;
        let mut busy: Option<Request<'_, Caller>> = None;
        loop {
            let Some(server) = self.servers.pick(busy.as_deref()) else {
                return Err("there is no server".into());
            };
            drop(busy.take());
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
                Err(Refused::Busy(_)) if tries < RETRIES => tries += 1,
                Err(Refused::Busy(why)) => {
                    return Err(format!("{}: {why}; tried {} times", *server, tries + 1));
                }
                Err(Refused::Failed(why)) => return Err(format!("{}: {why}", *server)),
            }
            wait(sleep(PAUSE), sink, Instant::now() + 2 * PAUSE).await?;
            // It counts as under way meanwhile, so that it does not draw the next samples.
            busy = Some(server);
        }
    }
}
