//! Connections to a node, over both transports together.
//!
//! Each connection is *pending* from its first packet on. It becomes a *client* when one of its
//! calls is admitted. If the node requires a token, only calls with the token are admitted. Clients
//! hold permits, up to `--max-connections`, and keep them until they disconnect. Pending
//! connections share a separate pool. When it is full, a pending connection is closed to make room
//! for a new one (`pending.rs`). So no peer can keep other peers out.

use std::{
    future::{Future, pending},
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use netdiv_contract::limits::MAX_STREAMS_PER_CONNECTION;
use netdiv_node_common::{resources::descriptors, words::count};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tonic::Status;
use tracing::warn;

use crate::{
    pending::{PendingConnections, PendingKey},
    security::{ServerToken, Token},
};

/// Maximum number of pending connections: half of the 1,024 files that a process may have open by
/// default.
const MAX_PENDING: usize = 512;

/// Minimum size of the pool of pending connections, if the limit of open files is low.
const MIN_PENDING: usize = 16;

/// Number of files that a node may have open in addition to its connections: libraries, devices,
/// metrics, and files that it reads meanwhile.
const OTHER_FILES: usize = 128;

/// Number of pending connections that are closed together when no file can be opened any more: not
/// every freed file is used for a new connection.
const ROOM: usize = 8;

/// Maximum number of concurrent calls on a pending connection, and maximum number of its calls that
/// may be refused in total.
pub(crate) const STRANGER_CALLS: usize = 8;

/// Maximum age of a pending connection while many connections are pending. A client opens
/// connections to all nodes before it uses them, and another node may be slow to start. While few
/// connections are pending, each may wait longer.
const FIRST_CALL: Duration = Duration::from_secs(10);

/// Maximum number of bytes that a node reads from a pending connection at once. The beginning of a
/// call is far shorter, and all pending connections together fill 64 MiB.
pub(crate) const STRANGER_BYTES: usize = 128 << 10;

/// Permit for one stream of samples on a connection. Dropping it releases the permit.
pub(crate) type StreamPermit = OwnedSemaphorePermit;

/// Connections to a node, with their limits. Clones share the same connections.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most_clients: usize,
    most_strangers: usize,
    first_call: Duration,
    changed: fn(usize),
    peers: Mutex<Peers>,
}

/// Number of clients, and the pending connections.
#[derive(Debug, Default)]
struct Peers {
    clients: usize,
    strangers: PendingConnections<watch::Sender<Admission>>,
}

/// State of a connection: pending, client, or closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Pending,
    Client,
    /// Pending connection that has to close, with the reason.
    Closing(&'static str),
}

/// Connection of a peer to the node, from its first packet on. Dropping this value frees the permit
/// of a client, or removes a pending connection from its pool.
#[derive(Debug)]
pub(crate) struct PeerConnection {
    connections: Connections,
    /// Key of this connection among the pending connections.
    place: PendingKey,
    standing: watch::Sender<Admission>,
    streams: Arc<Semaphore>,
    /// Number of this connection's calls that were refused.
    refused: AtomicUsize,
    /// Token that a call of this connection has presented, if the node requires one.
    token: OnceLock<Token>,
}

impl Connections {
    /// Creates an empty list of connections, which accepts at most `most_clients` clients. The
    /// limit of open files determines how many pending connections it accepts in addition. Calls
    /// `changed` with the number of clients each time this number changes.
    pub fn new(most_clients: usize, changed: fn(usize)) -> Self {
        let (open_files, needed) = (descriptors::limit(), Self::files(most_clients));
        if open_files < needed as u64 {
            warn!(
                open_files,
                needed,
                max_connections = most_clients,
                "this process may open too few files for its connections; raise the hard limit (ulimit -Hn, LimitNOFILE), \
                 or lower --max-connections"
            );
        }
        let lacking = (needed as u64).saturating_sub(open_files);
        let strangers = MAX_PENDING.saturating_sub(usize::try_from(lacking).unwrap_or(usize::MAX));
        Self::with_strangers(most_clients, strangers.max(MIN_PENDING), FIRST_CALL, changed)
    }

    /// Returns the maximum number of files that a node with `most_clients` clients has open: the
    /// connections of clients, pending connections, and the node's own files.
    pub fn files(most_clients: usize) -> usize {
        most_clients.saturating_add(MAX_PENDING + OTHER_FILES)
    }

    /// Like [`Self::files`], but with the minimum number of pending connections.
    pub fn files_without_strangers(most_clients: usize) -> usize {
        most_clients.saturating_add(MIN_PENDING + OTHER_FILES)
    }

    /// Like [`Self::new`], but with other limits for pending connections.
    pub(crate) fn with_strangers(
        most_clients: usize,
        most_strangers: usize,
        first_call: Duration,
        changed: fn(usize),
    ) -> Self {
        let peers = Mutex::default();
        Self(Arc::new(Shared { most_clients, most_strangers, first_call, changed, peers }))
    }

    /// Adds a pending connection from this address. If the pool is full, another pending connection
    /// is closed to make room.
    pub(crate) fn arrive(&self, address: IpAddr) -> Arc<PeerConnection> {
        let (standing, now) = (watch::Sender::new(Admission::Pending), Instant::now());
        let strangers = &mut self.0.peers.lock().strangers;
        if strangers.len() >= self.0.most_strangers
            && let Some(leaving) = strangers.make_room(Some(address), now)
        {
            leaving.send_replace(Admission::Closing(MADE_ROOM));
        }
        let place = strangers.add(address, now, standing.clone());
        let streams = Arc::new(Semaphore::new(MAX_STREAMS_PER_CONNECTION as usize));
        let (connections, refused, token) = (self.clone(), AtomicUsize::new(0), OnceLock::new());
        Arc::new(PeerConnection { connections, place, standing, streams, refused, token })
    }

