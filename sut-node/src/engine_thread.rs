//! One thread owns one engine: it takes a batch, runs it, and hands every stream its replies.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_proto::{
    encoding::{self, Encoding},
    limits::MAX_ERROR_BYTES,
    tally::PayloadDigest,
    v1::{InferResponse, Status},
};
use tracing::error;

use crate::{
    admission::Admitted,
    batcher::Queued,
    engine::{Engine, EngineError, Inference},
    metrics,
    queue::BatchQueue,
    replies::ReplyTo,
    watchdog::Pulse,
};

/// A decoded sample that waits for a batch.
pub(crate) struct Sample {
    pub(crate) id: u64,
    pub(crate) payload: Bytes,
    /// Of the payload as it was received, where digests are kept.
    pub(crate) digest: Option<PayloadDigest>,
    /// Its tokens, pairs and so on.
    pub(crate) length: usize,
    pub(crate) arrived: Instant,
    /// Its place at the node, where it came over the network.
    pub(crate) admitted: Option<Admitted>,
    pub(crate) replies: ReplyTo,
}

impl Queued for Sample {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn length(&self) -> usize {
        self.length
    }

    fn bytes(&self) -> usize {
        self.payload.len()
    }
}

/// Runs batches until the queue is closed. The next one is begun before the last is done, where the engine can do that.
pub(crate) fn run(
    mut engine: Box<dyn Engine>,
    queue: &BatchQueue<Sample>,
    response_encoding: Encoding,
    pulse: &Pulse,
) {
    let mut begun: VecDeque<Begun> = VecDeque::new();
    loop {
        let next = match begun.len() {
            0 => queue.next_batch(),
            under_way if under_way < engine.in_flight() => queue.try_next_batch(),
            _ => None,
        };
        if let Some(batch) = next {
            begun.extend(Begun::new(engine.as_mut(), batch, pulse));
            metrics::queued(queue.len());
        } else if let Some(batch) = begun.pop_front() {
            batch.finish(engine.as_mut(), response_encoding, pulse);
        } else {
            return;
        }
    }
}

/// Runs one batch and answers every sample of it, on a thread that no watchdog looks at.
pub(crate) fn run_batch(engine: &mut dyn Engine, batch: Vec<Sample>, response_encoding: Encoding) {
    let pulse = Pulse::default();
    if let Some(begun) = Begun::new(engine, batch, &pulse) {
        begun.finish(engine, response_encoding, &pulse);
    }
}

/// A batch that the engine has begun.
struct Begun {
    batch: Vec<Sample>,
    taken: Instant,
}

impl Begun {
    /// Begins a batch without the samples whose clients have gone; `None` when none is left.
    fn new(engine: &mut dyn Engine, mut batch: Vec<Sample>, pulse: &Pulse) -> Option<Self> {
        let taken = Instant::now();
        let all = batch.len();
        batch.retain(|sample| !sample.replies.is_closed());
        if batch.len() < all {
            metrics::abandoned(all - batch.len());
        }
        if batch.is_empty() {
            return None;
        }
        pulse.begun(batch.len(), taken);
        let payloads = batch.iter().map(|sample| sample.payload.clone()).collect();
        // After a panic the engine says, when it is asked for the batch, that it has none.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| engine.begin(payloads))) {
            error!(panic = panic_text(panic.as_ref()), "a batch could not be begun");
        }
        Some(Self { batch, taken })
    }

    /// Waits for the batch and answers it.
    fn finish(self, engine: &mut dyn Engine, response_encoding: Encoding, pulse: &Pulse) {
        let outcome = finish(engine, self.batch.len());
        pulse.finished(is_failure(&outcome), Instant::now());
        metrics::batch(self.batch.len(), self.taken.elapsed());
        answer(self.batch, outcome, self.taken, response_encoding);
    }
}

/// What the engine gives; a panic or a wrong number of answers is its failure, and the node lives on.
fn finish(engine: &mut dyn Engine, samples: usize) -> Result<Inference, EngineError> {
    let ran = catch_unwind(AssertUnwindSafe(|| engine.finish()));
    let outcome = match ran {
        Ok(Ok(inference)) if inference.answers.len() != samples => {
            let answers = inference.answers.len();
            Err(EngineError::Failed(format!("{answers} answers for {samples} samples")))
        }
        Ok(outcome) => outcome,
        Err(panic) => Err(EngineError::Failed(format!("panic: {}", panic_text(panic.as_ref())))),
    };
    if let Err(failure) = &outcome {
        error!(%failure, samples, "a batch failed");
        metrics::failed_batch();
    }
    outcome
}

