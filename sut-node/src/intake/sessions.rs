//! Counts the samples of each client, so that a flush can wait for the last one: a flush is a call of its own and may
//! overtake samples.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use netdiv_contract::SessionHeader;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::intake::digests::Digests;

/// Sessions with digests at the same time: a tally may need 100 MB.
const MOST_WITH_DIGESTS: usize = 4;

/// A client's samples over all its streams.
#[derive(Debug, Default)]
pub(crate) struct Session {
    received: AtomicU64,
    /// Samples up to this one belong to a series that was flushed: they do not wait for others.
    flushed: AtomicU64,
    more: Notify,
    /// Where the client asked for them.
    digests: Option<Arc<Digests>>,
}

impl Session {
    /// The digests of what was received and sent, where they are kept.
    pub(crate) fn digests(&self) -> Option<&Arc<Digests>> {
        self.digests.as_ref()
    }

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

/// The sessions of all clients.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

impl Sessions {
    /// The session of that name; it lives while it is referenced. An error when too many sessions keep digests.
    pub(crate) fn join(&self, header: &SessionHeader) -> Result<Arc<Session>, String> {
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| Arc::strong_count(session) > 1);
        if let Some(session) = sessions.get(&header.name) {
            return Ok(session.clone());
        }
        let with_digests = sessions.values().filter(|session| session.digests.is_some()).count();
        if header.digests && with_digests >= MOST_WITH_DIGESTS {
            return Err(format!("{MOST_WITH_DIGESTS} sessions with digests are open; end one"));
        }
        let digests = header.digests.then(Arc::default);
        let session = Arc::new(Session { digests, ..Session::default() });
        sessions.insert(header.name.clone(), session.clone());
        Ok(session)
    }

    /// The session of that name, if a stream of it is open or still has replies to come.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Session>> {
        self.0.lock().get(name).filter(|session| Arc::strong_count(session) > 1).cloned()
    }
}
