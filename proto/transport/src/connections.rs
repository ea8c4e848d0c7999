//! Who is connected to a node, over both transports together.
//!
//! Whoever connects is a *stranger*, from the first packet on. A stranger becomes a *client* when a call of it is let in: one
//! with the token, where there is a token. Clients have places, up to `--max-connections`, and keep them until they go.
//! Strangers share a pool of their own, in which one makes room for a newcomer (`strangers.rs`), so that none of them keeps
//! anybody out.

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
use netdiv_node_common::resources::descriptors;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tonic::Status;
use tracing::warn;

use crate::{
    security::{ServerToken, Token},
    strangers::{Place, Strangers},
};

/// Strangers at the same time: half of the 1,024 files that a process may have open by default.
const STRANGERS: usize = 512;

/// The same where only few files may be open.
const FEWEST_STRANGERS: usize = 16;

/// Files that a node has open besides its connections: libraries, devices, metrics, and what it reads meanwhile.
const OTHER_FILES: usize = 128;

/// Strangers that make room together when no file can be opened any more: some files are for others than a newcomer.
const ROOM: usize = 8;

/// Calls of a stranger at the same time, and those that it may make in all.
pub(crate) const STRANGER_CALLS: usize = 8;

/// How long a stranger may stay, once many are there. A client opens connections to all nodes before it uses them, and another
/// node may be slow to start; as long as few are there, it may wait.
const FIRST_CALL: Duration = Duration::from_secs(10);

/// What a node reads of a stranger at once, in bytes: a call begins with far less, and all strangers together fill 64 MiB.
pub(crate) const STRANGER_BYTES: usize = 128 << 10;

/// A stream of samples of a connection; its place is free when this is dropped.
pub(crate) type StreamPlace = OwnedSemaphorePermit;

/// The connections of a node. Clones are the same connections.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most_clients: usize,
    most_strangers: usize,
    first_call: Duration,
    changed: fn(usize),
    present: Mutex<Present>,
}

#[derive(Debug, Default)]
struct Present {
    clients: usize,
    strangers: Strangers<watch::Sender<Standing>>,
}

/// What a connection is to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Stranger,
    Client,
    /// A stranger that has to go, for this reason.
    Leaving(&'static str),
}

/// A connection, from its beginning; it has gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    connections: Connections,
    /// Among the strangers.
    place: Place,
    standing: watch::Sender<Standing>,
    streams: Arc<Semaphore>,
    /// Calls that were not let in.
    refused: AtomicUsize,
    /// What it has shown, where the node asks for a token.
    token: OnceLock<Token>,
}

impl Connections {
    /// Takes that many clients, and as many strangers beside them as this process may have files open for. `changed` is told
    /// the number of clients each time it changes.
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
        let strangers = STRANGERS.saturating_sub(usize::try_from(lacking).unwrap_or(usize::MAX));
        Self::with_strangers(most_clients, strangers.max(FEWEST_STRANGERS), FIRST_CALL, changed)
    }

    /// Files that a node with so many clients may have open: theirs, those of strangers, and its own.
    pub fn files(most_clients: usize) -> usize {
        most_clients.saturating_add(STRANGERS + OTHER_FILES)
    }

    /// The same with as few strangers as can be.
    pub fn files_without_strangers(most_clients: usize) -> usize {
        most_clients.saturating_add(FEWEST_STRANGERS + OTHER_FILES)
    }

    /// The same with other limits for strangers.
    pub(crate) fn with_strangers(
        most_clients: usize,
        most_strangers: usize,
        first_call: Duration,
        changed: fn(usize),
    ) -> Self {
        let present = Mutex::default();
        Self(Arc::new(Shared { most_clients, most_strangers, first_call, changed, present }))
    }

    /// A connection from that address has begun. A stranger makes room for it where there are too many.
    pub(crate) fn arrive(&self, address: IpAddr) -> Arc<Guest> {
        let (standing, now) = (watch::Sender::new(Standing::Stranger), Instant::now());
        let strangers = &mut self.0.present.lock().strangers;
        if strangers.len() >= self.0.most_strangers
            && let Some(leaving) = strangers.make_room(Some(address), now)
        {
            leaving.send_replace(Standing::Leaving(MADE_ROOM));
        }
        let place = strangers.add(address, now, standing.clone());
        let streams = Arc::new(Semaphore::new(MAX_STREAMS_PER_CONNECTION as usize));
        let (connections, refused, token) = (self.clone(), AtomicUsize::new(0), OnceLock::new());
        Arc::new(Guest { connections, place, standing, streams, refused, token })
    }

    /// Some strangers make room because no file can be opened any more; false if there are none.
    pub(crate) fn make_room(&self) -> bool {
        let strangers = &mut self.0.present.lock().strangers;
        let leave = |_| strangers.make_room(None, Instant::now());
        let leaving: Vec<_> = (0..ROOM).map_while(leave).collect();
        for stranger in &leaving {
            stranger.send_replace(Standing::Leaving(MADE_ROOM));
        }
        !leaving.is_empty()
    }

    /// Whether strangers are so many that none may stay for longer than it needs.
    fn are_crowded(&self) -> bool {
        self.0.present.lock().strangers.len() * 2 > self.0.most_strangers
    }

    /// Whether strangers are so many that one must prove its address, where the transport can ask for that.
    pub(crate) fn are_many(&self) -> bool {
        self.0.present.lock().strangers.len() * 4 >= self.0.most_strangers
    }
}

