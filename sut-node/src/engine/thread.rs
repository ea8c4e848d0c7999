//! A thread that owns one engine: it takes samples from the queue, and lets the engine answer them.

use std::sync::{Arc, atomic::AtomicBool};

use crate::{
    batching::queue::BatchQueue, engine::work::EngineWork, sample::queued_sample::QueuedSample,
};

/// Number of consecutive lone batches after which this thread itself waits for the device, instead
/// of another thread that wakes it. A batch is alone if no other batch arrives while it computes.
/// Waking a thread takes longer, and a client that sends one sample at a time gains nothing from
/// it.
const ALONE: u32 = 8;

/// Engine of a thread, and the queue from which it takes samples.
pub(crate) struct EngineThread {
    work: Box<dyn EngineWork>,
    queue: Arc<BatchQueue<QueuedSample>>,
    /// Number of consecutive lone batches.
    alone: u32,
}

impl EngineThread {
    pub(crate) fn new(work: Box<dyn EngineWork>, queue: Arc<BatchQueue<QueuedSample>>) -> Self {
        Self { work, queue, alone: 0 }
    }

    /// Works until the queue is closed. Begins more samples before the first are answered, if the
    /// engine supports this.
    pub(crate) fn run(mut self) {
        loop {
            let room = self.work.room();
            let next = if self.work.is_idle() {
                self.queue.next_batch(room)
            } else {
                self.next_at_once().or_else(|| self.next_while_computing(room))
            };
            if !self.step(next) {
                return;
            }
        }
    }

    /// Returns a batch that can begin at once; `None` if no batch is ready, or if the engine has no
    /// room.
    pub(crate) fn next_at_once(&self) -> Option<Vec<QueuedSample>> {
        Some(self.work.room())
            .filter(|room| *room > 0)
            .and_then(|room| self.queue.try_next_batch(room))
    }

    /// Returns a batch that arrives while the engine computes.
    fn next_while_computing(&mut self, room: usize) -> Option<Vec<QueuedSample>> {
        if room == 0 || self.alone >= ALONE {
            return None;
        }
        let done = Arc::new(AtomicBool::new(false));
        let (queue, rung) = (self.queue.clone(), done.clone());
        let is_told = self.work.when_done(Box::new(move || queue.ring(&rung)));
        let batch = is_told.then(|| self.queue.next_batch_before(room, &done)).flatten();
        self.alone += u32::from(batch.is_none());
        batch
    }