    /// Closes some pending connections, because no file can be opened any more. Returns false if no
    /// connection is pending.
    pub(crate) fn make_room(&self) -> bool {
        let strangers = &mut self.0.peers.lock().strangers;
        let leave = |_| strangers.make_room(None, Instant::now());
        let leaving: Vec<_> = (0..ROOM).map_while(leave).collect();
        for stranger in &leaving {
            stranger.send_replace(Admission::Closing(MADE_ROOM));
        }
        !leaving.is_empty()
    }

    /// Returns true if pending connections fill more than half of their pool, so that each may stay
    /// for a limited time only.
    fn are_crowded(&self) -> bool {
        self.0.peers.lock().strangers.len() * 2 > self.0.most_strangers
    }

    /// Returns true if pending connections fill a quarter of their pool, so that a peer must prove
    /// its address, if the transport can ask for a proof.
    pub(crate) fn are_many(&self) -> bool {
        self.0.peers.lock().strangers.len() * 4 >= self.0.most_strangers
    }
}

impl PeerConnection {
    /// Checks the token of a call. A token that was accepted once stays valid on this connection,
    /// so changing a node's token does not fail the runs in progress.
    pub(crate) fn check_token(&self, required: &ServerToken, shown: &str) -> Result<(), Status> {
        if self.token.get().is_some_and(|token| token.is(shown)) {
            return Ok(());
        }
        let token = required.check(shown)?;
        // Another call may have been faster.
        let _ = self.token.set(token);
        Ok(())
    }

    /// Admits a call of this connection; the first admitted call makes the connection a client.
    /// Fails if the call is not admitted; the error is the answer to the call.
    pub(crate) fn admit(&self) -> Result<(), Status> {
        if *self.standing.borrow() == Admission::Client {
            return Ok(());
        }
        let Shared { most_clients, changed, peers, .. } = &*self.connections.0;
        let mut peers = peers.lock();
        // Another call or a new connection may have been faster.
        let standing = *self.standing.borrow();
        match standing {
            Admission::Client => return Ok(()),
            Admission::Closing(why) => return Err(Status::unavailable(why)),
            Admission::Pending => {}
        }
        if peers.clients >= *most_clients {
            return Err(Status::resource_exhausted(format!(
                "the node has {} and accepts no more (--max-connections)",
                count(*most_clients, "connection")
            )));
        }
        peers.clients += 1;
        changed(peers.clients);
        peers.strangers.remove(self.place);
        self.standing.send_replace(Admission::Client);
        Ok(())
    }

    /// Counts a refused call. A pending connection with more than [`STRANGER_CALLS`] refused calls
    /// has to close.
    pub(crate) fn count_refusal(&self) {
        let before = self.refused.fetch_add(1, Ordering::Relaxed);
        if before >= STRANGER_CALLS {
            let _present = self.connections.0.peers.lock();
            self.standing.send_if_modified(|standing| {
                let is_stranger = *standing == Admission::Pending;
                if is_stranger {
                    *standing = Admission::Closing(TOO_MANY);
                }
                is_stranger
            });
        }
    }

    /// Returns a future that completes once this connection is a client. Its error is the reason
    /// why the connection has to close.
    pub(crate) fn admission(
        &self,
    ) -> impl Future<Output = Result<(), &'static str>> + Send + use<> {
        let (connections, mut standing) = (self.connections.clone(), self.standing.subscribe());
        async move {
            loop {
                let no_stranger = standing.wait_for(|standing| *standing != Admission::Pending);
                let judged = timeout(connections.0.first_call, no_stranger).await;
                match judged.map(|standing| standing.map(|standing| *standing)) {
                    Ok(Ok(Admission::Closing(why))) => return Err(why),
                    Ok(Ok(_)) => return Ok(()),
                    // The connection is gone.
                    Ok(Err(_)) => pending().await,
                    Err(_) if connections.are_crowded() => return Err(TOO_LONG),
                    Err(_) => {}
                }
            }
        }
    }

    /// Returns a permit for a stream of samples on this connection. Fails if the connection has the
    /// maximum number of streams.
    pub(crate) fn stream(&self) -> Result<StreamPermit, Status> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "this connection has {MAX_STREAMS_PER_CONNECTION} streams of samples, and the node accepts no more on one \
                 connection; use fewer --streams, or more --connections"
            ))
        })
    }
}

impl Drop for PeerConnection {
    fn drop(&mut self) {
        let Shared { changed, peers, .. } = &*self.connections.0;
        let mut peers = peers.lock();
        if *self.standing.borrow() == Admission::Client {
            peers.clients -= 1;
            changed(peers.clients);
        } else {
            peers.strangers.remove(self.place);
        }
    }
}

const MADE_ROOM: &str = "it had no admitted call yet, and made room for a new connection";
const TOO_MANY: &str = "it had no admitted call, and made more calls than a pending connection may";
const TOO_LONG: &str = "it had no admitted call in time, and many other connections are pending";

#[cfg(test)]
mod tests;
