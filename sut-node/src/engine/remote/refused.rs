//! Why a request has no answer.

use std::{error::Error, iter, time::Duration};

use netdiv_transport::Http2Close;
use tonic::{Code, Status};

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The server has too much to do, or is not there.
    Busy {
        /// How long it wants to be left alone, where it says so.
        pause: Option<Duration>,
        /// What it says.
        why: String,
    },
    /// The server did not process the request, and invites another try.
    NotProcessed(String),
    /// The prompt is to blame.
    BadSample(String),
    /// Anything else.
    Failed(String),
}

/// Header in which a server of gRPC names the time until the next try, in milliseconds; anything but a number: no next try.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// Longest text of a server's that is passed on.
const MOST_CHARS: usize = 300;

impl Refused {
    /// The refusal of a request for which no answer came.
    pub(crate) fn without_answer(error: &(dyn Error + 'static)) -> Self {
        let why = format!("no answer: {}", causes(error));
        match Http2Close::of(error) {
            Some(close) if close.invites_retry() => Self::NotProcessed(why),
            Some(close) if close.limits_load() => Self::Busy { pause: None, why },
            _ => Self::Failed(why),
        }
    }

    /// The refusal by a status of gRPC, which a server sent.
    pub(crate) fn by_status(status: &Status, why: String) -> Self {
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

    /// What there is to say of it.
    pub(crate) fn why(self) -> String {
        let (Self::Busy { why, .. }
        | Self::NotProcessed(why)
        | Self::BadSample(why)
        | Self::Failed(why)) = self;
        why
    }
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Whether a refusal of a request as malformed blames the prompt, and not what else was asked for.
pub(crate) fn blames_prompt(text: &str) -> bool {
    let text = text.to_lowercase();
    ["prompt", "input", "exceed_context"].iter().any(|word| text.contains(word))
}

/// An error with its causes, or the code of HTTP/2 that is behind it.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    match Http2Close::of(error) {
        Some(close) => close.to_string(),
        None => with_causes(error.to_string(), error),
    }
}

/// What is said of an error, with its causes.
pub(crate) fn with_causes(said: String, error: &dyn Error) -> String {
    iter::successors(error.source(), |cause| (*cause).source()).fold(said, |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// The beginning of a server's text, in one line.
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
    fn long_texts_are_cut_and_lines_joined() {
        assert_eq!(short("<html>\n no"), "<html> no");
        assert!(short(&"é".repeat(1000)).chars().count() < 400);
    }
}
