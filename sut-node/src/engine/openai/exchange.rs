//! One sample at a serving engine: its request, its answer as it comes, and what to do when the server has too much to do.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep, timeout_at};

use crate::{
    engine::{
        error::EngineError,
        openai::{
            client::{Client, Refused},
            dialect::{Api, api},
            events::Events,
            output::{Output, Remarks},
            servers::{Request, Server},
        },
        sink::Sink,
    },
    settings::openai::OpenaiConfig,
};

/// How often a request is tried again at a server that has too much to do.
const RETRIES: usize = 3;

/// Longest pause before that.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How often a request that waits looks whether somebody still wants its answer.
const LOOK: Duration = Duration::from_millis(200);

/// Who waits for the tokens of an output.
pub(super) trait Taker {
    /// Takes those that follow.
    fn tokens(&mut self, ids: &[i32]);

    /// Whether nobody waits any more.
    fn has_gone(&self) -> bool;
}

impl Taker for Sink {
    fn tokens(&mut self, ids: &[i32]) {
        Self::tokens(self, ids);
    }

    fn has_gone(&self) -> bool {
        self.is_closed()
    }
}

/// What every request of an instance shares.
pub(super) struct Exchange {
    pub(super) settings: Arc<OpenaiConfig>,
    pub(super) api: &'static Api,
    pub(super) client: Client,
    /// All of a request but its prompt.
    rest: String,
}

impl Exchange {
    pub(super) fn new(settings: Arc<OpenaiConfig>) -> Self {
        let api = api(settings.dialect);
        let (client, rest) = (Client::new(&settings), api.rest(&settings.model));
        Self { settings, api, client, rest }
    }

    /// Asks a server, and gives the tokens as they come. What is left of the answer, which has nothing more to say, has to be
    /// read to its end if the connection is to be used again.
    pub(super) async fn ask<'a>(
        &self,
        pick: impl Fn() -> Option<Request<'a>>,
        prompt: &[i64],
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Events<Incoming>), EngineError> {
        let body = Bytes::from(self.api.request(prompt, &self.rest));
        let mut tries = 0;
        loop {
            let Some(server) = pick() else {
                return Err(EngineError::Failed("there is no server".into()));
            };
            let why = match self.attempt(&server, body.clone(), prompt.len(), taker).await {
                Ok(answered) => return Ok(answered),
                Err(Refused::BadSample(why)) => {
                    return Err(EngineError::BadSample(format!("{} says {why}", *server)));
                }
                Err(Refused::Busy { pause, .. }) if tries < RETRIES && pause <= LONGEST_PAUSE => {
                    drop(server);
                    tries += 1;
                    let until = Instant::now() + pause;
                    match wait(sleep(pause), taker, until + LOOK).await {
                        Ok(()) => continue,
                        Err(why) => return Err(EngineError::Failed(why)),
                    }
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

    async fn attempt(
        &self,
        server: &Server,
        body: Bytes,
        prompt_tokens: usize,
        taker: &mut impl Taker,
    ) -> Result<(Remarks, Events<Incoming>), Refused> {
        let begins = self.client.post(server.at(self.api.path), body);
        let until = Instant::now() + self.settings.timeout;
        let response = wait(begins, taker, until).await??;
        let mut events = Events::new(response.into_body());
        let output = Output::new(&self.settings.model, prompt_tokens);
        let remarks = read(self.api, &mut events, output, taker, self.settings.timeout).await?;
        Ok((remarks, events))
    }
}

/// Reads an answer to its end, and gives the tokens as they come.
pub(super) async fn read<B>(
    api: &Api,
    events: &mut Events<B>,
    mut output: Output<'_>,
    taker: &mut impl Taker,
    timeout: Duration,
) -> Result<Remarks, String>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    let mut until = Instant::now() + timeout;
    loop {
        let after = |output: &Output<'_>| format!("after {} tokens", output.len());
        let event = match wait(events.next(), taker, until).await {
            Ok(Ok(event)) => event,
            Ok(Err(why)) | Err(why) => return Err(format!("{}: {why}", after(&output))),
        };
        let Some(data) = event else {
            return Err(format!("{}: the answer breaks off", after(&output)));
        };
        let chunk = api.read(&data).map_err(|why| format!("{}: {why}", after(&output)))?;
        let last = chunk.last;
        let new = output.take(chunk)?;
        if !new.is_empty() {
            taker.tokens(new);
            until = Instant::now() + timeout;
        } else if Instant::now() >= until {
            // Events without tokens that follow each other at once are no progress either.
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

const GONE: &str = "nobody waits for the answer any more";
const SILENT: &str = "no token for as long as --openai-timeout-ms allows";

/// Waits for a server, but not for ever, and only while somebody waits for its answer.
async fn wait<T>(
    future: impl Future<Output = T>,
    taker: &impl Taker,
    until: Instant,
) -> Result<T, String> {
    let mut future = pin!(future);
    // Of a fast server most events are here already, and a timer takes longer than a look.
    if let Poll::Ready(output) = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        return Ok(output);
    }
    loop {
        let look = until.min(Instant::now() + LOOK);
        if let Ok(output) = timeout_at(look, future.as_mut()).await {
            return Ok(output);
        }
        if taker.has_gone() {
            return Err(GONE.into());
        }
        if Instant::now() >= until {
            return Err(SILENT.into());
        }
    }
}
