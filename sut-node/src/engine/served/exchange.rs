//! One sample at a serving engine: its request, and its answer as it comes.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use crate::{
    engine::{
        error::EngineError,
        remote::{
            refused::Refused,
            servers::{Request, Server},
            taker::{GONE, Patience, SILENT, Taker},
            tries::Tries,
        },
        served::{
            chunk::Chunks,
            output::{Output, Remarks},
            wire::{Answer, Wire},
        },
    },
    settings::served::ServedConfig,
};

/// What every request of an instance shares.
pub(super) struct Exchange {
    pub(super) settings: Arc<ServedConfig>,
    pub(super) wire: Wire,
}

impl Exchange {
    pub(super) fn new(settings: Arc<ServedConfig>) -> Self {
        let wire = Wire::new(&settings);
        Self { settings, wire }
    }

    /// Asks a server, and gives the tokens as they come. What is left of the answer, which has nothing more to say, has to be
    /// read to its end if the connection is to be used again.
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

    /// Looks whether a server has the model.
    pub(super) async fn check_model(&self, server: &Server) -> Result<(), EngineError> {
        let answer = timeout(self.settings.servers.timeout, self.wire.check_model(server)).await;
        let answer = answer.unwrap_or_else(|_| Err(Refused::Failed(SILENT.into())));
        answer.map_err(|refused| EngineError::Failed(format!("{server}: {}", refused.why())))
    }

    async fn attempt(
        &self,
        server: &Server,
        prompt: &[i64],
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Answer), Refused> {
        let begins = self.wire.ask(server, prompt);
        let until = Instant::now() + self.settings.servers.timeout;
        let mut answer = Patience::new(until).wait(begins, taker, until).await??;
        let output = Output::new(&self.settings.model, prompt.len());
        let remarks = read(&mut answer, output, taker, self.settings.servers.timeout).await?;
        Ok((remarks, answer))
    }
}

/// Reads an answer to its end, and gives the tokens as they come.
pub(super) async fn read(
    answer: &mut impl Chunks,
    mut output: Output<'_>,
    taker: &mut impl Taker,
    timeout: Duration,
) -> Result<Remarks, String> {
    let mut until = Instant::now() + timeout;
    let mut patience = Patience::new(until);
    loop {
        let after = |output: &Output<'_>| format!("after {} tokens", output.len());
        let chunk = match patience.wait(answer.next(), taker, until).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(why)) | Err(why) => return Err(format!("{}: {why}", after(&output))),
        };
        let Some(chunk) = chunk else {
            return Err(format!("{}: the answer breaks off", after(&output)));
        };
        let last = chunk.last;
        let new = output.take(chunk)?;
        if !new.is_empty() {
            taker.tokens(new);
            until = Instant::now() + timeout;
        } else if Instant::now() >= until {
            // Parts without tokens that follow each other at once are no progress either.
            return Err(format!("{}: {SILENT}", after(&output)));
        }
        if last {
            return output.end();
        }
        if taker.has_gone() {
            return Err(GONE.into());
        }
    }
}
