//! A thread that waits for an instance's batches, so that the engine's thread can begin other
//! batches meanwhile.

use std::{
    io,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use netdiv_plugin::{BatchHandle, Waiter};

use crate::engine::interface::DoneCallback;

/// Maximum number of batches in the queue of the waiting thread. If the queue is full, the engine's
/// thread waits itself.
const AHEAD: usize = 2;

pub(super) struct BatchWaiter {
    /// Queue of batches to wait for; `None` once the thread is to end.
    asked: Option<SyncSender<(BatchHandle, DoneCallback)>>,
    thread: Option<JoinHandle<()>>,
}

impl BatchWaiter {
    pub(super) fn start(waiter: Waiter) -> io::Result<Self> {
        let (asked, asks) = sync_channel::<(BatchHandle, DoneCallback)>(AHEAD);
        let thread = thread::Builder::new().name("waiter".into()).spawn(move || {
            for (batch, done) in asks {
                waiter.wait(batch);
                done();
            }
        })?;
        Ok(Self { asked: Some(asked), thread: Some(thread) })
    }

    /// Lets the thread call `done` once the batch is done. Returns false if the thread's queue is
    /// full.
    pub(super) fn ask(&self, batch: BatchHandle, done: DoneCallback) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.try_send((batch, done)).is_ok())
    }
}

impl Drop for BatchWaiter {
    /// Joins the thread: the process must not end while a thread is inside a library.
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
