//! Handshake with a node before the first query: connects, and asks the node for its description.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{Duration, Instant},
};

use netdiv_contract::{
    NAME_RULE, PROTOCOL_VERSION, description_fault, is_name,
    v1::{DescribeRequest, DescribeResponse},
};
use netdiv_node_common::sanitise::sanitise;
use netdiv_transport::{Connection, Http2Close, OpenError, Wait};

use crate::{
    calls::{error_text, within},
    connect_error::ConnectError,
    settings::{CONNECT_TIMEOUT, CONTROL_TIMEOUT, NetworkSettings},
};

/// Description of a node that has answered, and the round trip to the node.
#[derive(Debug, Clone)]
pub struct NodeInfo {
    /// Address of the node, as the user wrote it.
    pub address: String,
    /// Description that the node sent.
    pub description: DescribeResponse,
    /// Round trip of the call for the description; the shortest, if the call was made several
    /// times.
    pub round_trip: Duration,
}

/// Returns a number that cannot be guessed: hash keys of the standard library are random.
pub(crate) fn nonce() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Pause between two attempts to reach a node or to open a stream.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// Opens one connection and asks the node for its description. Retries until the time limit,
/// because the node may
///
/// - still be loading its model, and accept connections without an answer,
/// - have no room for another client,
/// - have closed the connection, which had made no call yet, to make room for another one, or
/// - ask the client to open another connection.
///
/// Once the node has admitted a call, the connection keeps its permit at the node. `wait` announces
/// a wait that lasts longer than a second. `connect_timeout` limits all attempts together,
/// `control_timeout` each answer.
pub(crate) async fn connect(
    address: &str,
    settings: &NetworkSettings,
    mut wait: Wait,
) -> Result<(Connection, NodeInfo), ConnectError> {
    let (limit, answer_limit) = (settings.options.connect_timeout, settings.control_timeout);
    let deadline = Instant::now() + limit;
    let mut awaited = address.to_owned();
    loop {
        let opening = Connection::open(address, &settings.options);
        let error = match wait.during(&awaited, opening).await {
            Ok(connection) => {
                awaited = format!(
                    "{address}, which accepts connections and may still be loading its model"
                );
                let answer = describe(&connection, address, answer_limit);
                match wait.during(&awaited, answer).await {
                    Ok(node) => return Ok((connection, node)),
                    Err(error) => {
                        connection.close().await;
                        error
                    }
                }
            }
            Err(error) => {
                awaited = address.to_owned();
                error.into()
            }
        };
        let error = match error {
            // The silence of one attempt is that of all.
            ConnectError::Silent { address, waited, .. } => {
                ConnectError::Silent { address, waited: waited.max(limit), option: CONNECT_TIMEOUT }
            }
            error => error,
        };
        let may_come = match &error {
            ConnectError::Unreachable { .. }
            | ConnectError::Silent { .. }
            | ConnectError::Full { .. } => true,
            ConnectError::Closed { close, .. } => close.invites_retry(),
            _ => false,
        };
        if !may_come || Instant::now() >= deadline {
            return Err(error);
        }
        // The last attempt starts when the time limit has elapsed.
        let pause = PAUSE.min(deadline.saturating_duration_since(Instant::now()));
        wait.during(&awaited, tokio::time::sleep(pause)).await;
    }
}

/// Number of round trips that are measured. A pause precedes each of them, because a new QUIC
/// connection still searches for its packet size.
const ROUND_TRIPS: usize = 5;
const ROUND_TRIP_PAUSE: Duration = Duration::from_millis(20);

/// Asks a node for its description with the evidence of its machine, and measures the shortest of
/// some round trips.
pub(crate) async fn interview(
    connection: &Connection,
    node: NodeInfo,
    timeout: Duration,
) -> Result<NodeInfo, ConnectError> {
    let address = node.address;
    let mut node = ask(connection, &address, timeout, true).await?;
    node.round_trip = Duration::MAX;
    for _ in 0..ROUND_TRIPS {
        tokio::time::sleep(ROUND_TRIP_PAUSE).await;
        node.round_trip =
            node.round_trip.min(describe(connection, &address, timeout).await?.round_trip);
    }
    Ok(node)
}

