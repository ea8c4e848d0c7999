//! How many samples each client has sent, so that a flush can wait for the last of them: it comes on a stream
//! of its own and may overtake samples.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use crate::lock;

/// A client's samples over all its streams.
#[derive(Debug, Default)]
pub(crate) struct Session {
    received: AtomicU64,
    /// Samples up to this one belong to a series that was flushed: they wait for nobody.
    flushed: AtomicU64,
    more: Notify,
}

impl Session {
    /// Notes samples that were read.
    pub(crate) fn received(&self, samples: u64) {
        self.received.fetch_add(samples, Ordering::SeqCst);
        self.more.notify_waiters();
    }

    /// Whether a flush has come for the samples that were read last.
    pub(crate) fn is_flushed(&self) -> bool {
        self.received.load(Ordering::SeqCst) <= self.flushed.load(Ordering::SeqCst)
    }

    /// Ends a series of that many samples: waits until they have come; returns how many have.
    pub(crate) async fn flush(&self, samples: u64) -> u64 {
        self.flushed.fetch_max(samples, Ordering::SeqCst);
        loop {
            let more = self.more.notified();
            let received = self.received.load(Ordering::SeqCst);
            if received >= samples {
                return received;
            }
            more.await;
        }
    }
}

/// The sessions of the clients that are here.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    /// The session of that name. It lives while somebody holds it.
    pub(crate) fn join(&self, name: &str) -> Arc<Session> {
        let mut sessions = lock(&self.0);
        sessions.retain(|_, session| Arc::strong_count(session) > 1);
        sessions.entry(name.into()).or_default().clone()
    }

    /// The session of that name, if a stream of it is open or still has replies to come.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Session>> {
        lock(&self.0).get(name).filter(|session| Arc::strong_count(session) > 1).cloned()
    }
}
