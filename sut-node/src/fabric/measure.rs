//! One measurement: a window in which another node gets as many messages as it takes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_contract::{
    PROTOCOL_VERSION,
    limits::MAX_PAYLOAD_BYTES,
    said::said,
    v1::{DescribeRequest, DescribeResponse, MeasureRequest, MeasureResponse},
};
use netdiv_resources::processor;
use netdiv_transport::{Connection, OpenError, Options, Transport};
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};
use tonic::{Code, Status};

use crate::{
    fabric::feed::{Answered, feed},
    settings::fabric::Peers,
};

/// Most connections of one measurement.
const MOST_CONNECTIONS: u32 = 64;

/// Longest warm-up, and longest window.
const LONGEST: Duration = Duration::from_secs(3600);

/// Measures the network to the nodes that this one may dial.
pub(crate) struct Fabric {
    peers: Peers,
    io_threads: usize,
    /// One measurement at a time: two would share this end.
    turn: Semaphore,
}

impl Fabric {
    pub(crate) fn new(peers: Peers, io_threads: usize) -> Self {
        Self { peers, io_threads, turn: Semaphore::new(1) }
    }

    /// Measures what is asked for.
    pub(crate) async fn measure(&self, asked: MeasureRequest) -> Result<MeasureResponse, Status> {
        let _turn = self.turn.try_acquire().map_err(|_| {
            Status::resource_exhausted("another measurement is under way at this node; wait for it")
        })?;
        check(&asked)?;
        self.check_peer(&asked.peer).await?;
        let transport = if asked.quic { Transport::Quic } else { Transport::Grpc };
        let options = self.peers.options(transport);
        let first = open(&asked.peer, &options).await?;
        let peer = describe(&first, &asked, options.connect_timeout).await?;
        let peer_name = peer.node_name;
        if asked.duration_ns == 0 {
            first.close().await;
            return Ok(MeasureResponse { peer_name, ..MeasureResponse::default() });
        }
        let mut connections = vec![first];
        for _ in 1..asked.connections {
            connections.push(open(&asked.peer, &options).await?);
        }
        let window = self.window(&connections, &asked).await;
        for connection in connections {
            connection.close().await;
        }
        let about = |status: Status| Status::new(status.code(), refusal(&asked.peer, &status));
        Ok(MeasureResponse { peer_name, ..window.map_err(about)? })
    }

    /// Refuses a peer that this node was not started for.
    async fn check_peer(&self, peer: &str) -> Result<(), Status> {
        let peers = self.peers.clone();
        // It may ask the DNS.
        let known = spawn_blocking(move || peers.discover()).await;
        let known = known.map_err(|error| Status::internal(error.to_string()))?;
        let known = known.map_err(|error| Status::failed_precondition(error.to_string()))?;
        if known.iter().any(|address| address == peer) {
            return Ok(());
        }
        let (peer, known) = (said(peer), known.join(", "));
        Err(Status::failed_precondition(format!(
            "this node may not dial `{peer}`; its --fabric-peers are {known}, and have to be named as the LoadGen node names them"
        )))
    }

    async fn window(
        &self,
        connections: &[Connection],
        asked: &MeasureRequest,
    ) -> Result<MeasureResponse, Status> {
        let answered = Arc::new(Mutex::new(Answered { messages: 0, last: Instant::now() }));
        let mut streams = JoinSet::new();
        for connection in connections {
            streams.spawn(feed(connection.clone(), asked.message_bytes as usize, answered.clone()));
        }
        let time = async {
            sleep(Duration::from_nanos(asked.warm_up_ns)).await;
            let (begin, spent) = (*answered.lock(), processor::time());
            let started = Instant::now();
            sleep(Duration::from_nanos(asked.duration_ns)).await;
            let (end, spent) = (*answered.lock(), processor::time().saturating_sub(spent));
            let busy = spent.as_secs_f64() / started.elapsed().as_secs_f64();
            let window = match begin.messages {
                // None before the window.
                0 => end.last.saturating_duration_since(started),
                _ => end.last - begin.last,
            };
            MeasureResponse {
                peer_name: String::new(),
                messages: end.messages - begin.messages,
                window_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
                busy: (busy / self.io_threads as f64).min(1.0),
            }
        };
        tokio::select! {
            measured = time => Ok(measured),
            Some(ended) = streams.join_next() => Err(match ended {
                Ok(Ok(never)) => match never {},
                Ok(Err(status)) => status,
                Err(error) => Status::internal(error.to_string()),
            }),
        }
    }
}

fn check(asked: &MeasureRequest) -> Result<(), Status> {
    let refused = |why: String| Err(Status::invalid_argument(why));
    if !(1..=MOST_CONNECTIONS).contains(&asked.connections) {
        return refused(format!("from 1 to {MOST_CONNECTIONS} connections can be measured with"));
    }
    if !(1..=MAX_PAYLOAD_BYTES as u64).contains(&asked.message_bytes) {
        return refused(format!("a message has from 1 to {MAX_PAYLOAD_BYTES} bytes"));
    }
    if [asked.warm_up_ns, asked.duration_ns].iter().any(|ns| u128::from(*ns) > LONGEST.as_nanos()) {
        return refused(format!("a measurement takes at most {} s", LONGEST.as_secs()));
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

/// Asks the other node who it is, and whether it takes such messages.
async fn describe(
    connection: &Connection,
    asked: &MeasureRequest,
    limit: Duration,
) -> Result<DescribeResponse, Status> {
    let request =
        DescribeRequest { protocol_version: PROTOCOL_VERSION, ..DescribeRequest::default() };
    let peer = match timeout(limit, connection.describe(request)).await {
        Ok(Ok(peer)) => peer,
        Ok(Err(status)) => {
            let code = match status.code() {
                // Somebody has to give this node a token or a certificate.
                Code::Unauthenticated | Code::PermissionDenied => Code::FailedPrecondition,
                code => code,
            };
            return Err(Status::new(code, refusal(&asked.peer, &status)));
        }
        Err(_) => {
            let text = format!("{} takes the connection and says nothing", asked.peer);
            return Err(Status::unavailable(text));
        }
    };
    let refused = |why: String| {
        Err(Status::failed_precondition(format!(
            "{} at {}: {why}",
            said(&peer.node_name),
            asked.peer
        )))
    };
    if peer.protocol_version != PROTOCOL_VERSION {
        let version = peer.protocol_version;
        return refused(format!(
            "it speaks version {version} of the protocol, not {PROTOCOL_VERSION}"
        ));
    }
    if peer.engine != "none" {
        return refused(format!(
            "it runs the engine {}; start it with --engine none",
            said(&peer.engine)
        ));
    }
    if peer.max_payload_bytes < asked.message_bytes {
        let most = peer.max_payload_bytes;
        return refused(format!("it takes {most} bytes at most; raise --max-payload-bytes there"));
    }
    Ok(peer)
}

fn refusal(peer: &str, status: &Status) -> String {
    format!("{peer}: {}", said(status.message()))
}