/// Whether the engine has answered none of the samples, and none of them is to blame.
fn is_failure(outcome: &Result<Inference, EngineError>) -> bool {
    let failed = |error: &EngineError| !error.is_bad_sample();
    match outcome {
        Ok(inference) => inference.answers.iter().all(|answer| answer.as_ref().is_err_and(failed)),
        Err(error) => failed(error),
    }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

/// Sends every sample of a batch its reply, each stream's together.
fn answer(
    batch: Vec<Sample>,
    outcome: Result<Inference, EngineError>,
    taken: Instant,
    response_encoding: Encoding,
) {
    let (prepare, results) = match outcome {
        Ok(Inference { answers, prepare }) => {
            let response = |(answer, sample): (Result<Bytes, EngineError>, &Sample)| {
                if let (Ok(answer), Some(digests), Some(digest)) =
                    (&answer, sample.replies.digests(), sample.digest)
                {
                    digests.answered(digest, answer);
                }
                response(response_encoding, answer)
            };
            (prepare, answers.into_iter().zip(&batch).map(response).collect())
        }
        Err(failure) => {
            let response = |_: &_| failed(Status::EngineFailed, failure.to_string());
            (Duration::ZERO, batch.iter().map(response).collect::<Vec<_>>())
        }
    };
    let batch_size = u32::try_from(batch.len()).unwrap_or(u32::MAX);
    let compute = taken.elapsed().saturating_sub(prepare);
    let mut streams: Vec<(ReplyTo, Vec<InferResponse>)> = Vec::new();
    let mut places: Option<Admitted> = None;
    for (sample, mut response) in batch.into_iter().zip(results) {
        response.id = sample.id;
        response.queue_ns = nanoseconds(taken.saturating_duration_since(sample.arrived));
        response.prepare_ns = nanoseconds(prepare);
        response.compute_ns = nanoseconds(compute);
        response.batch_size = batch_size;
        match (&mut places, sample.admitted) {
            (Some(places), Some(own)) => places.join(own),
            (_, own) => places = places.take().or(own),
        }
        // A batch holds samples of one or two streams; the last one used comes first.
        match streams.iter_mut().rev().find(|(stream, _)| stream.is_same(&sample.replies)) {
            Some((_, replies)) => replies.push(response),
            None => streams.push((sample.replies, vec![response])),
        }
    }
    for (stream, replies) in streams {
        stream.send(replies);
    }
}

/// The response to one sample, encoded, or what became of it.
fn response(encoding: Encoding, answer: Result<Bytes, EngineError>) -> InferResponse {
    let status = |error: &EngineError| match error.is_bad_sample() {
        true => Status::BadSample,
        false => Status::EngineFailed,
    };
    let encoded = match answer {
        Ok(answer) => encoding::encode(encoding, answer),
        Err(error) => return failed(status(&error), error.to_string()),
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

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::{sync::Arc, thread};

    use netdiv_proto::burst::Messages;

    use super::*;
    use crate::{
        admission::Admission,
        batcher::Rules,
        engine::{Infer, OneByOne},
        replies,
        sessions::Sessions,
    };

    /// Fails in another way for each batch, then answers.
    #[derive(Default)]
    struct Unlucky(usize);

    impl Infer for Unlucky {
        fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError> {
            self.0 += 1;
            match self.0 {
                1 => Err(EngineError::Failed("x".repeat(1 << 20))),
                2 => panic!("overheated"),
                3 => Ok(inference(Vec::new())),
                4 => Ok(inference(vec![Err(EngineError::BadSample("blurred".into()))])),
                _ => Ok(inference(batch.iter().cloned().map(Ok).collect())),
            }
        }
    }

    fn inference(answers: Vec<Result<Bytes, EngineError>>) -> Inference {
        Inference { answers, prepare: Duration::ZERO }
    }

    #[tokio::test]
    async fn a_failing_engine_answers_every_sample_and_lives_on() {
        let rules = Rules {
            samples: 1,
            tokens: None,
            pads: false,
            bytes: None,
            age: Duration::ZERO,
            buckets: Vec::new(),
        };
        let queue = Arc::new(BatchQueue::new(rules));
        let engine = thread::spawn({
            let queue = queue.clone();
            move || {
                let engine = Box::new(OneByOne::new(Unlucky::default()));
                run(engine, &queue, Encoding::Zstd, &Pulse::default())
            }
        });
        let admission = Arc::new(Admission::new(10, 1000));
        let session = Sessions::default().join(&Default::default()).unwrap();
        let (sender, replies) =
            replies::channel(&Arc::default(), 10, 1000, session, false).unwrap();
        let mut replies = Messages::new(replies, 10_000);
        let sample = |id| Sample {
            id,
            payload: Bytes::from_static(b"payload"),
            digest: None,
            arrived: Instant::now(),
            length: 1,
            admitted: admission.try_admit(7),
            replies: ReplyTo::Stream(sender.clone()),
        };
        queue.push(&mut (0..5).map(sample).collect());
        for (id, status, text) in [
            (0, Status::EngineFailed, "the model failed: xxx"),
            (1, Status::EngineFailed, "the model failed: panic: overheated"),
            (2, Status::EngineFailed, "the model failed: 0 answers for 1 samples"),
            (3, Status::BadSample, "blurred"),
            (4, Status::Ok, ""),
        ] {
            let reply: InferResponse = replies.next_message().await.unwrap().unwrap();
            assert_eq!((reply.id, reply.status()), (id, status));
            assert!(reply.error.starts_with(text) && reply.error.len() <= MAX_ERROR_BYTES);
        }
        // A client that has gone takes its samples along, and their places are free again.
        drop(replies);
        queue.push(&mut vec![sample(5)]);
        queue.close();
        engine.join().unwrap();
        assert!((0..10).all(|_| admission.try_admit(1).is_some()));
        drop(sender);
    }
}
