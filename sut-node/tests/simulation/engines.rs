//! Drivers of an engine, one step at a time.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Waker},
};

use netdiv_contract::encoding::Encoding;
use parking_lot::Mutex;

use super::{client::Flag, streaming_faults::Talkative};
use crate::{
    batching::queue::BatchQueue,
    engine::{
        batched::Batched,
        interface::{Engine, StreamingEngine, WaitingEngine},
        streaming::Streaming,
        task::serve,
        thread::EngineThread,
        work::Work,
    },
    sample::queued::Sample,
};

const ENCODING: Encoding = Encoding::Lz4;

/// A running engine.
pub(super) enum Driven {
    /// Driven like on its thread.
    Thread(EngineThread),
    /// Driven like in its task, which runs when it is woken, with the waker that the engine wakes.
    Task(Pin<Box<dyn Future<Output = ()>>>, Arc<Flag>, Arc<Mutex<Option<Waker>>>),
}

impl Driven {
    pub(super) fn batched(engine: impl Engine + 'static, queue: &Arc<BatchQueue<Sample>>) -> Self {
        let (engine, clock) = (Box::new(engine), queue.clock());
        Self::thread(Batched::new(engine, ENCODING, Arc::default(), clock), queue)
    }

    pub(super) fn streaming(
        engine: impl StreamingEngine + 'static,
        queue: &Arc<BatchQueue<Sample>>,
    ) -> Self {
        let (engine, clock) = (Box::new(engine), queue.clock());
        Self::thread(Streaming::new(engine, ENCODING, Arc::default(), clock), queue)
    }

    fn thread(work: impl Work + 'static, queue: &Arc<BatchQueue<Sample>>) -> Self {
        Self::Thread(EngineThread::new(Box::new(work), queue.clone()))
    }

    pub(super) fn waiting(engine: Talkative, queue: &Arc<BatchQueue<Sample>>) -> Self {
        let waits = engine.waits.clone();
        let engine: Box<dyn WaitingEngine> = Box::new(engine);
        let engine = Streaming::new(engine, ENCODING, Arc::default(), queue.clock());
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
