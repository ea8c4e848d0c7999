//! Destination of an engine's response to one sample.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use netdiv_contract::{
    encoding::Encoding,
    tokens::{self, ID_BYTES},
    v1::{InferResponse, Part, Tokens},
};
use tracing::error;

use crate::{
    engine::answer::{BatchReply, Times, nanoseconds, reply},
    ground::{clock::Clock, error::EngineError},
    sample::queued_sample::QueuedSample,
};

/// Destination of the response to one sample. The end of the response consumes the sink, so that
/// nothing follows; until then the sample keeps its permit. A sink that is dropped without a
/// response reports that the engine failed.
///
/// The sink collects the tokens. The first token, later ones and the whole output cannot contradict
/// each other, however the engine groups them.
pub(crate) struct Sink {
    /// The sample; `None` once it is answered.
    sample: Option<QueuedSample>,
    /// Token ids so far, encoded.
    output: BytesMut,
    /// Number of bytes of `output` that were sent before the output was complete.
    sent: usize,
    /// Time of the first token.
    first: Option<Instant>,
    /// Number of tokens of the prompt that were not computed for this sample.
    cached: u32,
    /// First invalid token id, if there was one.
    wrong: Option<i32>,
    /// Maximum number of tokens that the client takes.
    most: usize,
    taken: Instant,
    clock: Clock,
    encoding: Encoding,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.sample.as_ref().map(|sample| sample.id);
        f.debug_struct("Sink").field("id", &id).finish_non_exhaustive()
    }
}

impl Sink {
    pub(crate) fn new(sample: QueuedSample, clock: Clock, encoding: Encoding) -> Self {
        Self {
            taken: clock.now(),
            most: sample.replies.max_output_tokens(),
            sample: Some(sample),
            output: BytesMut::new(),
            sent: 0,
            first: None,
            cached: 0,
            wrong: None,
            clock,
            encoding,
        }
    }

