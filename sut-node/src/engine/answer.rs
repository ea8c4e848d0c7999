//! Builds replies to samples, and sends them to the clients' streams.

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

/// Durations that a reply reports, and the number of samples in its batch.
pub(crate) struct Times {
    /// Time at which the engine took the sample.
    pub(crate) accepted_at: Instant,
    /// Time for which the prepared batch waited until the previous batch was done.
    pub(crate) waited: Duration,
    /// Time spent on preparing the batch's input.
    pub(crate) prepare: Duration,
    /// Time spent on computing the batch, or a single sample of a streaming engine.
    pub(crate) compute: Duration,
    pub(crate) batch_size: u32,
}

impl Times {
    /// Writes the durations, and the sample's id, to a reply.
    pub(crate) fn note(&self, sample: &QueuedSample, response: &mut InferResponse) {
        response.id = sample.id;
        let queued = self.accepted_at.saturating_duration_since(sample.arrived);
        response.queue_ns = nanoseconds(queued + self.waited);
        response.prepare_ns = nanoseconds(self.prepare);
        response.compute_ns = nanoseconds(self.compute);
        response.batch_size = self.batch_size;
    }
}

/// Writes the last reply to a sample, with its encoded response or the error. Stores the digest of
/// the response if the session keeps digests.
pub(crate) fn reply(
    sample: &QueuedSample,
    answer: Result<Bytes, EngineError>,
    times: &Times,
    encoding: Encoding,
    response: &mut InferResponse,
) {
    if let (Ok(answer), Some(digests), Some(digest)) =
        (&answer, sample.replies.digests(), sample.digest)
    {
        digests.add_response(digest, answer);
    }
    match answer.map(|answer| encoding::encode(encoding, answer)) {
        Ok(Ok(encoded)) => {
            response.encoding = encoded.encoding as i32;
            response.decoded_bytes = encoded.decoded_bytes;
            response.payload = encoded.bytes;
        }
        Ok(Err(error)) => *response = failed(Status::EngineFailed, error.to_string()),
        Err(error) if error.is_bad_sample() => {
            *response = failed(Status::BadSample, error.to_string());
        }
        Err(error) => *response = failed(Status::EngineFailed, error.to_string()),
    }
    times.note(sample, response);
}

/// Builds the last reply to a sample of a batch that failed as a whole.
pub(crate) fn failure(sample: &QueuedSample, why: &EngineError, times: &Times) -> InferResponse {
    let mut response = failed(Status::EngineFailed, why.to_string());
    times.note(sample, &mut response);
    response
}

/// Last replies to the samples of a batch. All replies to one stream are sent together. The
/// samples' permits are released after the last reply.
pub(crate) struct BatchReply {
    streams: Vec<(ReplyTarget, Vec<InferResponse>)>,
    /// Permits of all samples, joined.
    places: Option<AdmissionPermit>,
    /// Expected number of samples in the batch.
    samples: usize,
}

impl BatchReply {
    pub(crate) fn new(samples: usize) -> Self {
        Self { streams: Vec::with_capacity(1), places: None, samples }
    }

    /// Takes the permit of a sample, and returns the place for its reply.
    pub(crate) fn add(&mut self, sample: &mut QueuedSample) -> &mut InferResponse {
        match (&mut self.places, sample.admitted.take()) {
            (Some(places), Some(own)) => places.join(own),
            (places, own) => *places = places.take().or(own),
        }
        // A batch holds samples of one or two streams. Search from the stream that was used last.
        let known = self.streams.iter().rposition(|(stream, _)| stream.is_same(&sample.replies));
        let place = known.unwrap_or_else(|| {
            let replies =
                Vec::with_capacity(if self.streams.is_empty() { self.samples } else { 1 });
            self.streams.push((sample.replies.clone(), replies));
            self.streams.len() - 1
        });
        let replies = &mut self.streams[place].1;
        replies.push(InferResponse::default());
        let last = replies.len() - 1;
        &mut replies[last]
    }

    pub(crate) fn send(self) {
        for (stream, replies) in self.streams {
            stream.send(replies);
        }
    }
}

fn failed(status: Status, why: String) -> InferResponse {
    InferResponse { status: status as i32, error: cut(why), ..InferResponse::default() }
}

/// Truncates an error text to the maximum length in a message.
pub(crate) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