impl Guest {
    /// Checks the token of a call. One that was right once stays right on this connection, so that a node whose token is
    /// changed does not fail the runs that are under way.
    pub(crate) fn check_token(&self, required: &ServerToken, shown: &str) -> Result<(), Status> {
        if self.token.get().is_some_and(|token| token.is(shown)) {
            return Ok(());
        }
        let token = required.check(shown)?;
        // Another call may have been faster.
        let _ = self.token.set(token);
        Ok(())
    }

    /// A call of this connection may be answered: the first one makes it a client. The error is the answer to the call
    /// otherwise.
    pub(crate) fn let_in(&self) -> Result<(), Status> {
        if *self.standing.borrow() == Standing::Client {
            return Ok(());
        }
        let Shared { most_clients, changed, present, .. } = &*self.connections.0;
        let mut present = present.lock();
        // Another call may have been faster, and so may a newcomer.
        let standing = *self.standing.borrow();
        match standing {
            Standing::Client => return Ok(()),
            Standing::Leaving(why) => return Err(Status::unavailable(why)),
            Standing::Stranger => {}
        }
        if present.clients >= *most_clients {
            return Err(Status::resource_exhausted(format!(
                "the node has {most_clients} connections and takes no more (--max-connections)"
            )));
        }
        present.clients += 1;
        changed(present.clients);
        present.strangers.remove(self.place);
        self.standing.send_replace(Standing::Client);
        Ok(())
    }

    /// A call of this connection was not let in. A stranger has to go when it makes more of them than it may.
    pub(crate) fn refused(&self) {
        let before = self.refused.fetch_add(1, Ordering::Relaxed);
        if before >= STRANGER_CALLS {
            let _present = self.connections.0.present.lock();
            self.standing.send_if_modified(|standing| {
                let is_stranger = *standing == Standing::Stranger;
                if is_stranger {
                    *standing = Standing::Leaving(TOO_MANY);
                }
                is_stranger
            });
        }
    }

    /// Completes when this is a client, or with the reason why it has to go.
    pub(crate) fn judged(&self) -> impl Future<Output = Result<(), &'static str>> + Send + use<> {
        let (connections, mut standing) = (self.connections.clone(), self.standing.subscribe());
        async move {
            loop {
                let no_stranger = standing.wait_for(|standing| *standing != Standing::Stranger);
                let judged = timeout(connections.0.first_call, no_stranger).await;
                match judged.map(|standing| standing.map(|standing| *standing)) {
                    Ok(Ok(Standing::Leaving(why))) => return Err(why),
                    Ok(Ok(_)) => return Ok(()),
                    // The connection has gone.
                    Ok(Err(_)) => pending().await,
                    Err(_) if connections.are_crowded() => return Err(TOO_LONG),
                    Err(_) => {}
                }
            }
        }
    }

    /// Takes a place for a stream of samples.
    pub(crate) fn stream(&self) -> Result<StreamPlace, Status> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "this connection has {MAX_STREAMS_PER_CONNECTION} streams of samples, and the node takes no more of one \
                 connection; use fewer --streams, or more --connections"
            ))
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let Shared { changed, present, .. } = &*self.connections.0;
        let mut present = present.lock();
        if *self.standing.borrow() == Standing::Client {
            present.clients -= 1;
            changed(present.clients);
        } else {
            present.strangers.remove(self.place);
        }
    }
}

const MADE_ROOM: &str = "no call of it was let in yet, and it made room for a newcomer";
const TOO_MANY: &str = "no call of it was let in, and it made more than a stranger may";
const TOO_LONG: &str = "no call of it was let in in time, and many others are there";

#[cfg(test)]
mod tests;
