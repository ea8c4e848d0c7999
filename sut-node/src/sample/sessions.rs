//! Sessions: they count the samples of each client, so that a flush can wait for the last sample.
//! With a flush, a client states that a series of samples is complete, so that the batcher need not
//! wait for more. A flush is a separate call, and may overtake samples and even the opening of
//! their stream.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use netdiv_contract::SessionHeader;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::timeout};

use crate::sample::digests::Digests;

/// Maximum number of sessions with digests at the same time: a tally may need 100 MB.
const MOST_WITH_DIGESTS: usize = 4;

/// Maximum time that a flush waits until its session is opened.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// Session of a client: counts its samples over all its streams.
#[derive(Debug, Default)]
pub(crate) struct Session {
    received: AtomicU64,
    /// Number of samples that the client had sent at its last flush. These samples do not wait for
    /// other samples to fill up a batch.
    flushed: AtomicU64,
    more: Notify,
    /// Digests of samples and responses, if the client requested them.
    pub(crate) digests: Option<Arc<Digests>>,
    /// Maximum number of tokens of an output that the client takes; 0: no limit.
    pub(crate) max_output_tokens: u32,
    /// Set once a sample has failed.
    pub(crate) has_failed: Arc<AtomicBool>,
}

impl Session {
    /// Counts samples that were read.
    pub(crate) fn record_received(&self, samples: u64) {
        self.received.fetch_add(samples, Ordering::SeqCst);
        self.more.notify_waiters();
    }

    /// True if a flush has arrived for the samples that were read last.
    pub(crate) fn is_flushed(&self) -> bool {
        self.received.load(Ordering::SeqCst) <= self.flushed.load(Ordering::SeqCst)
    }

    /// Records that the client has sent `samples` samples since the start of its session. Waits
    /// until they have arrived, and returns the number of received samples.
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

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    more: Notify,
}

impl Sessions {
    /// Returns the session that the header names, and creates it if it does not exist. A session
    /// lives while it is referenced. Fails if too many sessions keep digests.
    pub(crate) fn join(&self, header: &SessionHeader) -> Result<Arc<Session>, String> {
        let mut sessions = self.open.lock();
        sessions.retain(|_, session| Arc::strong_count(session) > 1);
        if let Some(session) = sessions.get(&header.name) {
            return Ok(session.clone());
        }
        let with_digests = sessions.values().filter(|session| session.digests.is_some()).count();
        if header.digests && with_digests >= MOST_WITH_DIGESTS {
            return Err(format!("{MOST_WITH_DIGESTS} sessions with digests are open; end one"));
        }
        let digests = header.digests.then(Arc::default);
        let max_output_tokens = header.max_output_tokens;
        let session = Arc::new(Session { digests, max_output_tokens, ..Session::default() });
        sessions.insert(header.name.clone(), session.clone());
        self.more.notify_waiters();
        Ok(session)
    }

    /// Returns the session of that name, if a stream of it is open or still has pending replies.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Session>> {
        self.open.lock().get(name).filter(|session| Arc::strong_count(session) > 1).cloned()
    }

    /// Like [`Self::find`], but waits: a flush may arrive before the stream of its session.
    pub(crate) async fn find_soon(&self, name: &str) -> Option<Arc<Session>> {
        let found = async {
            loop {
                let more = self.more.notified();
                if let Some(session) = self.find(name) {
                    return session;
                }
                more.await;
            }
        };
        timeout(FLUSH_WAIT, found).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flush_may_come_before_the_streams_that_it_is_for() {
        let sessions = Arc::new(Sessions::default());
        let flushing = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.find_soon("ours").await.expect("it is found").flush(1).await }
        });
        tokio::task::yield_now().await;
        let header = |name: &str| SessionHeader { name: name.into(), ..SessionHeader::default() };
        let _other = sessions.join(&header("other")).unwrap();
        tokio::task::yield_now().await;
        let ours = sessions.join(&header("ours")).unwrap();
        ours.record_received(1);
        assert_eq!(flushing.await.unwrap(), 1);
    }
}
