//! Measures the network to another node: within a window of time, sends as many messages as the
//! other node accepts, and counts its answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use netdiv_contract::{
    PROTOCOL_VERSION, is_name,
    limits::{self, MAX_PAYLOAD_BYTES},
    probe::{self, StreamCounts},
    v1::{DescribeRequest, MeasureRequest, MeasureResponse},
};
use netdiv_node_common::{
    resources::processor::{busiest, threads},
    sanitise::sanitise,
};
use netdiv_transport::{Connection, OpenError, Options, Transport};
use parking_lot::Mutex;
use tokio::{
    spawn,
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};
use tonic::{Code, Status};
use tracing::warn;

use crate::{fabric::feed::feed, settings::fabric::Peers};

/// Numbers of connections that a measurement may use.
const CONNECTIONS: std::ops::RangeInclusive<u32> = 1..=limits::MEASURE_CONNECTIONS;

/// Time limit for opening all connections.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// Interval of checks for an answer to each stream's messages in flight.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Measures the network to the nodes that this one may dial.
pub(crate) struct Fabric {
    peers: Peers,
    /// Set if threads poll: they are then always busy.
    busy_poll: bool,
    /// Permit for a measurement. Only one measurement runs at a time, because two would share this
    /// node's link.
    turn: Semaphore,
}

impl Fabric {
    pub(crate) fn new(peers: Peers, busy_poll: bool) -> Self {
        Self { peers, busy_poll, turn: Semaphore::new(1) }
    }

    /// Runs the requested measurement.
    pub(crate) async fn measure(&self, asked: MeasureRequest) -> Result<MeasureResponse, Status> {
        let _turn = self.turn.try_acquire().map_err(|_| {
            Status::resource_exhausted("another measurement is under way at this node; wait for it")
        })?;
        check(&asked)?;
        self.check_peer(&asked.peer).await?;
        let transport = if asked.quic { Transport::Quic } else { Transport::Grpc };
        let options = self.peers.options(transport);
        let opened = timeout(OPEN_TIMEOUT, open_all(&asked, &options)).await;
        let silent = |_| {
            let text =
                format!("{} does not answer within {} s", asked.peer, OPEN_TIMEOUT.as_secs());
            Status::unavailable(text)
        };
        let (peer_name, connections) = opened.map_err(silent)??;
        let measured = match asked.duration_ns {
            0 => Ok(MeasureResponse::default()),
            _ => self.window(&connections, &asked).await,
        };
        // The caller need not wait until the connections are closed.
        connections
            .into_iter()
            .for_each(|connection| drop(spawn(async move { connection.close().await })));
        let about = |status: Status| Status::new(status.code(), refusal(&asked.peer, &status));
        Ok(MeasureResponse { peer_name, ..measured.map_err(about)? })
    }

    /// Refuses a peer that is missing in this node's `--fabric-peers`.
    async fn check_peer(&self, peer: &str) -> Result<(), Status> {
        let peers = self.peers.clone();
        // The discovery may query the DNS.
        let known = spawn_blocking(move || peers.discover()).await;
        let known = known.map_err(|error| Status::internal(error.to_string()))?;
        let known = known.map_err(|error| {
            // The error may quote a file, so it is only logged.
            warn!(%error, "no node can be dialled");
            Status::failed_precondition(
                "its --fabric-peers cannot be used; its log states the reason",
            )
        })?;
        if known.iter().any(|address| address == peer) {
            return self
                .peers
                .check(peer)
                .map_err(|error| Status::failed_precondition(error.to_string()));
        }
        let peer = sanitise(peer);
        Err(Status::failed_precondition(format!(
            "this node may not dial `{peer}`, which is not an address of its --fabric-peers; name the nodes there \
             as the LoadGen node names them"
        )))
    }

    async fn window(
        &self,
        connections: &[Connection],
        asked: &MeasureRequest,
    ) -> Result<MeasureResponse, Status> {
        let stopped = Arc::new(AtomicBool::new(false));
        let payload = probe::sample(asked.message_bytes as usize, 0);
        let (mut streams, mut counts) = (JoinSet::new(), Vec::new());
        for connection in connections {
            let begin = StreamCounts { sent: 0, answered: 0, last: Instant::now() };
            let of_stream = Arc::new(Mutex::new(begin));
            counts.push(of_stream.clone());
            streams.spawn(feed(connection.clone(), payload.clone(), of_stream, stopped.clone()));
        }
        let time = async {
            sleep(Duration::from_nanos(asked.warm_up_ns)).await;
            let duration = Duration::from_nanos(asked.duration_ns);
            // A message may take longer than the window.
            let deadline = Instant::now() + 2 * duration;
            let threads_before = threads(|_| true);
            let before = moved(&counts, deadline).await;
            sleep(duration.saturating_sub(before.time.elapsed())).await;
            let threads_after = threads(|_| true);
            let after = moved(&counts, deadline).await;
            let (window, messages) = (after.time - before.time, after.answered - before.answered);
            let busy = busiest(&threads_before, &threads_after, window);
            let all_moved = after.messages - before.messages;
            let scale = if all_moved > 0.0 { messages as f64 / all_moved } else { 1.0 };
            MeasureResponse {
                peer_name: String::new(),
                messages,
                window_ns: (window.as_nanos() as f64 * scale) as u64,
                busy: busy.filter(|_| !self.busy_poll),
            }
        };
        let measured = tokio::select! {
            measured = time => measured,
            Some(ended) = streams.join_next() => return Err(match ended {
                Ok(Ok(())) => Status::internal("a stream has ended early"),
                Ok(Err(status)) => status,
                Err(error) => Status::internal(error.to_string()),
            }),
        };
        // Messages that are still in flight would count in the next measurement.
        stopped.store(true, Ordering::Relaxed);
        let drained = async { while streams.join_next().await.is_some() {} };
        if timeout(draining(asked), drained).await.is_err() {
            warn!(peer = sanitise(&asked.peer), "messages of a measurement are still in flight");
        }
        Ok(measured)
    }
}

