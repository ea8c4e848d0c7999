//! Engines that answer each sample in a task, on a thread of their own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle},
    sync::{Notify, oneshot},
    task::JoinSet,
    time::timeout,
};

use crate::{
    engine::{error::EngineError, interface::StreamingEngine, sink::Sink},
    model::payload::Payload,
};

/// Longest step, so that the node's watchdog sees that the engine's thread lives.
const STEP: Duration = Duration::from_millis(50);

/// Longer than anything that could be waited for.
const FAR_AHEAD: Duration = Duration::from_secs(3600);

/// How a sample is answered.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Answers it. It is no longer under way once its place is dropped.
    fn answer(&self, payload: Payload, sink: Sink, place: Place)
    -> impl Future<Output = ()> + Send;
}

/// Such an engine.
pub(crate) struct Tasks<A> {
    /// Of the thread that drives them.
    runtime: Handle,
    /// That thread ends once this is dropped.
    _stop: oneshot::Sender<()>,
    tasks: JoinSet<()>,
    places: Arc<Places>,
    most: usize,
    how: Arc<A>,
}

/// How many samples are under way.
#[derive(Default)]
struct Places {
    taken: AtomicUsize,
    freed: Notify,
}

/// The place of a sample.
pub(crate) struct Place(Arc<Places>);

impl Place {
    fn take(places: &Arc<Places>) -> Self {
        places.taken.fetch_add(1, Ordering::SeqCst);
        Self(places.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
        self.0.freed.notify_one();
    }
}

impl<A: Answer> Tasks<A> {
    /// With room for so many samples; what they share is made on its thread's runtime.
    pub(crate) fn new(name: &str, most: usize, how: impl FnOnce() -> A) -> io::Result<Self> {
        let driven = Builder::new_current_thread().thread_name(name).enable_all().build()?;
        let runtime = driven.handle().clone();
        let how = {
            let _runtime = runtime.enter();
            Arc::new(how())
        };
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ = driven.block_on(stopped);
            // A name that is being looked up must not keep the node from ending.
            driven.shutdown_background();
        })?;
        let (tasks, places) = (JoinSet::new(), Arc::default());
        Ok(Self { runtime, _stop: stop, tasks, places, most, how })
    }

    /// Forgets tasks that have ended.
    fn tidy(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }
}

impl<A: Answer> StreamingEngine for Tasks<A> {
    fn under_way(&self) -> usize {
        self.places.taken.load(Ordering::SeqCst)
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.under_way())
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        self.tidy();
        for (payload, sink) in samples {
            let (how, place) = (self.how.clone(), Place::take(&self.places));
            let answer = async move { how.answer(payload, sink, place).await };
            self.tasks.spawn_on(answer, &self.runtime);
        }
        Ok(())
    }

    fn idle_until(&self) -> Option<Instant> {
        Some(Instant::now() + FAR_AHEAD)
    }

    fn step(&mut self) -> Result<(), EngineError> {
        self.tidy();
        // It is no matter whether a task has ended or the step is over.
        let _ = self.runtime.block_on(async { timeout(STEP, self.places.freed.notified()).await });
        Ok(())
    }

    fn drop_all(&mut self) {
        self.tasks.abort_all();
    }
}
