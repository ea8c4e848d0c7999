//! Where an engine puts the answer to one sample.

use std::{fmt, time::Instant};

use bytes::Bytes;
use netdiv_contract::encoding::Encoding;

use crate::{
    clock::Clock,
    engine::{
        answer::{Times, Together, reply},
        error::EngineError,
    },
    sample::Sample,
};

/// The answer to one sample, event by event. [`Self::last`] uses it up, so that nothing follows; until then the sample keeps
/// its place at the node. A sink that is dropped without an answer answers that the engine failed.
pub struct Sink {
    /// `None` once it is answered.
    sample: Option<Sample>,
    first_given: bool,
    second_first: bool,
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
        let (taken, sample) = (clock.now(), Some(sample));
        Self { sample, first_given: false, second_first: false, taken, clock, encoding }
    }

    /// Whether the client has gone, so that nobody waits for the answer.
    pub fn is_closed(&self) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.replies.is_closed())
    }

    /// Gives the first token, once. A second one fails the sample. It is not sent: no stream can ask for first tokens yet,
    /// and one that does not ask never gets one.
    pub fn first(&mut self, _token: Bytes) {
        self.second_first |= self.first_given;
        self.first_given = true;
    }

    /// Gives more of the output, for whoever wants to look at it. It is not sent either.
    pub fn part(&mut self, _output: Bytes) {}

    /// Gives the whole output, or says why there is none.
    pub fn last(mut self, answer: Result<Bytes, EngineError>) {
        self.answer(answer);
    }

    fn answer(&mut self, mut answer: Result<Bytes, EngineError>) {
        let Some(sample) = self.sample.take() else { return };
        if self.second_first && answer.is_ok() {
            answer = Err(EngineError::Failed("it gave a second first token".into()));
        }
        let times = Times {
            taken: self.taken,
            prepare: std::time::Duration::ZERO,
            compute: self.clock.now().saturating_duration_since(self.taken),
            batch_size: 1,
        };
        let reply = reply(&sample, answer, &times, self.encoding);
        let mut replies = Together::new(1);
        replies.add(sample, reply);
        replies.send();
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.answer(Err(EngineError::Failed("it gave no answer".into())));
    }
}