/// Messages of all streams at one moment.
struct Moved {
    time: Instant,
    answered: u64,
    /// Messages that had moved; one in flight counts by the share that had moved.
    messages: f64,
}

/// Reads the counts of all streams. Then waits, at most until `deadline`, until the messages in
/// flight show how much of them had moved.
async fn moved(streams: &[Arc<Mutex<StreamCounts>>], deadline: Instant) -> Moved {
    let read = || streams.iter().map(|counts| *counts.lock()).collect::<Vec<_>>();
    let counts = read();
    let time = Instant::now();
    loop {
        let later = read();
        let pairs = || counts.iter().zip(&later);
        let is_open = pairs().any(|(now, later)| now.share_moved(later, time).is_none());
        if is_open && Instant::now() < deadline {
            sleep(CHECK_INTERVAL).await;
            continue;
        }
        let messages = pairs().map(|(now, later)| {
            let share = now.share_moved(later, time).unwrap_or_default();
            now.answered as f64 + share * (later.answered - now.answered) as f64
        });
        let answered = counts.iter().map(|counts| counts.answered).sum();
        return Moved { time, answered, messages: messages.sum() };
    }
}

/// Returns the time limit for answers to messages that are in flight at the end of the window.
fn draining(asked: &MeasureRequest) -> Duration {
    Duration::from_nanos(asked.warm_up_ns.saturating_add(asked.duration_ns))
}

/// Opens all connections at the same time. Returns the other node's name, and the connections.
async fn open_all(
    asked: &MeasureRequest,
    options: &Options,
) -> Result<(String, Vec<Connection>), Status> {
    let mut opening = JoinSet::new();
    for _ in 0..asked.connections {
        let (asked, options) = (asked.clone(), options.clone());
        opening.spawn(async move {
            let connection = open(&asked.peer, &options).await?;
            // The other node reserves a connection's permit only after a call.
            Ok::<_, Status>((name_of(&connection, &asked).await?, connection))
        });
    }
    let (mut name, mut connections) = (String::new(), Vec::new());
    while let Some(opened) = opening.join_next().await {
        let opened = opened.map_err(|error| Status::internal(error.to_string()))?;
        let (peer, connection) = opened?;
        name = peer;
        connections.push(connection);
    }
    Ok((name, connections))
}

fn check(asked: &MeasureRequest) -> Result<(), Status> {
    let refused = |why: String| Err(Status::invalid_argument(why));
    if !CONNECTIONS.contains(&asked.connections) {
        let most = CONNECTIONS.end();
        return refused(format!("a measurement uses from 1 to {most} connections"));
    }
    if !(1..=MAX_PAYLOAD_BYTES as u64).contains(&asked.message_bytes) {
        return refused(format!("a message has from 1 to {MAX_PAYLOAD_BYTES} bytes"));
    }
    let longest = limits::MAX_MEASURE;
    if [asked.warm_up_ns, asked.duration_ns].iter().any(|ns| Duration::from_nanos(*ns) > longest) {
        return refused(format!("a measurement takes at most {} s", longest.as_secs()));
    }
    Ok(())
}

async fn open(peer: &str, options: &Options) -> Result<Connection, Status> {
    Connection::open(peer, options).await.map_err(|error| match &error {
        OpenError::Unreachable { .. } => Status::unavailable(error.to_string()),
        OpenError::BadAddress { .. } | OpenError::Untrusted { .. } | OpenError::Local(_) => {
            Status::failed_precondition(error.to_string())
        }
    })
}

/// Asks the other node for its name. The LoadGen node has checked that it accepts the messages.
async fn name_of(connection: &Connection, asked: &MeasureRequest) -> Result<String, Status> {
    let request =
        DescribeRequest { protocol_version: PROTOCOL_VERSION, ..DescribeRequest::default() };
    let peer = connection.describe(request).await.map_err(|status| {
        let code = match status.code() {
            // The operator has to configure a token or a certificate here, or a higher limit there.
            Code::Unauthenticated | Code::PermissionDenied | Code::ResourceExhausted => {
                Code::FailedPrecondition
            }
            code => code,
        };
        Status::new(code, refusal(&asked.peer, &status))
    })?;
    if !is_name(&peer.node_name) {
        let text = format!("{}: the peer there does not report a valid node name", asked.peer);
        return Err(Status::failed_precondition(text));
    }
    Ok(peer.node_name)
}

fn refusal(peer: &str, status: &Status) -> String {
    format!("{peer}: {}", sanitise(status.message()))
}
