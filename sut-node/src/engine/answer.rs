//! Replies to samples, and their delivery to the streams.

use std::time::{Duration, Instant};

use bytes::Bytes;
use netdiv_contract::{
    encoding::{self, Encoding},
    limits::MAX_ERROR_BYTES,
    v1::{InferResponse, Status},
};

use crate::{
    ground::error::EngineError,
    sample::{admission::AdmissionPermit, queued_sample::QueuedSample, replies::ReplyTarget},
};

/// Durations of one response, and the number of samples that shared them.
pub(crate) struct Times {
    /// Time at which the engine took the sample.
    pub(crate) accepted_at: Instant,
    /// Time until the previous batch was done.
    pub(crate) waited: Duration,
    pub(crate) prepare: Duration,
    pub(crate) compute: Duration,
    pub(crate) batch_size: u32,
}

impl Times {
    pub(crate) fn note(&self, sample: &QueuedSample, response: &mut InferResponse) {
        response.id = sample.id;
        let queued = self.accepted_at.saturating_duration_since(sample.arrived);
        response.queue_ns = nanoseconds(queued + self.waited);
        response.prepare_ns = nanoseconds(self.prepare);
        response.compute_ns = nanoseconds(self.compute);
        response.batch_size = self.batch_size;
    }
}

/// Builds the last reply to a sample: its encoded response, or the error. Stores the response's
/// digest if the session keeps digests.
pub(crate) fn reply(
    sample: &QueuedSample,
    answer: Result<Bytes, EngineError>,
    times: &Times,
    encoding: Encoding,
) -> InferResponse {
    if let (Ok(answer), Some(digests), Some(digest)) =
        (&answer, sample.replies.digests(), sample.digest)
    {
        digests.add_response(digest, answer);
    }
    let mut response = response(encoding, answer);
    times.note(sample, &mut response);
    response
}

/// Builds the last reply to a sample of a batch that failed as a whole.
pub(crate) fn failure(sample: &QueuedSample, why: &EngineError, times: &Times) -> InferResponse {
    let mut response = failed(Status::EngineFailed, why.to_string());
    times.note(sample, &mut response);
    response
}

/// Last replies to several samples. Replies of one stream are sent together; then all permits are
/// free.
pub(crate) struct BatchReply {
    streams: Vec<(ReplyTarget, Vec<InferResponse>)>,
    places: Option<AdmissionPermit>,
    /// Expected number of samples.
    samples: usize,
}

impl BatchReply {
    pub(crate) fn new(samples: usize) -> Self {
        Self { streams: Vec::with_capacity(1), places: None, samples }
    }

    pub(crate) fn add(&mut self, sample: QueuedSample, reply: InferResponse) {
        match (&mut self.places, sample.admitted) {
            (Some(places), Some(own)) => places.join(own),
            (places, own) => *places = places.take().or(own),
        }
        // A batch holds samples of one or two streams. Search from the stream that was used last.
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

/// Encodes the response to one sample, or reports the error.
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

/// Shortens an error text to the limit of a message.
pub(crate) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
