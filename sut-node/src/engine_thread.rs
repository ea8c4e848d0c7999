//! One thread owns one engine: it takes a batch, runs it, and hands every stream its replies.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
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
    clock::Clock,
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

/// One engine, where its batches come from, and those that it has begun.
pub(crate) struct EngineThread {
    engine: Box<dyn Engine>,
    queue: Arc<BatchQueue<Sample>>,
    response_encoding: Encoding,
    pulse: Arc<Pulse>,
    begun: VecDeque<Begun>,
}

impl EngineThread {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        queue: Arc<BatchQueue<Sample>>,
        response_encoding: Encoding,
        pulse: Arc<Pulse>,
    ) -> Self {
        Self { engine, queue, response_encoding, pulse, begun: VecDeque::new() }
    }

    /// Runs batches until the queue is closed. The next one is begun before the last is done, where the engine can do that.
    pub(crate) fn run(mut self) {
        loop {
            let next = match self.begun.is_empty() {
                true => self.queue.next_batch(),
                false => self.next_at_once(),
            };
            if !self.step(next) {
                return;
            }
        }
    }

    /// A batch that can be begun without waiting for one.
    pub(crate) fn next_at_once(&self) -> Option<Vec<Sample>> {
        let more = self.begun.len() < self.engine.in_flight();
        more.then(|| self.queue.try_next_batch()).flatten()
    }

    /// Begins that batch, or finishes the one that was begun first; false when there is neither.
    pub(crate) fn step(&mut self, next: Option<Vec<Sample>>) -> bool {
        let clock = self.queue.clock();
        if let Some(batch) = next {
            self.begun.extend(Begun::new(self.engine.as_mut(), batch, &self.pulse, clock));
            metrics::queued(self.queue.len());
        } else if let Some(batch) = self.begun.pop_front() {
            let (engine, encoding) = (self.engine.as_mut(), self.response_encoding);
            batch.finish(engine, encoding, &self.pulse, clock);
        } else {
            return false;
        }
        true
    }
}

/// Runs one batch and answers every sample of it, on a thread that no watchdog looks at.
pub(crate) fn run_batch(engine: &mut dyn Engine, batch: Vec<Sample>, response_encoding: Encoding) {
    let (pulse, clock) = (Pulse::default(), Clock::default());
    if let Some(begun) = Begun::new(engine, batch, &pulse, clock) {
        begun.finish(engine, response_encoding, &pulse, clock);
    }
}

/// A batch that the engine has begun.
struct Begun {
    batch: Vec<Sample>,
    taken: Instant,
}

impl Begun {
    /// Begins a batch without the samples whose clients have gone; `None` when none is left.
    fn new(
        engine: &mut dyn Engine,
        mut batch: Vec<Sample>,
        pulse: &Pulse,
        clock: Clock,
    ) -> Option<Self> {
        let taken = clock.now();
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
    fn finish(self, engine: &mut dyn Engine, encoding: Encoding, pulse: &Pulse, clock: Clock) {
        let outcome = finish(engine, self.batch.len());
        let now = clock.now();
        let time = now.saturating_duration_since(self.taken);
        pulse.finished(is_failure(&outcome), now);
        metrics::batch(self.batch.len(), time);
        answer(self.batch, outcome, self.taken, time, encoding);
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
    time: Duration,
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
    let compute = time.saturating_sub(prepare);
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
    use std::thread;

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
        let queue = Arc::new(BatchQueue::new(rules, Clock::default()));
        let engine = thread::spawn({
            let queue = queue.clone();
            move || {
                let engine = Box::new(OneByOne::new(Unlucky::default()));
                EngineThread::new(engine, queue, Encoding::Zstd, Arc::default()).run()
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
