//! Engines that answer each sample in a task, on their own thread.

use std::{
    io,
    mem::take,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{runtime::Handle, sync::mpsc, task::JoinSet};

use crate::{
    engine::{
        interface::{StreamingEngine, WaitingEngine},
        sink::Sink,
    },
    ground::{background::Background, error::EngineError},
    model::payload::Payload,
};

/// Handler of samples, which answers each separately.
pub(crate) trait SampleHandler: Send + Sync + 'static {
    /// Answers a sample. The sample is in flight until its slot is dropped.
    fn answer(
        &self,
        payload: Payload,
        sink: Sink,
        place: SlotGuard,
    ) -> impl Future<Output = ()> + Send;
}

/// An engine that answers each sample in a task, with the handler `A`.
pub(crate) struct Tasks<A> {
    /// Thread that drives the tasks.
    background: Background,
    tasks: JoinSet<()>,
    /// Number of samples in flight.
    under_way: usize,
    /// Number of ended samples that are still counted in `under_way`.
    ended: usize,
    /// Maximum number of samples in flight.
    most: usize,
    /// Channel of free slots: each slot sends a message when it is dropped.
    free: mpsc::Sender<()>,
    freed: mpsc::Receiver<()>,
    /// Handler that answers the samples.
    how: Arc<A>,
}

/// Slot of a sample in flight, which is free once the guard is dropped.
pub(crate) struct SlotGuard(mpsc::Sender<()>);

impl Drop for SlotGuard {
    fn drop(&mut self) {
        // The channel has room for all slots.
        let _ = self.0.try_send(());
    }
}

impl<A: SampleHandler> Tasks<A> {
    /// Creates an engine for at most `most` samples in flight, on a thread with this name. `how`
    /// creates the handler, within the engine's runtime.
    pub(crate) fn new(name: &str, most: usize, how: impl FnOnce() -> A) -> io::Result<Self> {
        let background = Background::start(name)?;
        let how = {
            let _in_runtime = background.handle.enter();
            Arc::new(how())
        };
        let (free, freed) = mpsc::channel(most);
        let tasks = JoinSet::new();
        Ok(Self { background, tasks, under_way: 0, ended: 0, most, free, freed, how })
    }
}

impl<A: SampleHandler> StreamingEngine for Tasks<A> {
    fn in_flight(&self) -> usize {
        self.under_way
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.under_way)
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        self.under_way += samples.len();
        for (payload, sink) in samples {
            let (how, place) = (self.how.clone(), SlotGuard(self.free.clone()));
            let answer = async move { how.answer(payload, sink, place).await };
            self.tasks.spawn_on(answer, &self.background.handle);
        }
        Ok(())
    }

    /// Removes samples that have ended from the count, and their tasks from the set.
    fn step(&mut self) -> Result<(), EngineError> {
        while self.freed.try_recv().is_ok() {
            self.ended += 1;
        }
        self.under_way -= take(&mut self.ended);
        while self.tasks.try_join_next().is_some() {}
        Ok(())
    }

    fn drop_all(&mut self) {
        self.tasks.abort_all();
    }
}

impl<A: SampleHandler> WaitingEngine for Tasks<A> {
    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.freed.poll_recv(context).map(|_| self.ended += 1)
    }

    fn runtime(&self) -> Option<Handle> {
        Some(self.background.handle.clone())
    }
}
