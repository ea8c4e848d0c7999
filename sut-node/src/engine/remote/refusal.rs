//! Reasons why a request received no response.

use std::{error::Error, iter, time::Duration};

use netdiv_node_common::sanitise::sanitise;
use netdiv_transport::Http2Close;
use tonic::{Code, Status};

use crate::engine::remote::connection_limits;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        assert!(short(&"é".repeat(1000)).chars().count() < 400);
    }
}
