//! Exchange of one sample with a serving engine: its request, and its response as it arrives.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    engine::{
        remote::{
            reading::read,
            refusal::Refusal,
            retries::Retries,
            servers::{Request, Server},
            token_receiver::{StallTimer, TokenReceiver},
        },
        served::{
            openai::{
                answer,
                client::{Content, OpenAiClient},
            },
            output::{Remarks, ServedOutput},
            settings::ServedConfig,
        },
    },
    ground::error::EngineError,
};

/// Response of a server as it arrives.
pub(super) type ServerResponse = answer::EventResponse<Content>;

/// State that all requests of an instance share.
pub(super) struct OpenAiExchange {
    pub(super) settings: Arc<ServedConfig>,
    pub(super) client: OpenAiClient,
}

impl OpenAiExchange {
    pub(super) fn new(settings: Arc<ServedConfig>) -> Self {
        let client = OpenAiClient::new(&settings);
        Self { settings, client }
    }

    /// Sends a prompt to a server that `pick` chooses, and passes the tokens to `taker` as they
    /// arrive. Returns facts about the server, and the rest of the response, which holds no more
    /// tokens. The caller reads this rest to its end if the connection is to be used again.
    pub(super) async fn ask<'a>(
        &self,
        pick: impl Fn(Option<&Server>) -> Option<Request<'a>>,
        prompt: &[i64],
        taker: &mut impl TokenReceiver,
    ) -> Result<(Remarks, ServerResponse), EngineError> {
        let mut tries = Retries::new();
        loop {
            let server = tries.next(&pick)?;
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
        let begins = self.client.ask(server, prompt);
        let until = Instant::now() + self.settings.servers.timeout;
        let mut answer = StallTimer::new(until).wait(begins, taker, until).await??;
        let output = ServedOutput::new(&self.settings.model, prompt.len());
        let remarks = read(&mut answer, output, taker, self.settings.servers.timeout).await?;
        Ok((remarks, answer))
    }
}
