//! An instance, which answers each sample in a task.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::timeout;
use tracing::warn;

use crate::{
    engine::{
        remote::{
            reading::Parts as _,
            servers::Servers,
            tasks::{SampleHandler, SlotGuard, Tasks},
        },
        served::exchange::{OpenAiExchange, ServerResponse as Rest},
        sink::Sink,
    },
    model::{payload::Payload, workload::integers},
};

/// Maximum time to read the rest of a response that holds no more tokens.
const TAIL_TIME: Duration = Duration::from_secs(1);

pub(super) type Served = Tasks<PromptHandler>;

/// State that all samples of an instance share.
pub(super) struct PromptHandler {
    exchange: OpenAiExchange,
    servers: Arc<Servers>,
    /// Set once a warning about a partly computed prompt was logged.
    has_warned: Arc<AtomicBool>,
}

/// Creates an instance for at most `most` samples in flight. All instances share `said`, which is
/// set once a warning was logged.
pub(super) fn served(
    exchange: OpenAiExchange,
    servers: Arc<Servers>,
    most: usize,
    said: Arc<AtomicBool>,
) -> io::Result<Served> {
    Tasks::new("served", most, || PromptHandler { exchange, servers, has_warned: said })
}

impl SampleHandler for PromptHandler {
    async fn answer(&self, payload: Payload, mut sink: Sink, place: SlotGuard) {
        let prompt = payload.tensors().first().map(|prompt| integers(prompt).collect());
        let prompt: Vec<_> = prompt.unwrap_or_default();
        match self.exchange.ask(|busy| self.servers.pick(busy), &prompt, &mut sink).await {
            Err(error) => sink.finish_with(Err(error)),
            Ok((remarks, rest)) => {
                if let Some(cached @ 1..) = remarks.cached {
                    sink.set_cached_tokens(cached);
                    self.warn_of_caching(cached);
                }
                sink.end();
                drop(place);
                read_up(rest).await;
            }
        }
    }
}

impl PromptHandler {
    fn warn_of_caching(&self, cached: usize) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            let off = self.exchange.client.api.no_caching;
            warn!(
                cached,
                "the server reused cached tokens of a prompt, which the division does not allow; required: {off}"
            );
        }
    }
}

/// Reads the rest of a response, so that its connection can be used again.
async fn read_up(mut rest: Rest) {
    let _ = timeout(TAIL_TIME, async { while let Ok(Some(_)) = rest.next().await {} }).await;
}
