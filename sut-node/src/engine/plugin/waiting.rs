//! A thread that waits for an instance's batches, so that the engine's own thread can begin others meanwhile.

use std::{
    io,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use netdiv_plugin::{Begun, Waiter};

use crate::engine::interface::Done;

/// Batches that can be asked for ahead. Of more the engine's thread waits for itself.
const AHEAD: usize = 2;

pub(super) struct Waiting {
    /// `None` when it is to end.
    asked: Option<SyncSender<(Begun, Done)>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    pub(super) fn start(waiter: Waiter) -> io::Result<Self> {
        let (asked, asks) = sync_channel::<(Begun, Done)>(AHEAD);
        let thread = thread::Builder::new().name("waiter".into()).spawn(move || {
            for (batch, done) in asks {
                waiter.wait(batch);
                done();
            }
        })?;
        Ok(Self { asked: Some(asked), thread: Some(thread) })
    }

    /// Has that called once the batch is done; false when it does not.
    pub(super) fn ask(&self, batch: Begun, done: Done) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.try_send((batch, done)).is_ok())
    }
}

impl Drop for Waiting {
    /// The process must not end while a thread is inside a library.
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}