    /// Begins the batch `next`, or continues the current work. Returns false if there is neither.
    pub(crate) fn step(&mut self, next: Option<Vec<QueuedSample>>) -> bool {
        if let Some(batch) = next {
            if !self.work.is_idle() {
                self.alone = 0;
            }
            self.work.begin(batch);
        } else if self.work.is_idle() {
            return false;
        } else {
            self.work.step();
            if self.alone >= ALONE && self.queue.len() > 0 {
                // A batch arrived while the other one computed.
                self.alone = 0;
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::{thread, time::Duration};

    use bytes::Bytes;
    use netdiv_contract::{
        burst::Messages,
        encoding::Encoding,
        layout::InputLayout,
        limits::MAX_ERROR_BYTES,
        v1::{InferResponse, Status, Tokens},
    };

    use super::*;
    use crate::{
        batching::batcher::BatchLimits,
        engine::{
            batched::BatchedWork,
            interface::{BatchAnswers, BatchRunner, SequentialEngine, StreamingEngine},
            remote::testing::{client, next},
            sink::Sink,
            streaming::StreamingWork,
        },
        ground::{clock::Clock, error::EngineError},
        model::payload::Payload,
        sample::{
            admission::Admission,
            replies::{Replies, ReplyTarget},
        },
    };

    /// Engine that fails in a different way for each of the first batches, and then answers.
    #[derive(Default)]
    struct FailingEngine(usize);

    impl BatchRunner for FailingEngine {
        fn infer(&mut self, batch: &[Payload]) -> Result<BatchAnswers, EngineError> {
            self.0 += 1;
            match self.0 {
                1 => Err(EngineError::Failed("x".repeat(1 << 20))),
                2 => panic!("overheated"),
                3 => Ok(batch_answers(Vec::new())),
                4 => Ok(batch_answers(vec![Err(EngineError::BadSample("blurred".into()))])),
                _ => Ok(batch_answers(
                    batch.iter().map(|sample| Ok(sample.bytes().clone())).collect(),
                )),
            }
        }
    }

    fn batch_answers(answers: Vec<Result<Bytes, EngineError>>) -> BatchAnswers {
        BatchAnswers { answers, token_counts: Vec::new(), prepare: Duration::ZERO }
    }

    /// A node with one engine and a stream to it.
    struct EngineSetup {
        queue: Arc<BatchQueue<QueuedSample>>,
        engine: thread::JoinHandle<()>,
        admission: &'static Admission,
        client: ReplyTarget,
        replies: Messages<Replies>,
    }

    impl EngineSetup {
        fn new(samples: usize, work: Box<dyn EngineWork>) -> Self {
            let queue =
                Arc::new(BatchQueue::new(BatchLimits::without_waiting(samples), Clock::default()));
            let thread = EngineThread::new(work, queue.clone());
            let engine = thread::spawn(|| thread.run());
            let (client, replies) = client(Tokens::Whole);
            let admission = Admission::new(10, 1000, None);
            Self { queue, engine, admission, client, replies }
        }

        fn sample(&self, id: u64) -> QueuedSample {
            let payload = Bytes::from_static(b"payload");
            QueuedSample {
                payload: Payload::read(&InputLayout::default(), payload).unwrap(),
                admitted: self.admission.try_admit([self.admission.cost(7, 7, 0)]),
                ..QueuedSample::empty(id, self.client.clone())
            }
        }

        async fn reply(&mut self) -> InferResponse {
            next(&mut self.replies).await
        }
    }

    #[tokio::test]
    async fn a_failing_engine_answers_every_sample_and_lives_on() {
        let engine = SequentialEngine::boxed(FailingEngine::default());
        let work = BatchedWork::new(engine, Encoding::Zstd, Arc::default(), Clock::default());
        let mut stage = EngineSetup::new(1, Box::new(work));
        stage.queue.push(&mut (0..5).map(|id| stage.sample(id)).collect());
        for (id, status, text) in [
            (0, Status::EngineFailed, "the model failed: xxx"),
            (1, Status::EngineFailed, "the model failed: panic: overheated"),
            (2, Status::EngineFailed, "the model failed: 0 answers for 1 sample"),
            (3, Status::BadSample, "blurred"),
            (4, Status::Ok, ""),
        ] {
            let reply = stage.reply().await;
            assert_eq!((reply.id, reply.status()), (id, status));
            assert!(reply.error.starts_with(text) && reply.error.len() <= MAX_ERROR_BYTES);
        }
        // The samples of a client that has gone are dropped, and their permits are free again.
        let last = stage.sample(5);
        drop(stage.replies);
        stage.queue.push(&mut vec![last]);
        stage.queue.close();
        stage.engine.join().unwrap();
        assert!(
            (0..10).all(|_| stage.admission.try_admit([stage.admission.cost(1, 1, 0)]).is_some())
        );
        drop(stage.client);
    }

    /// Engine that answers the last sample first. Some samples receive wrong tokens or no answer.
    #[derive(Default)]
    struct ReversingEngine(Vec<(Payload, Sink)>);

    impl StreamingEngine for ReversingEngine {
        fn in_flight(&self) -> usize {
            self.0.len()
        }

        fn room(&self) -> usize {
            if self.0.is_empty() { usize::MAX } else { 0 }
        }

        fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
            self.0 = samples;
            Ok(())
        }

        fn step(&mut self) -> Result<(), EngineError> {
            let Some((payload, mut sink)) = self.0.pop() else { return Ok(()) };
            let output = payload.bytes().clone();
            if self.0.len() == 1 {
                return Ok(());
            }
            match self.0.len() {
                0 => {
                    sink.push_tokens(&[7, -3]);
                    sink.end();
                }
                3 => {
                    sink.push_tokens(&[7]);
                    sink.push_tokens(&[8, 9]);
                    sink.end();
                }
                _ => sink.finish_with(Ok(output)),
            }
            if self.0.len() == 3 { Err(EngineError::Failed("overheated".into())) } else { Ok(()) }
        }

        fn drop_all(&mut self) {
            // Drop only the oldest sample, so that the others continue.
            self.0.remove(0);
        }
    }

    #[tokio::test]
    async fn a_streaming_engine_answers_each_sample_once_in_its_own_order() {
        let engine = Box::new(ReversingEngine::default());
        let work = StreamingWork::new(engine, Encoding::Zstd, Arc::default(), Clock::default());
        let mut stage = EngineSetup::new(5, Box::new(work));
        stage.queue.push(&mut (0..5).map(|id| stage.sample(id)).collect());
        for (id, status, text) in [
            (4, Status::Ok, ""),
            (3, Status::Ok, ""),
            (0, Status::EngineFailed, "the model failed: the engine returned no response"),
            (2, Status::EngineFailed, "the model failed: the engine returned no response"),
            (1, Status::EngineFailed, "the model failed: invalid token id -3; ids start at 0"),
        ] {
            let reply = stage.reply().await;
            assert_eq!((reply.id, reply.status(), &reply.error[..]), (id, status, text));
        }
        stage.queue.close();
        stage.engine.join().unwrap();
        assert!(
            (0..10).all(|_| stage.admission.try_admit([stage.admission.cost(1, 1, 0)]).is_some())
        );
    }
}
