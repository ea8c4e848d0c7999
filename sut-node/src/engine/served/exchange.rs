//! One sample at a serving engine: its request, its answer as it comes, and what to do when the server has too much to do.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use crate::{
    engine::{
        error::EngineError,
        remote::{
            servers::{Request, Server},
            taker::{GONE, SILENT, Taker, wait},
        },
        served::{
            chunk::Chunks,
            output::{Output, Remarks},
            refused::Refused,
            wire::{Answer, Wire},
        },
    },
    settings::served::ServedConfig,
};

/// How often a request is tried again at a server that has too much to do.
const RETRIES: usize = 3;

/// Longest pause before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

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
        let mut tries = 0;
        let mut busy: Option<Request<'a>> = None;
        loop {
            let Some(server) = pick(busy.as_deref()) else {
                return Err(EngineError::Failed("there is no server".into()));
            };
            drop(busy.take());
            let why = match self.attempt(&server, prompt, taker).await {
                Ok(answered) => return Ok(answered),
                Err(Refused::BadSample(why)) => {
                    return Err(EngineError::BadSample(format!("{} says {why}", *server)));
                }
                Err(Refused::Busy { pause, .. }) if tries < RETRIES && pause <= LONGEST_PAUSE => {
                    tries += 1;
                    let until = Instant::now() + 2 * pause.max(LONGEST_PAUSE);
                    wait(sleep(pause), taker, until).await.map_err(EngineError::Failed)?;
                    // It counts as under way meanwhile, so that it does not draw the next samples.
                    busy = Some(server);
                    continue;
                }
                Err(Refused::Busy { why, pause }) => {
                    let (tries, pause) = (tries + 1, pause.as_secs_f64());
                    format!("{why}; it wants a pause of {pause} s, tried {tries} times")
                }
                Err(Refused::Failed(why)) => why,
            };
            return Err(EngineError::Failed(format!("{}: {why}", *server)));
        }
    }

    /// Looks whether a server has the model.
    pub(super) async fn check_model(&self, server: &Server) -> Result<(), EngineError> {
        let answer = timeout(self.settings.servers.timeout, self.wire.check_model(server)).await;
        match answer.unwrap_or_else(|_| Err(Refused::Failed(SILENT.into()))) {
            Ok(()) => Ok(()),
            Err(Refused::Failed(why) | Refused::BadSample(why) | Refused::Busy { why, .. }) => {
                Err(EngineError::Failed(format!("{server}: {why}")))
            }
        }
    }

    async fn attempt(
        &self,
        server: &Server,
        prompt: &[i64],
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Answer), Refused> {
        let begins = self.wire.ask(server, prompt);
        let until = Instant::now() + self.settings.servers.timeout;
        let mut answer = wait(begins, taker, until).await??;
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
    loop {
        let after = |output: &Output<'_>| format!("after {} tokens", output.len());
        let chunk = match wait(answer.next(), taker, until).await {
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
