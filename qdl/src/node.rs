//! Handshake with a node before the first query: connects, and asks the node for its description.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{Duration, Instant},
};

use netdiv_contract::{
    NAME_RULE, PROTOCOL_VERSION, is_name,
    limits::{MAX_BATCH, MAX_ERROR_BYTES, MAX_PAYLOAD_BYTES},
    v1::{DescribeRequest, DescribeResponse},
};
use netdiv_node_common::sanitise::{is_plain, sanitise};
use netdiv_transport::{Connection, Http2Close, OpenError, Wait};

use crate::{
    calls::{error_text, within},
    connect_error::ConnectError,
    settings::{CONNECT_TIMEOUT, CONTROL_TIMEOUT, NetworkSettings},
    tokens::MAX_IDS,
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
    let description = match answer {
        Ok(description) => description,
        Err(status) if status.code() == tonic::Code::DeadlineExceeded => {
            let (address, option) = (address.into(), CONTROL_TIMEOUT);
            return Err(ConnectError::Silent { address, waited: timeout, option });
        }
        Err(status) if status.code() == tonic::Code::Unauthenticated => {
            let why = sanitise(status.message());
            return Err(OpenError::Untrusted { address: address.into(), why }.into());
        }
        Err(status) if status.code() == tonic::Code::Unavailable => {
            return Err(ConnectError::Unreachable {
                address: address.into(),
                why: error_text(&status),
            });
        }
        Err(status) if status.code() == tonic::Code::ResourceExhausted => {
            return Err(ConnectError::Full { address: address.into(), why: error_text(&status) });
        }
        Err(status) => {
            let why = error_text(&status);
            return Err(ConnectError::NotANode { address: address.into(), why });
        }
    };
    if description.protocol_version != PROTOCOL_VERSION {
        let theirs = description.protocol_version;
        return Err(ConnectError::WrongVersion { address: address.into(), theirs });
    }
    if description.nonce != nonce {
        let why = "it does not return the nonce".into();
        return Err(ConnectError::NotANode { address: address.into(), why });
    }
    if !is_name(&description.node_name) {
        let why = format!("its name is `{}`; {NAME_RULE}", sanitise(&description.node_name));
        return Err(ConnectError::NotANode { address: address.into(), why });
    }
    if let Some(why) = nonsense(&description) {
        let node = description.node_name;
        return Err(ConnectError::InvalidDescription { node, address: address.into(), why });
    }
    Ok(NodeInfo { address: address.into(), description, round_trip })
}

/// Returns the fault of an invalid description; `None` if the description is valid.
fn nonsense(description: &DescribeResponse) -> Option<String> {
    let d = description;
    let max_u32 = u64::from(u32::MAX);
    for (limit, value, allowed) in [
        ("max_payload_bytes", d.max_payload_bytes, 1..=MAX_PAYLOAD_BYTES as u64),
        ("max_in_flight_samples", d.max_in_flight_samples.into(), 1..=max_u32),
        ("max_in_flight_bytes", d.max_in_flight_bytes, 1..=max_u32),
        ("max_batch", d.max_batch.into(), 1..=MAX_BATCH as u64),
        ("vocabulary", d.vocabulary.into(), 0..=MAX_IDS.into()),
    ] {
        if !allowed.contains(&value) {
            let (minimum, maximum) = allowed.into_inner();
            return Some(format!("its {limit} is {value}; expected {minimum} to {maximum}"));
        }
    }
    let (room, output) = (d.max_in_flight_tokens, d.max_output_tokens);
    if room > 0 && !(1..room).contains(&output) {
        return Some(format!(
            "its max_output_tokens is {output}, and its max_in_flight_tokens {room}"
        ));
    }
    let ids = if d.vocabulary > 0 { d.vocabulary } else { MAX_IDS };
    if let Some(end) = d.end_tokens.iter().find(|end| **end >= ids) {
        return Some(format!("its end_tokens have {end}, and its ids go from 0 to {}", ids - 1));
    }
    for (what, name) in [("engine", &d.engine), ("model", &d.model_name)] {
        if name.trim().is_empty() {
            return Some(format!("its {what} has no name"));
        }
    }
    let tensors = description.input.iter().flat_map(|input| &input.tensors);
    let texts = [
        &description.software_version,
        &description.engine,
        &description.model_name,
        &description.model_sha256,
        &description.config_sha256,
        &description.machine_id,
        &description.host_name,
    ];
    let mut texts = texts.into_iter().chain(tensors.map(|tensor| &tensor.name));
    let wrong = texts.find(|text| text.len() > MAX_ERROR_BYTES || !is_plain(text))?;
    Some(format!("it contains `{}`, which is not a short plain text", sanitise(wrong)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Function that changes a node's description.
    type Change = fn(&mut DescribeResponse);

    #[test]
    fn what_no_node_says_of_itself_is_refused_with_the_figure() {
        let good = DescribeResponse {
            engine: "onnx".into(),
            model_name: "digits".into(),
            max_payload_bytes: 1,
            max_in_flight_samples: u32::MAX,
            max_in_flight_bytes: u32::MAX.into(),
            max_batch: 1,
            ..DescribeResponse::default()
        };
        assert_eq!(nonsense(&good), None);
        let cases: [(Change, &str); 14] = [
            (|d| d.max_batch = 0, "its max_batch is 0; expected 1 to 65536"),
            (|d| d.max_batch = u32::MAX, "its max_batch is 4294967295; expected 1 to 65536"),
            (|d| d.max_payload_bytes = 0, "its max_payload_bytes is 0; expected 1 to 268435456"),
            (|d| d.max_payload_bytes = u64::MAX, "its max_payload_bytes is 18446744073709551615"),
            (|d| d.max_in_flight_samples = 0, "its max_in_flight_samples is 0; expected 1"),
            (|d| d.max_in_flight_bytes = 0, "its max_in_flight_bytes is 0; expected 1"),
            (|d| d.max_in_flight_bytes = u64::MAX, "its max_in_flight_bytes is 184467"),
            (|d| d.vocabulary = u32::MAX, "its vocabulary is 4294967295; expected 0 to 2147483648"),
            (|d| d.end_tokens = vec![2, 1 << 31], "its end_tokens have 2147483648, and its ids go"),
            (
                |d| (d.vocabulary, d.end_tokens) = (9, vec![9]),
                "its end_tokens have 9, and its ids go from 0 to 8",
            ),
            (|d| d.max_in_flight_tokens = 9, "its max_output_tokens is 0, and its max_in_flight_"),
            (|d| d.engine = String::new(), "its engine has no name"),
            (|d| d.model_name = " ".into(), "its model has no name"),
            (|d| d.host_name = "\u{1b}[2J".into(), "which is not a short plain text"),
        ];
        for (change, words) in cases {
            let mut said = good.clone();
            change(&mut said);
            let why = nonsense(&said).unwrap();
            assert!(why.contains(words), "{why}");
        }
    }
}
