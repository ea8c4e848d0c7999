//! One thread owns one engine: it takes a batch, runs it, and hands every stream its replies.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_proto::{
    encoding::{self, Encoding},
    limits::MAX_ERROR_BYTES,
    v1::{InferResponse, Status},
};
use tracing::error;

use crate::{
    admission::Admitted,
    batcher::Arrived,
    engine::{Engine, EngineError, Inference},
    metrics,
    queue::BatchQueue,
    replies::ReplySender,
};

/// A decoded sample that waits for a batch.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) id: u64,
    pub(crate) payload: Bytes,
    pub(crate) arrived: Instant,
    pub(crate) admitted: Admitted,
    pub(crate) replies: ReplySender,
}

impl Arrived for Sample {
    fn arrived(&self) -> Instant {
        self.arrived
    }
}

/// Runs batches until the queue is closed.
pub(crate) fn run(
    mut engine: Box<dyn Engine>,
    queue: &BatchQueue<Sample>,
    response_encoding: Encoding,
) {
    while let Some(mut batch) = queue.next_batch() {
        let all = batch.len();
        batch.retain(|sample| !sample.replies.is_closed());
        if batch.len() < all {
            metrics::abandoned(all - batch.len());
        }
        if !batch.is_empty() {
            run_batch(engine.as_mut(), batch, response_encoding);
            metrics::queued(queue.len());
        }
    }
}

/// Runs one batch and answers every sample of it.
pub(crate) fn run_batch(engine: &mut dyn Engine, batch: Vec<Sample>, response_encoding: Encoding) {
    let taken = Instant::now();
    let payloads: Vec<_> = batch.iter().map(|sample| sample.payload.clone()).collect();
    let outcome = infer(engine, &payloads);
    metrics::batch(batch.len(), taken.elapsed());
    answer(batch, outcome, taken, response_encoding);
}

/// Runs the engine; a panic or a wrong number of answers is its failure, and the node lives on.
fn infer(engine: &mut dyn Engine, payloads: &[Bytes]) -> Result<Inference, EngineError> {
    let ran = catch_unwind(AssertUnwindSafe(|| engine.infer(payloads)));
    let outcome = match ran {
        Ok(Ok(inference)) if inference.answers.len() != payloads.len() => {
            let (answers, samples) = (inference.answers.len(), payloads.len());
            Err(EngineError::Failed(format!("{answers} answers for {samples} samples")))
        }
        Ok(outcome) => outcome,
        Err(panic) => Err(EngineError::Failed(format!("panic: {}", panic_text(panic.as_ref())))),
    };
    if let Err(failure) = &outcome {
        error!(%failure, samples = payloads.len(), "a batch failed");
        metrics::failed_batch();
    }
    outcome
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
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
            (prepare, answers.into_iter().map(|a| encode(response_encoding, a)).collect())
        }
        Err(failure) => (Duration::ZERO, vec![Err(failure.to_string()); batch.len()]),
    };
    let batch_size = u32::try_from(batch.len()).unwrap_or(u32::MAX);
    let compute = taken.elapsed().saturating_sub(prepare);
    let mut streams: Vec<(ReplySender, Vec<InferResponse>)> = Vec::new();
    let mut places: Option<Admitted> = None;
    for (sample, result) in batch.into_iter().zip::<Vec<Result<InferResponse, String>>>(results) {
        let mut response = result.unwrap_or_else(|error| InferResponse {
            status: Status::EngineFailed as i32,
            error: cut(error),
            ..InferResponse::default()
        });
        response.id = sample.id;
        response.queue_ns = nanoseconds(taken.saturating_duration_since(sample.arrived));
        response.prepare_ns = nanoseconds(prepare);
        response.compute_ns = nanoseconds(compute);
        response.batch_size = batch_size;
        match &mut places {
            Some(places) => places.join(sample.admitted),
            None => places = Some(sample.admitted),
        }
        // A batch holds samples of one or two streams; the last one used comes first.
        match streams.iter_mut().rev().find(|(stream, _)| stream.same_stream(&sample.replies)) {
            Some((_, replies)) => replies.push(response),
            None => streams.push((sample.replies, vec![response])),
        }
    }
    for (stream, replies) in streams {
        stream.send(replies);
    }
}

fn encode(encoding: Encoding, answer: Bytes) -> Result<InferResponse, String> {
    let encoded = encoding::encode(encoding, answer).map_err(|error| error.to_string())?;
    Ok(InferResponse {
        encoding: encoded.encoding as i32,
        decoded_bytes: encoded.decoded_bytes,
        payload: encoded.bytes,
        ..InferResponse::default()
    })
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
    use crate::{admission::Admission, replies, sessions::Sessions};

    /// Fails in another way for each batch, then answers.
    #[derive(Default)]
    struct Unlucky(usize);

    impl Engine for Unlucky {
        fn infer(&mut self, batch: &[Bytes]) -> Result<Inference, EngineError> {
            self.0 += 1;
            match self.0 {
                1 => Err(EngineError::Failed("x".repeat(1 << 20))),
                2 => panic!("overheated"),
                3 => Ok(Inference { answers: Vec::new(), prepare: Duration::ZERO }),
                _ => Ok(Inference { answers: batch.to_vec(), prepare: Duration::ZERO }),
            }
        }
    }

    #[tokio::test]
    async fn a_failing_engine_answers_every_sample_and_lives_on() {
        let queue = Arc::new(BatchQueue::new(1, Duration::ZERO));
        let engine = thread::spawn({
            let queue = queue.clone();
            move || run(Box::new(Unlucky::default()), &queue, Encoding::Zstd)
        });
        let admission = Arc::new(Admission::new(10, 1000));
        let (sender, replies) = replies::channel(10, 1000, Sessions::default().join(""));
        let mut replies = Messages::new(replies, 10_000);
        let sample = |id| Sample {
            id,
            payload: Bytes::from_static(b"payload"),
            arrived: Instant::now(),
            admitted: admission.try_admit(7).unwrap(),
            replies: sender.clone(),
        };
        queue.push(&mut (0..4).map(sample).collect());
        for (id, status, text) in [
            (0, Status::EngineFailed, "the model failed: xxx"),
            (1, Status::EngineFailed, "the model failed: panic: overheated"),
            (2, Status::EngineFailed, "the model failed: 0 answers for 1 samples"),
            (3, Status::Ok, ""),
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
