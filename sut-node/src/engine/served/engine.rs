//! An instance: a task for each sample, on a thread of its own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    task::JoinSet,
    time::timeout,
};
use tracing::warn;

use crate::{
    engine::{
        error::EngineError,
        interface::StreamingEngine,
        served::{chunk::Chunks as _, exchange::Exchange, servers::Servers, wire::Answer},
        sink::Sink,
    },
    model::{payload::Payload, workload::integers},
};

/// Longest step, so that the node's watchdog sees that the engine's thread lives.
const STEP: Duration = Duration::from_millis(50);

/// Longer than anything that could be waited for.
const FAR_AHEAD: Duration = Duration::from_secs(3600);

/// Longest time for the end of an answer that has nothing more to say.
const TAIL_TIME: Duration = Duration::from_secs(1);

pub(super) struct Served {
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
    tasks: JoinSet<()>,
    slots: Arc<Slots>,
    most: usize,
    exchange: Arc<Exchange>,
    servers: Arc<Servers>,
    /// Whether it was said that a prompt was not computed in its entirety.
    said: Arc<AtomicBool>,
}

/// How many samples are under way.
#[derive(Default)]
struct Slots {
    taken: AtomicUsize,
    freed: Notify,
}

/// The place of a sample.
struct Slot(Arc<Slots>);

impl Slot {
    fn take(slots: &Arc<Slots>) -> Self {
        slots.taken.fetch_add(1, Ordering::SeqCst);
        Self(slots.clone())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::SeqCst);
        self.0.freed.notify_one();
    }
}

impl Served {
    pub(super) fn new(
        exchange: Exchange,
        servers: Arc<Servers>,
        most: usize,
        said: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).thread_name("served").enable_all().build()?;
        Ok(Self {
            runtime: Some(runtime),
            tasks: JoinSet::new(),
            slots: Arc::default(),
            most,
            exchange: Arc::new(exchange),
            servers,
            said,
        })
    }

    /// Forgets tasks that have ended.
    fn tidy(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }
}

impl StreamingEngine for Served {
    fn under_way(&self) -> usize {
        self.slots.taken.load(Ordering::SeqCst)
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.under_way())
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        self.tidy();
        let Some(runtime) = &self.runtime else { return Ok(()) };
        for (payload, sink) in samples {
            let prompt = payload.tensors().first().map(|prompt| integers(prompt).collect());
            let (exchange, servers) = (self.exchange.clone(), self.servers.clone());
            let (slot, said) = (Slot::take(&self.slots), self.said.clone());
            let prompt: Vec<_> = prompt.unwrap_or_default();
            let answer =
                async move { answer(&exchange, &servers, &prompt, sink, slot, &said).await };
            self.tasks.spawn_on(answer, runtime.handle());
        }
        Ok(())
    }

    fn idle_until(&self) -> Option<Instant> {
        Some(Instant::now() + FAR_AHEAD)
    }

    fn step(&mut self) -> Result<(), EngineError> {
        self.tidy();
        if let Some(runtime) = &self.runtime {
            // It is no matter whether a task has ended or the step is over.
            let _ = runtime.block_on(async { timeout(STEP, self.slots.freed.notified()).await });
        }
        Ok(())
    }

    fn drop_all(&mut self) {
        self.tasks.abort_all();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A name that is being looked up must not keep the node from ending.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn answer(
    exchange: &Exchange,
    servers: &Servers,
    prompt: &[i64],
    mut sink: Sink,
    slot: Slot,
    said: &AtomicBool,
) {
    match exchange.ask(|| servers.pick(), prompt, &mut sink).await {
        Err(error) => sink.last(Err(error)),
        Ok((remarks, rest)) => {
            sink.end();
            drop(slot);
            if let Some(cached @ 1..) = remarks.cached
                && !said.swap(true, Ordering::Relaxed)
            {
                let off = exchange.wire.no_caching();
                warn!(
                    cached,
                    "tokens of a prompt were not computed for it, which the division does not allow: {off}"
                );
            }
            read_up(rest).await;
        }
    }
}

/// Reads what is left of an answer, so that its connection can be used again.
async fn read_up(mut rest: Answer) {
    let _ = timeout(TAIL_TIME, async { while let Ok(Some(_)) = rest.next().await {} }).await;
}