    /// Returns true if the client has gone, or has all the tokens that it takes.
    pub(crate) fn is_closed(&self) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.replies.is_closed())
    }

    /// Returns the time at which the engine took the sample.
    pub(crate) fn accepted_at(&self) -> Instant {
        self.taken
    }

    /// Returns the tokens that the client wants before the output is whole.
    pub(crate) fn wanted_tokens(&self) -> Tokens {
        self.sample.as_ref().map_or(Tokens::Whole, |sample| sample.replies.tokens())
    }

    /// Returns the maximum number of tokens that the client takes.
    pub(crate) fn max_tokens(&self) -> usize {
        self.most
    }

    /// Returns the number of tokens so far.
    pub(crate) fn token_count(&self) -> usize {
        self.output.len() / ID_BYTES
    }

    /// Appends tokens. Sends the first token, and later ones, at once if the client wants them.
    /// Ends the output before a token that the client does not take.
    pub(crate) fn push_tokens(&mut self, ids: &[i32]) {
        let room = self.most.saturating_sub(self.token_count());
        match ids.split_at_checked(room) {
            Some((taken, [_, ..])) => {
                self.append(taken);
                self.complete();
            }
            _ => self.append(ids),
        }
    }

    fn append(&mut self, ids: &[i32]) {
        if ids.is_empty() {
            return;
        }
        self.wrong = self.wrong.or_else(|| ids.iter().copied().find(|id| *id < 0));
        let given = self.output.len();
        self.output.resize(given + ids.len() * ID_BYTES, 0);
        for (place, id) in self.output[given..].chunks_exact_mut(ID_BYTES).zip(ids) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        let is_first = self.first.is_none();
        self.first.get_or_insert_with(|| self.clock.now());
        let wanted = self.wanted_tokens();
        // An output with an invalid token fails. Tokens that were already sent cannot be revoked.
        if wanted == Tokens::Whole || self.wrong.is_some() {
            return;
        }
        if is_first {
            self.send_ahead(Part::First, ID_BYTES);
        }
        if wanted == Tokens::Every && self.sent < self.output.len() {
            self.send_ahead(Part::More, self.output.len());
        }
    }

    /// Records the number of tokens of the prompt that were not computed for this sample.
    pub(crate) fn set_cached_tokens(&mut self, tokens: usize) {
        self.cached = u32::try_from(tokens).unwrap_or(u32::MAX);
    }

    /// Sends the unsent bytes of `output` before `up_to`, as this part of the output.
    fn send_ahead(&mut self, part: Part, up_to: usize) {
        let Some(sample) = &self.sample else { return };
        let payload = Bytes::copy_from_slice(&self.output[self.sent..up_to]);
        if let (Part::First, Some(digests), Some(digest)) =
            (part, sample.replies.digests(), sample.digest)
        {
            digests.add_response(digest, &payload);
        }
        let mut message = InferResponse {
            part: part as i32,
            token_count: token_count(&payload),
            first_token_ns: nanoseconds(self.first_token_time()),
            payload,
            ..InferResponse::default()
        };
        self.times(self.clock.now()).note(sample, &mut message);
        if sample.replies.send_early(message) {
            self.sent = up_to;
        }
    }

    /// Ends the output, which is the tokens so far.
    pub(crate) fn end(mut self) {
        self.complete();
    }

    fn complete(&mut self) {
        let output = self.output.split().freeze();
        self.answer(if let Some(id) = self.wrong {
            Err(EngineError::Failed(format!("invalid token id {id}; ids start at 0")))
        } else if output.is_empty() {
            Err(EngineError::Failed("the output is empty".into()))
        } else {
            Ok(output)
        });
    }

    /// Sends an output that does not consist of tokens, or an error.
    pub(crate) fn finish_with(mut self, answer: Result<Bytes, EngineError>) {
        let answer = match answer {
            Ok(_) if self.first.is_some() => Err(EngineError::Failed(
                "the engine returned tokens and then another output".into(),
            )),
            answer => answer,
        };
        self.first = None;
        self.answer(answer);
    }

    fn answer(&mut self, answer: Result<Bytes, EngineError>) {
        let Some(mut sample) = self.sample.take() else { return };
        // A sample whose client has gone is dropped, and has no response.
        if let Err(failure) = &answer
            && !failure.is_bad_sample()
            && !sample.replies.is_closed()
        {
            error!(%failure, "a sample failed");
        }
        let tokens = match (&answer, self.first) {
            (Ok(output), Some(_)) => token_count(output),
            _ => 0,
        };
        let mut replies = BatchReply::new(1);
        let response = replies.add(&mut sample);
        reply(&sample, answer, &self.times(self.clock.now()), self.encoding, response);
        if tokens > 0 && response.error.is_empty() {
            response.token_count = tokens;
            response.first_token_ns = nanoseconds(self.first_token_time());
            response.cached_tokens = self.cached;
        }
        replies.send();
    }

    fn times(&self, now: Instant) -> Times {
        Times {
            accepted_at: self.taken,
            waited: Duration::ZERO,
            prepare: Duration::ZERO,
            compute: now.saturating_duration_since(self.taken),
            batch_size: 1,
        }
    }

    fn first_token_time(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| first.saturating_duration_since(self.taken))
    }
}

fn token_count(payload: &[u8]) -> u32 {
    u32::try_from(tokens::ids(payload).len()).unwrap_or(u32::MAX)
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.answer(Err(EngineError::Failed("the engine returned no response".into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::remote::testing::{limited_client, next};

    #[tokio::test]
    async fn an_output_ends_before_a_token_that_the_client_does_not_take() {
        for (parts, want) in [
            (&[&[1, 2, 3][..], &[4]][..], &[1, 2, 3][..]),
            (&[&[1, 2], &[3, 4, 5], &[6]], &[1, 2, 3]),
            (&[&[1, 2, 3, 4]], &[1, 2, 3]),
            (&[&[1, 2, 3]], &[1, 2, 3]),
            (&[&[1], &[2]], &[1, 2]),
        ] {
            for wanted in [Tokens::Whole, Tokens::First, Tokens::Every] {
                let (client, mut replies) = limited_client(wanted, 3);
                let sample = QueuedSample::empty(7, client);
                let mut sink = Sink::new(sample, Clock::default(), Encoding::None);
                assert_eq!(sink.max_tokens(), 3);
                parts.iter().for_each(|ids| sink.push_tokens(ids));
                let is_longer = parts.iter().map(|part| part.len()).sum::<usize>() > 3;
                assert_eq!(sink.is_closed(), is_longer);
                sink.end();
                let mut early = Vec::new();
                let whole = loop {
                    let reply = next(&mut replies).await;
                    match reply.part() {
                        Part::Whole => break reply,
                        Part::First | Part::More => early.extend(tokens::ids(&reply.payload)),
                    }
                };
                assert!(tokens::ids(&whole.payload).eq(want.iter().copied()), "{parts:?}");
                assert_eq!((whole.id, whole.token_count as usize), (7, want.len()));
                assert!(want.starts_with(&early), "{parts:?}: {early:?}");
            }
        }
    }
}
