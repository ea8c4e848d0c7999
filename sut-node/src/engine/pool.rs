//! The engines of a node: loaded, warm, each on a thread of its own, fed from one queue.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::warn;

use crate::{
    batching::queue::BatchQueue,
    clock::Clock,
    engine::{
        error::EngineError, interface::EngineKind, load::load, thread::EngineThread,
        work::panic_text,
    },
    error::NodeError,
    model::{identity::Model, workload::Lengths},
    node::watchdog::Pulse,
    sample::Sample,
    settings::config::Config,
};

/// How long engines may take to end once there is nothing left for them to do.
const ENDING_TIME: Duration = Duration::from_secs(3);

/// Running engines. They end when the queue is closed.
pub(crate) struct EnginePool {
    pub(crate) model: Model,
    pub(crate) queue: Arc<BatchQueue<Sample>>,
    /// Samples that keep all of them busy: four batches for each.
    pub(crate) room: u32,
    pub(crate) engines: usize,
    /// What each engine is doing.
    pub(crate) pulses: Vec<Arc<Pulse>>,
    running: Running,
}

/// The engines' threads.
#[derive(Default)]
pub(crate) struct Running(Vec<JoinHandle<()>>);

impl EnginePool {
    /// Loads the model and starts the engines' threads; returns when all are warm.
    pub(crate) fn start(config: &Config) -> Result<Self, NodeError> {
        let (model, engines) = load(config)?;
        let lengths = model.workload.as_ref().and_then(|workload| workload.lengths());
        let mut rules = config.batching.rules(lengths == Some(Lengths::Padded));
        if let Some(workload) = &model.workload {
            rules.buckets = workload.length_steps(&rules.buckets);
        }
        let queue = Arc::new(BatchQueue::new(rules, Clock::default()));
        let room = config.batching.max_batch * engines.len().max(1) * 4;
        let (warm, warmed) = mpsc::channel();
        let turn = Arc::new(Mutex::new(()));
        let mut pool = Self {
            model,
            queue: queue.clone(),
            room: u32::try_from(room).unwrap_or(u32::MAX),
            engines: engines.len(),
            pulses: engines.iter().map(|_| Arc::default()).collect(),
            running: Running::default(),
        };
        for (number, engine) in engines.into_iter().enumerate() {
            let (queue, encoding) = (queue.clone(), config.response_encoding);
            let (warm, turn) = (warm.clone(), turn.clone());
            let pulse = pool.pulses[number].clone();
            let thread = thread::Builder::new().name(format!("engine-{number}")).spawn(move || {
                if let Some(engine) = warm_up(engine, &turn, warm) {
                    EngineThread::new(engine, queue, encoding, pulse).run();
                }
            });
            match thread {
                Ok(thread) => pool.running.0.push(thread),
                Err(error) => {
                    pool.end();
                    return Err(error.into());
                }
            }
        }
        drop(warm);
        // All of them, before anything ends.
        let outcomes: Vec<_> = warmed.into_iter().collect();
        match outcomes.into_iter().find_map(Result::err) {
            None => Ok(pool),
            Some(error) => {
                pool.end();
                Err(error.into())
            }
        }
    }

    /// To be waited for once the queue is closed.
    pub(crate) fn split(self) -> (Model, Arc<BatchQueue<Sample>>, u32, Running) {
        (self.model, self.queue, self.room, self.running)
    }

    /// Lets the engines finish what is queued and waits for their threads.
    pub(crate) fn end(&mut self) {
        self.queue.close();
        std::mem::take(&mut self.running).wait();
    }
}

impl Running {
    /// Waits for the threads, as a process must not end while one of them is inside a library, but only for a while: an
    /// engine that hangs must not keep the node from ending.
    pub(crate) fn wait(self) {
        let deadline = Instant::now() + ENDING_TIME;
        while !self.0.iter().all(JoinHandle::is_finished) {
            if Instant::now() > deadline {
                return warn!("an engine does not end");
            }
            thread::sleep(Duration::from_millis(1));
        }
        for thread in self.0 {
            // Not done before what the thread keeps for itself is gone. Engines catch their panics.
            let _ = thread.join();
        }
    }
}

/// What a thread does once must be done on that thread: libraries keep handles and plans for each. The sender is gone
/// afterwards: the receiver waits for all of them.
///
/// One after the other: they share devices and their memory.
fn warm_up(
    mut engine: EngineKind,
    turn: &Mutex<()>,
    warm: Sender<Result<(), EngineError>>,
) -> Option<EngineKind> {
    let outcome = {
        let _turn = turn.lock();
        catch_unwind(AssertUnwindSafe(|| engine.warm_up())).unwrap_or_else(|panic| {
            Err(EngineError::Failed(format!("panic: {}", panic_text(panic.as_ref()))))
        })
    };
    let is_warm = outcome.is_ok();
    // Nobody listens any more when another engine has failed.
    let _ = warm.send(outcome);
    is_warm.then_some(engine)
}
