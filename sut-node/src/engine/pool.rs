//! The engines of a node: loaded and warmed up, each on its own thread or in a task, behind one
//! queue.

use std::{
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{runtime::Handle, task};
use tracing::warn;

use crate::{
    batching::{batcher::BatchLimits, queue::BatchQueue},
    engine::{
        batched::BatchedWork,
        interface::EngineKind,
        list::EngineConfig,
        settings::NodeSettings,
        streaming::StreamingWork,
        task::serve,
        thread::EngineThread,
        work::{EngineWork, guarded},
    },
    ground::{clock::Clock, engine_activity::EngineActivity, error::EngineError},
    model::{identity::Model, workload::Lengths},
    sample::queued_sample::QueuedSample,
};

/// Maximum time for engines to end once they have no work left.
const ENDING_TIME: Duration = Duration::from_secs(3);

/// Running engines. They end when the queue is closed.
pub(crate) struct EnginePool {
    pub(crate) model: Model,
    pub(crate) queue: Arc<BatchQueue<QueuedSample>>,
    /// Number of samples that keep all engines busy: four batches for each.
    pub(crate) room: u32,
    pub(crate) engines: usize,
    /// Activity of each engine, for the watchdog.
    pub(crate) pulses: Vec<Arc<EngineActivity>>,
    running: EngineHandles,
}

/// The engines' threads and tasks.
#[derive(Default)]
pub(crate) struct EngineHandles {
    threads: Vec<JoinHandle<()>>,
    tasks: Vec<task::JoinHandle<()>>,
}

impl EnginePool {
    /// Loads the model and starts the engines. Returns once all engines are warmed up. Engines that
    /// compute nothing run on `runtime`, unless they have their own.
    pub(crate) fn start(
        engine: &EngineConfig,
        node: &NodeSettings,
        runtime: &Handle,
    ) -> Result<Self, EngineError> {
        let _in_runtime = runtime.enter();
        let (model, engines) = engine.settings().load(node)?;
        let lengths = model.workload.as_ref().and_then(|workload| workload.lengths());
        let is_padded = lengths == Some(Lengths::Padded);
        let mut limits = BatchLimits { is_padded, ..node.batching.clone() };
        if let Some(workload) = &model.workload {
            limits.buckets = workload.length_steps(&limits.buckets);
        }
        let queue = Arc::new(BatchQueue::new(limits, Clock::default()));
        let room = node.batching.max_batch * engines.len().max(1) * 4;
        let (warm, warmed) = mpsc::channel();
        let turn = Arc::new(Mutex::new(()));
        let mut pool = Self {
            model,
            queue: queue.clone(),
            room: u32::try_from(room).unwrap_or(u32::MAX),
            engines: engines.len(),
            pulses: engines
                .iter()
                .map(|engine| Arc::new(EngineActivity::new(engine.runtime(), engine.loss())))
                .collect(),
            running: EngineHandles::default(),
        };
        for (number, engine) in engines.into_iter().enumerate() {
            let (queue, encoding) = (queue.clone(), node.response_encoding);
            let (clock, pulse) = (queue.clock(), pool.pulses[number].clone());
            let mut work: Box<dyn EngineWork> = match engine {
                EngineKind::Batched(engine) => {
                    Box::new(BatchedWork::new(engine, encoding, pulse, clock))
                }
                EngineKind::Streaming(engine) => {
                    Box::new(StreamingWork::new(engine, encoding, pulse, clock))
                }
                EngineKind::Waiting(engine) => {
                    let runtime = engine.runtime().unwrap_or_else(|| runtime.clone());
                    let engine = StreamingWork::new(engine, encoding, pulse, clock);
                    pool.running.tasks.push(runtime.spawn(serve(engine, queue)));
                    continue;
                }
            };
            let (warm, turn) = (warm.clone(), turn.clone());
            let thread = thread::Builder::new().name(format!("engine-{number}")).spawn(move || {
                if warm_up(work.as_mut(), &turn, warm) {
                    EngineThread::new(work, queue).run();
                }
            });
            match thread {
                Ok(thread) => pool.running.threads.push(thread),
                Err(error) => {
                    pool.end();
                    return Err(error.into());
                }
            }
        }
        drop(warm);
        // Collect all outcomes before any engine ends.
        let outcomes: Vec<_> = warmed.into_iter().collect();
        match outcomes.into_iter().find_map(Result::err) {
            None => Ok(pool),
            Some(error) => {
                pool.end();
                Err(error)
            }
        }
    }

    /// Returns the model, the queue, the number of samples that keep all engines busy, and the
    /// engines' threads and tasks, for which the caller can wait once the queue is closed.
    pub(crate) fn split(self) -> (Model, Arc<BatchQueue<QueuedSample>>, u32, EngineHandles) {
        (self.model, self.queue, self.room, self.running)
    }

    /// Lets the engines finish the queued samples, and waits until they have ended.
    pub(crate) fn end(&mut self) {
        self.queue.close();
        std::mem::take(&mut self.running).wait();
    }
}

impl EngineHandles {
    /// Waits for the engines, because a process must not end while one of them is inside a library.
    /// The wait is limited: an engine that hangs must not keep the node alive.
    pub(crate) fn wait(self) {
        let deadline = Instant::now() + ENDING_TIME;
        while !(self.threads.iter().all(JoinHandle::is_finished)
            && self.tasks.iter().all(task::JoinHandle::is_finished))
        {
            if Instant::now() > deadline {
                return warn!("an engine does not stop");
            }
            thread::sleep(Duration::from_millis(1));
        }
        for thread in self.threads {
            // Joining waits until the thread-local data is dropped. Engines catch their panics.
            let _ = thread.join();
        }
    }
}

/// Warms an engine up on its own thread, because libraries keep handles and plans for each thread.
/// Sends the outcome, and drops the sender, so that the receiver can wait for all engines. Returns
/// true if the engine is warmed up.
///
/// Engines warm up one after the other, because they share devices and memory.
fn warm_up(
    work: &mut dyn EngineWork,
    turn: &Mutex<()>,
    warm: Sender<Result<(), EngineError>>,
) -> bool {
    let outcome = {
        let _turn = turn.lock();
        guarded(|| work.warm_up()).flatten()
    };
    let is_warm = outcome.is_ok();
    // After another engine has failed, the receiver may be gone.
    let _ = warm.send(outcome);
    is_warm
}