/// Asks a node for its description.
pub(crate) async fn describe(
    connection: &Connection,
    address: &str,
    timeout: Duration,
) -> Result<NodeInfo, ConnectError> {
    ask(connection, address, timeout, false).await
}

async fn ask(
    connection: &Connection,
    address: &str,
    timeout: Duration,
    evidence: bool,
) -> Result<NodeInfo, ConnectError> {
    let nonce = nonce();
    let started = Instant::now();
    let request = DescribeRequest { protocol_version: PROTOCOL_VERSION, nonce, evidence };
    let answer = within(timeout, connection.describe(request)).await;
    let round_trip = started.elapsed();
    if let Err(status) = &answer
        && let Some(close) = Http2Close::of(status)
    {
        return Err(ConnectError::Closed { address: address.into(), close });
    }
    let not_a_node = |why: String| {
        ConnectError::Unfit(format!("the server at {address} is not a SUT node: {why}"))
    };
    let other_release = |why: String| {
        let remedy = "install the same release on both";
        ConnectError::Unfit(format!("the node at {address} {why}; {remedy}"))
    };
    let description = match answer {
        Ok(description) => description,
        Err(status) => {
            let (address, why) = (address.into(), error_text(&status));
            return Err(match status.code() {
                tonic::Code::DeadlineExceeded => {
                    ConnectError::Silent { address, waited: timeout, option: CONTROL_TIMEOUT }
                }
                tonic::Code::Unauthenticated => {
                    OpenError::Untrusted { address, why: sanitise(status.message()) }.into()
                }
                tonic::Code::Unavailable => ConnectError::Unreachable { address, why },
                tonic::Code::ResourceExhausted => ConnectError::Full { address, why },
                // Over QUIC, a node refuses the version of the call's header.
                tonic::Code::FailedPrecondition => {
                    other_release(format!("refuses this program: {why}"))
                }
                _ => not_a_node(why),
            });
        }
    };
    if description.protocol_version != PROTOCOL_VERSION {
        let theirs = description.protocol_version;
        return Err(other_release(format!(
            "speaks version {theirs} of the wire contract, this program version {PROTOCOL_VERSION}"
        )));
    }
    if description.nonce != nonce {
        return Err(not_a_node("it does not return the nonce".into()));
    }
    let node = &description.node_name;
    if !is_name(node) {
        return Err(not_a_node(format!("its name is `{}`; {NAME_RULE}", sanitise(node))));
    }
    if let Some(why) = description_fault(&description) {
        return Err(ConnectError::Unfit(format!(
            "node {node} at {address} sends an invalid description: {why}; check its settings, or install this release there"
        )));
    }
    Ok(NodeInfo { address: address.into(), description, round_trip })
}

/// Asks the node at each address for its description and the evidence of its machine, without
/// checking the requirements of a run. Returns the answers in the order of the addresses.
pub async fn survey(
    addresses: &[String],
    settings: &NetworkSettings,
) -> Vec<Result<NodeInfo, ConnectError>> {
    let ask = |address: String, settings: NetworkSettings| async move {
        let wait = Wait::begin(CONNECT_TIMEOUT, settings.options.connect_timeout);
        let (connection, node) = connect(&address, &settings, wait).await?;
        let node = interview(&connection, node, settings.control_timeout).await;
        connection.close().await;
        node
    };
    let asked: Vec<_> =
        addresses.iter().map(|a| tokio::spawn(ask(a.clone(), settings.clone()))).collect();
    let mut answers = Vec::with_capacity(asked.len());
    for answer in asked {
        answers.push(answer.await.unwrap_or_else(|e| Err(ConnectError::Local(e.to_string()))));
    }
    answers
}
