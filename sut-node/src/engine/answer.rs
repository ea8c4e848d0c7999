//! The reply to a sample, and the way of many replies to their streams.

use std::time::{Duration, Instant};

use bytes::Bytes;
use netdiv_contract::{
    encoding::{self, Encoding},
    limits::MAX_ERROR_BYTES,
    v1::{InferResponse, Status},
};

use crate::{
    ground::error::EngineError,
    sample::{admission::Admitted, queued::Sample, replies::ReplyTo},
};

/// How long an answer took, and how many samples shared that time.
pub(crate) struct Times {
    /// When the engine took the sample.
    pub(crate) taken: Instant,
    /// Until the batch before it was done.
    pub(crate) waited: Duration,
    pub(crate) prepare: Duration,
    pub(crate) compute: Duration,
    pub(crate) batch_size: u32,
}

impl Times {
    pub(crate) fn note(&self, sample: &Sample, response: &mut InferResponse) {
        response.id = sample.id;
        let queued = self.taken.saturating_duration_since(sample.arrived);
        response.queue_ns = nanoseconds(queued + self.waited);
        response.prepare_ns = nanoseconds(self.prepare);
        response.compute_ns = nanoseconds(self.compute);
        response.batch_size = self.batch_size;
    }
}

/// The last reply to a sample: its answer, encoded, or why it has none. A digest is kept of it where digests are kept.
pub(crate) fn reply(
    sample: &Sample,
    answer: Result<Bytes, EngineError>,
    times: &Times,
    encoding: Encoding,
) -> InferResponse {
    if let (Ok(answer), Some(digests), Some(digest)) =
        (&answer, sample.replies.digests(), sample.digest)
    {
        digests.answered(digest, answer);
    }
    let mut response = response(encoding, answer);
    times.note(sample, &mut response);
    response
}

/// The last reply to a sample of a batch that failed as a whole.
pub(crate) fn failure(sample: &Sample, why: &EngineError, times: &Times) -> InferResponse {
    let mut response = failed(Status::EngineFailed, why.to_string());
    times.note(sample, &mut response);
    response
}

/// The last replies to several samples: those of one stream are sent together, and then all places are free.
pub(crate) struct Together {
    streams: Vec<(ReplyTo, Vec<InferResponse>)>,
    places: Option<Admitted>,
    /// How many are expected.
    samples: usize,
}

impl Together {
    pub(crate) fn new(samples: usize) -> Self {
        Self { streams: Vec::with_capacity(1), places: None, samples }
    }

    pub(crate) fn add(&mut self, sample: Sample, reply: InferResponse) {
        match (&mut self.places, sample.admitted) {
            (Some(places), Some(own)) => places.join(own),
            (places, own) => *places = places.take().or(own),
        }
        // A batch holds samples of one or two streams; the last one used comes first.
        match self.streams.iter_mut().rev().find(|(stream, _)| stream.is_same(&sample.replies)) {
            Some((_, replies)) => replies.push(reply),
            None => {
                let mut replies =
                    Vec::with_capacity(if self.streams.is_empty() { self.samples } else { 1 });
                replies.push(reply);
                self.streams.push((sample.replies, replies));
            }
        }
    }

    pub(crate) fn send(self) {
        for (stream, replies) in self.streams {
            stream.send(replies);
        }
    }
}

/// The response to one sample, encoded, or why there is none.
fn response(encoding: Encoding, answer: Result<Bytes, EngineError>) -> InferResponse {
    let encoded = match answer {
        Ok(answer) => encoding::encode(encoding, answer),
        Err(error) if error.is_bad_sample() => {
            return failed(Status::BadSample, error.to_string());
        }
        Err(error) => return failed(Status::EngineFailed, error.to_string()),
    };
    match encoded {
        Ok(encoded) => InferResponse {
            encoding: encoded.encoding as i32,
            decoded_bytes: encoded.decoded_bytes,
            payload: encoded.bytes,
            ..InferResponse::default()
        },
        Err(error) => failed(Status::EngineFailed, error.to_string()),
    }
}

fn failed(status: Status, why: String) -> InferResponse {
    InferResponse { status: status as i32, error: cut(why), ..InferResponse::default() }
}

/// Shortens an error text to what a message may carry.
pub(crate) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
