//! Exchange of samples with serving engines: requests, and responses as they arrive. An instance
//! answers each sample in a task.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::{
    engine::{
        remote::{
            reading::{Parts as _, read},
            refusal::{Refusal, Retries},
            servers::{Server, Servers},
            tasks::{SampleHandler, SlotGuard},
            token_receiver::{StallTimer, TokenReceiver},
        },
        served::{
            client::{Content, OpenAiClient},
            events::EventResponse,
            output::{Remarks, ServedOutput},
            settings::ServedConfig,
        },
        sink::Sink,
    },
    ground::error::EngineError,
    model::{payload::Payload, workload::integers},
};

/// Maximum time to read the rest of a response that holds no more tokens.
const TAIL_TIME: Duration = Duration::from_secs(1);

type ServerResponse = EventResponse<Content>;

/// State that all samples of an instance share.
pub(super) struct OpenAiExchange {
    pub(super) settings: Arc<ServedConfig>,
    pub(super) servers: Arc<Servers>,
    pub(super) client: OpenAiClient,
}

impl SampleHandler for OpenAiExchange {
    async fn answer(&self, payload: Payload, mut sink: Sink, place: SlotGuard) {
        let prompt = payload.tensors().first().map(|prompt| integers(prompt).collect());
        let prompt: Vec<_> = prompt.unwrap_or_default();
        match self.ask(&prompt, &mut sink).await {
            Err(error) => sink.finish_with(Err(error)),
            Ok((remarks, mut rest)) => {
                if let Some(cached @ 1..) = remarks.cached {
                    sink.set_cached_tokens(cached);
                    self.warn_of_caching(cached);
                }
                sink.end();
                drop(place);
                // The connection can be used again once the rest is read.
                let read_up = async { while let Ok(Some(_)) = rest.next().await {} };
                let _ = timeout(TAIL_TIME, read_up).await;
            }
        }
    }
}

impl OpenAiExchange {
    pub(super) fn new(settings: Arc<ServedConfig>, servers: Arc<Servers>) -> Self {
        let client = OpenAiClient::new(&settings);
        Self { settings, servers, client }
    }

    /// Logs a warning about a partly computed prompt, once for all instances.
    fn warn_of_caching(&self, cached: usize) {
        static WARNED: Once = Once::new();
        let off = self.client.api.no_caching;
        WARNED.call_once(|| {
            warn!(
                cached,
                "the server reused cached tokens of a prompt, which the division does not allow; required: {off}"
            );
        });
    }

    /// Sends a prompt to a server, with retries, and passes the tokens to `taker` as they arrive.
    /// Returns facts about the server, and the rest of the response, which holds no more tokens.
    /// The caller reads this rest to its end if the connection is to be used again.
    pub(super) async fn ask(
        &self,
        prompt: &[i64],
        taker: &mut impl TokenReceiver,
    ) -> Result<(Remarks, ServerResponse), EngineError> {
        let mut tries = Retries::new(&self.servers);
        loop {
            let server = tries.next()?;
            match self.attempt(&server, prompt, taker).await {
                Ok(answered) => return Ok(answered),
                Err(refused) => tries.wait_for_retry(server, refused, taker).await?,
            }
        }
    }

    async fn attempt(
        &self,
        server: &Server,
        prompt: &[i64],
        taker: &mut impl TokenReceiver,
    ) -> Result<(Remarks, ServerResponse), Refusal> {
        let model = self.settings.model.limited(taker.max_tokens());
        let seed = self.settings.sampling_seed;
        let seed = seed.map(|seed| seed.of_prompt(prompt.iter().copied()));
        let begins = self.client.ask(server, prompt, &model, seed);
        let until = Instant::now() + self.settings.servers.timeout;
        let mut answer = StallTimer::new(until).wait(begins, taker, until).await??;
        let output = ServedOutput::new(&model, prompt.len());
        let remarks = read(&mut answer, output, taker, self.settings.servers.timeout).await?;
        Ok((remarks, answer))
    }
}
