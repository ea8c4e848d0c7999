//! Reasons why a request received no response, and retries, at another server if there is one.

use std::{error::Error, iter, time::Duration};

use netdiv_node_common::sanitise::sanitise;
use netdiv_transport::Http2Close;
use tonic::{Code, Status};

use crate::{
    engine::remote::{
        connection_limits,
        servers::{Request, Servers},
        token_receiver::{TokenReceiver, pause},
    },
    ground::error::EngineError,
};

/// Reason why a request received no response. It decides whether the request is retried.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server is overloaded or unreachable.
    Busy {
        /// Pause that the server asks for, if it states one.
        pause: Option<Duration>,
        /// Error text of the server.
        why: String,
    },
    /// The server did not process the request, and allows a retry.
    NotProcessed(String),
    /// The prompt is to blame, and a retry would not help.
    BadSample(String),
    /// The request failed for another reason, and is not retried.
    Failed(String),
}

/// Header in which a gRPC server states the pause before a retry, in milliseconds. A value that is
/// not a number forbids a retry.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// Beginning of the error if a server cannot be reached, or ends the connection.
pub(crate) const NO_ANSWER: &str = "no answer";

/// Maximum number of characters of a server's text in an error of the node.
const MOST_CHARS: usize = 300;

impl Refusal {
    /// Classifies the error of a request without a response.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let why = format!("{NO_ANSWER}: {}", causes(error));
        match Http2Close::of(error) {
            Some(close) if close.invites_retry() => Self::NotProcessed(why),
            Some(close) if close.limits_load() => Self::Busy { pause: None, why },
            _ => match connection_limits::remedy(error) {
                // Connections that are being closed hold their ports for a moment.
                Some(remedy) => Self::Busy { pause: None, why: format!("{why}; {remedy}") },
                None => Self::Failed(why),
            },
        }
    }

    pub(crate) fn into_text(self) -> String {
        let (Self::Busy { why, .. }
        | Self::NotProcessed(why)
        | Self::BadSample(why)
        | Self::Failed(why)) = self;
        why
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<Status> for Refusal {
    /// Classifies a gRPC status that a server sent, or that stands for an error of the connection.
    fn from(status: Status) -> Self {
        if Http2Close::of(&status).is_some() {
            return Self::from_error(&status);
        }
        let text = format!("{:?}: {}", status.code(), status.message());
        let why = sanitise(&with_causes(text, &status));
        let pushback = status.metadata().get(PUSHBACK);
        let pause =
            pushback.map(|text| text.to_str().ok()?.parse().ok().map(Duration::from_millis));
        match (status.code(), pause) {
            (Code::Unavailable | Code::ResourceExhausted, None | Some(Some(_))) => {
                Self::Busy { pause: pause.flatten(), why }
            }
            _ => Self::Failed(why),
        }
    }
}

/// Returns true if the refusal of a malformed request blames the prompt, and not another part of
/// the request.
pub(crate) fn blames_prompt(text: &str) -> bool {
    let text = text.to_lowercase();
    ["prompt", "input", "exceed_context"].iter().any(|word| text.contains(word))
}

/// Returns the text of an error: its HTTP/2 code if it has one, else the error with its causes.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    match Http2Close::of(error) {
        Some(close) => close.to_string(),
        None => with_causes(error.to_string(), error),
    }
}

/// Appends an error's causes to its text, `said`.
fn with_causes(said: String, error: &dyn Error) -> String {
    iter::successors(error.source(), |cause| (*cause).source()).fold(said, |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Returns the beginning of a server's text, in one line.
pub(crate) fn short(text: &str) -> String {
    let line: Vec<_> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Maximum number of retries of a request.
const RETRIES: usize = 3;

/// Pause before a retry, if the server states none.
const PAUSE: Duration = Duration::from_millis(500);

/// Maximum pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Attempts to have a server answer one sample.
pub(crate) struct Retries<'a, C> {
    servers: &'a Servers<C>,
    refused: usize,
    busy: Option<Request<'a, C>>,
}

impl<'a, C> Retries<'a, C> {
    pub(crate) fn new(servers: &'a Servers<C>) -> Self {
        Self { servers, refused: 0, busy: None }
    }

    /// Picks the server for the next attempt, if possible another one than refused the last.
    pub(crate) fn next(&mut self) -> Result<Request<'a, C>, EngineError> {
        let server = self.servers.pick(self.busy.as_deref());
        self.busy = None;
        server.ok_or_else(|| EngineError::Failed("there is no server".into()))
    }

    /// Waits until the next attempt, after `server` refused the last one. Fails if no further
    /// attempt is allowed.
    pub(crate) async fn wait_for_retry(
        &mut self,
        server: Request<'a, C>,
        refused: Refusal,
        taker: &impl TokenReceiver,
    ) -> Result<(), EngineError> {
        let failed = |why| Err(EngineError::Failed(format!("{}: {why}", *server)));
        let (wanted, time, why) = match refused {
            Refusal::BadSample(why) => {
                return Err(EngineError::BadSample(format!(
                    "{} refused the prompt: {why}",
                    *server
                )));
            }
            Refusal::Failed(why) => return failed(why),
            // A new connection usually helps, so retry without a pause.
            Refusal::NotProcessed(why) if self.refused == 0 => (None, Duration::ZERO, why),
            Refusal::NotProcessed(why) => (None, PAUSE, why),
            Refusal::Busy { pause, why } => (pause, pause.unwrap_or(PAUSE), why),
        };
        self.refused += 1;
        if self.refused <= RETRIES && time <= LONGEST_PAUSE {
            pause(time, taker).await.map_err(EngineError::Failed)?;
            // The request stays in flight meanwhile, so that the busy server does not attract the
            // next samples.
            self.busy = Some(server);
            return Ok(());
        }
        let wants =
            |time: Duration| format!("the server asks for a pause of {} s, ", time.as_secs_f64());
        let (wants, tries) = (wanted.map_or_else(String::new, wants), self.refused);
        failed(format!("{why}; {wants}tried {tries} times"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        assert!(short(&"é".repeat(1000)).chars().count() < 400);
    }
}
