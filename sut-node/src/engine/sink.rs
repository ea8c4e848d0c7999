//! Where an engine puts the answer to one sample.

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

use crate::{
    engine::answer::{Times, Together, nanoseconds, reply},
    ground::{clock::Clock, error::EngineError},
    sample::queued::Sample,
};

/// The answer to one sample. It is used up with the end of the answer, so that nothing follows; until then the sample keeps
/// its place at the node. A sink that is dropped without an answer answers that the engine failed.
///
/// Tokens are gathered here, so that the first one, those that follow and the whole output cannot contradict each other,
/// however the engine groups them.
pub(crate) struct Sink {
    /// `None` once it is answered.
    sample: Option<Sample>,
    /// The tokens that were given.
    output: BytesMut,
    /// How many of those bytes were sent ahead.
    sent: usize,
    first: Option<Instant>,
    /// Tokens of the sample that were not computed for it.
    cached: u32,
    /// A token that no model has.
    wrong: Option<i32>,
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
    pub(crate) fn new(sample: Sample, clock: Clock, encoding: Encoding) -> Self {
        Self {
            taken: clock.now(),
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

    /// Whether the client has gone, so that nobody waits for the answer.
    pub(crate) fn is_closed(&self) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.replies.is_closed())
    }

    /// When the engine took the sample.
    pub(crate) fn taken(&self) -> Instant {
        self.taken
    }

    /// Which tokens somebody waits for before the output is whole.
    pub(crate) fn wanted(&self) -> Tokens {
        self.sample.as_ref().map_or(Tokens::Whole, |sample| sample.replies.tokens())
    }

    /// How many tokens were given.
    pub(crate) fn token_count(&self) -> usize {
        self.output.len() / ID_BYTES
    }

    /// Gives tokens that follow those that were given. The very first one goes out at once, where it is wanted.
    pub(crate) fn tokens(&mut self, ids: &[i32]) {
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
        let wanted = self.wanted();
        // An output with a wrong token fails; what was sent of it cannot be taken back.
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

    /// Notes that so many tokens of the sample were not computed for it.
    pub(crate) fn cached(&mut self, tokens: usize) {
        self.cached = u32::try_from(tokens).unwrap_or(u32::MAX);
    }

    /// Sends the output up to there, as far as it was not sent.
    fn send_ahead(&mut self, part: Part, up_to: usize) {
        let Some(sample) = &self.sample else { return };
        let payload = Bytes::copy_from_slice(&self.output[self.sent..up_to]);
        if let (Part::First, Some(digests), Some(digest)) =
            (part, sample.replies.digests(), sample.digest)
        {
            digests.answered(digest, &payload);
        }
        let mut message = InferResponse {
            part: part as i32,
            token_count: token_count(&payload),
            first_token_ns: nanoseconds(self.first_token_time()),
            payload,
            ..InferResponse::default()
        };
        self.times(self.clock.now()).note(sample, &mut message);
        if sample.replies.send_ahead(message) {
            self.sent = up_to;
        }
    }

    /// Ends the output: it is the tokens that were given.
    pub(crate) fn end(mut self) {
        let output = self.output.split().freeze();
        self.answer(if let Some(id) = self.wrong {
            Err(EngineError::Failed(format!("it gave the token id {id}; ids are 0 and up")))
        } else if output.is_empty() {
            Err(EngineError::Failed("it gave no token".into()))
        } else {
            Ok(output)
        });
    }

    /// Gives an output that is not made of tokens, or says why there is none.
    pub(crate) fn last(mut self, answer: Result<Bytes, EngineError>) {
        let answer = match answer {
            Ok(_) if self.first.is_some() => {
                Err(EngineError::Failed("it gave tokens, and then another output".into()))
            }
            answer => answer,
        };
        self.first = None;
        self.answer(answer);
    }

    fn answer(&mut self, answer: Result<Bytes, EngineError>) {
        let Some(sample) = self.sample.take() else { return };
        let tokens = match (&answer, self.first) {
            (Ok(output), Some(_)) => token_count(output),
            _ => 0,
        };
        let mut reply = reply(&sample, answer, &self.times(self.clock.now()), self.encoding);
        if tokens > 0 && reply.error.is_empty() {
            reply.token_count = tokens;
            reply.first_token_ns = nanoseconds(self.first_token_time());
            reply.cached_tokens = self.cached;
        }
        let mut replies = Together::new(1);
        replies.add(sample, reply);
        replies.send();
    }

    fn times(&self, now: Instant) -> Times {
        Times {
            taken: self.taken,
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
        self.answer(Err(EngineError::Failed("it gave no answer".into())));
    }
}
