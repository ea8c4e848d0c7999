//! Drives an engine one step at a time.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Waker},
};

use netdiv_contract::encoding::Encoding;
use parking_lot::Mutex;

use super::{client::Flag, streaming_faults::UnreliableStreaming};
use crate::{
    batching::queue::BatchQueue,
    engine::{
        batched::BatchedWork,
        interface::{Engine, StreamingEngine, WaitingEngine},
        streaming::StreamingWork,
        task::serve,
        thread::EngineThread,
        work::EngineWork,
    },
    sample::queued_sample::QueuedSample,
};

const ENCODING: Encoding = Encoding::Lz4;

/// Engine that the simulation drives.
pub(super) enum DrivenEngine {
    /// Engine that has its own thread in a node.
    Thread(EngineThread),
    /// Engine that runs in a task: the task, the flag that is set when the task is woken, and the
    /// waker of the task while it waits for the engine.
    Task(Pin<Box<dyn Future<Output = ()>>>, Arc<Flag>, Arc<Mutex<Option<Waker>>>),
}

impl DrivenEngine {
    pub(super) fn batched(
        engine: impl Engine + 'static,
        queue: &Arc<BatchQueue<QueuedSample>>,
    ) -> Self {
        let (engine, clock) = (Box::new(engine), queue.clock());
        Self::thread(BatchedWork::new(engine, ENCODING, Arc::default(), clock), queue)
    }

    pub(super) fn streaming(
        engine: impl StreamingEngine + 'static,
        queue: &Arc<BatchQueue<QueuedSample>>,
    ) -> Self {
        let (engine, clock) = (Box::new(engine), queue.clock());
        Self::thread(StreamingWork::new(engine, ENCODING, Arc::default(), clock), queue)
    }

    fn thread(work: impl EngineWork + 'static, queue: &Arc<BatchQueue<QueuedSample>>) -> Self {
        Self::Thread(EngineThread::new(Box::new(work), queue.clone()))
    }

    pub(super) fn waiting(
        engine: UnreliableStreaming,
        queue: &Arc<BatchQueue<QueuedSample>>,
    ) -> Self {
        let waits = engine.waits.clone();
        let engine: Box<dyn WaitingEngine> = Box::new(engine);
        let engine = StreamingWork::new(engine, ENCODING, Arc::default(), queue.clock());
        Self::Task(Box::pin(serve(engine, queue.clone())), Flag::new(), waits)
    }

    /// Runs a step. Returns false if there is nothing to do.
    pub(super) fn step(&mut self) -> bool {
        match self {
            Self::Thread(thread) => {
                let next = thread.next_at_once();
                thread.step(next)
            }
            Self::Task(serving, may_run, waits) => {
                if may_run.take() {
                    let waker = Waker::from(may_run.clone());
                    let ended = serving.as_mut().poll(&mut Context::from_waker(&waker));
                    assert!(ended.is_pending(), "the queue is open");
                    return true;
                }
                waits.lock().take().map(Waker::wake).is_some()
            }
        }
    }
}
