//! Exchange of one sample with a serving engine: its request, and its response as it arrives.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    engine::{
        remote::{
            reading::read,
            refused::Refused,
            servers::{Request, Server},
            taker::{Patience, Taker},
            tries::Tries,
        },
        served::{
            openai::{
                answer,
                client::{Client, Content},
            },
            output::{Output, Remarks},
        },
    },
    ground::error::EngineError,
    settings::served::ServedConfig,
};

/// Response of a server as it arrives.
pub(super) type Answer = answer::Answer<Content>;

/// State that all requests of an instance share.
pub(super) struct Exchange {
    pub(super) settings: Arc<ServedConfig>,
    pub(super) client: Client,
}

impl Exchange {
    pub(super) fn new(settings: Arc<ServedConfig>) -> Self {
        let client = Client::new(&settings);
        Self { settings, client }
    }

    /// Asks a server, and passes the tokens on as they arrive. Returns the rest of the response,
    /// which holds no more tokens. The caller reads it to its end if the connection is to be used
    /// again.
    pub(super) async fn ask<'a>(
        &self,
        pick: impl Fn(Option<&Server>) -> Option<Request<'a>>,
        prompt: &[i64],
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Answer), EngineError> {
        let mut tries = Tries::new();
        loop {
            let server = tries.next(&pick)?;
            match self.attempt(&server, prompt, taker).await {
                Ok(answered) => return Ok(answered),
                Err(refused) => tries.again(server, refused, taker).await?,
            }
        }
    }

    async fn attempt(
        &self,
        server: &Server,
        prompt: &[i64],
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Answer), Refused> {
        let begins = self.client.ask(server, prompt);
        let until = Instant::now() + self.settings.servers.timeout;
        let mut answer = Patience::new(until).wait(begins, taker, until).await??;
        let output = Output::new(&self.settings.model, prompt.len());
        let remarks = read(&mut answer, output, taker, self.settings.servers.timeout).await?;
        Ok((remarks, answer))
    }
}
