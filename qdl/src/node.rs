//! Reaching a node and agreeing with it before the first query.

use std::{
    collections::HashMap,
    future::Future,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    pin::pin,
    time::{Duration, Instant},
};

use netdiv_contract::{
    NAME_RULE, PROTOCOL_VERSION,
    encoding::Encoding,
    is_name,
    layout::{self, InputLayout},
    limits::MAX_ERROR_BYTES,
    said::{is_plain, said},
    tally::Tally,
    v1::{self, DescribeRequest, DescribeResponse, DigestsRequest},
};
use netdiv_transport::{Connection, OpenError};

use crate::{connect_error::ConnectError, settings::NetworkSettings};

/// Pauses between attempts to reach a node: each is twice the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A node that answered.
#[derive(Debug, Clone)]
pub struct NodeInfo {
    /// Its address, as the user gave it.
    pub address: String,
    /// What it says of itself.
    pub description: DescribeResponse,
    /// Least of some round trips: how long its answer took.
    pub round_trip: Duration,
}

/// What the run needs of every node.
#[derive(Debug, Clone, Default)]
pub struct Expectation {
    /// The tensors of a sample; `None` when the samples are bytes of unknown meaning.
    pub input: Option<InputLayout>,
    /// How samples are encoded.
    pub encoding: Encoding,
    /// The longest payload, encoded or decoded, in bytes.
    pub longest_payload_bytes: u64,
}

/// A number that nobody can guess: hash keys of the standard library are random.
pub(crate) fn nonce() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Connections that may break before their first call is answered: a node that is full of strangers has no room for another
/// one. What always breaks, such as plaintext where TLS is spoken, need not be tried for longer.
const BROKEN: usize = 5;

/// Opens one connection and asks the node who it is, trying again until the time is up. A node keeps a place for those who
/// have made a call.
pub(crate) async fn connect(
    address: &str,
    settings: &NetworkSettings,
) -> Result<(Connection, NodeInfo), ConnectError> {
    let deadline = Instant::now() + settings.options.connect_timeout;
    let (mut pause, mut broken) = (FIRST_PAUSE, 0);
    loop {
        let error = match Connection::open(address, &settings.options).await {
            Ok(connection) => {
                match describe(&connection, address, settings.control_timeout).await {
                    Ok(node) => return Ok((connection, node)),
                    Err(error) => {
                        connection.close().await;
                        broken += 1;
                        error
                    }
                }
            }
            Err(error) => error.into(),
        };
        // The node may still be loading its model.
        let may_come = matches!(error, ConnectError::Unreachable { .. }) && broken < BROKEN;
        if !may_come || Instant::now() >= deadline {
            return Err(error);
        }
        // The last attempt is made when the time is up.
        tokio::time::sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Round trips that are timed, and the pause before each: a young connection of QUIC still looks for its packet size.
const ROUND_TRIPS: usize = 5;
const ROUND_TRIP_PAUSE: Duration = Duration::from_millis(20);

/// Asks a node what its machine is, and times some round trips.
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

/// Asks a node who it is.
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
    let description = match answer {
        Ok(description) => description,
        Err(status) if status.code() == tonic::Code::DeadlineExceeded => {
            return Err(ConnectError::Silent { address: address.into(), waited: timeout });
        }
        Err(status) if status.code() == tonic::Code::Unauthenticated => {
            let why = said(status.message());
            return Err(OpenError::Untrusted { address: address.into(), why }.into());
        }
        Err(status) if status.code() == tonic::Code::Unavailable => {
            return Err(ConnectError::Unreachable { address: address.into(), why: words(&status) });
        }
        Err(status) if status.code() == tonic::Code::ResourceExhausted => {
            return Err(ConnectError::Full { address: address.into(), why: words(&status) });
        }
        Err(status) => {
            let why = words(&status);
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
    if let Some(why) = nonsense(&description) {
        return Err(ConnectError::NotANode { address: address.into(), why });
    }
    Ok(NodeInfo { address: address.into(), description, round_trip })
}

/// What no node says of itself.
fn nonsense(description: &DescribeResponse) -> Option<String> {
    let DescribeResponse { node_name, max_payload_bytes, max_in_flight_samples, .. } = description;
    if !is_name(node_name) {
        return Some(format!("it calls itself `{}`; {NAME_RULE}", said(node_name)));
    }
    for (limit, value) in [
        ("max_payload_bytes", *max_payload_bytes),
        ("max_in_flight_samples", u64::from(*max_in_flight_samples)),
        ("max_in_flight_bytes", description.max_in_flight_bytes),
    ] {
        if value == 0 {
            return Some(format!("its {limit} is 0, so that it would take no sample"));
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
    Some(format!("it says of itself `{}`, which is no short plain text", said(wrong)))
}

/// What a node has changed that makes it another one than it was.
pub(crate) fn changed(before: &DescribeResponse, now: &DescribeResponse) -> Option<&'static str> {
    let facts = |d: &DescribeResponse| {
        let model = (d.model_name.clone(), d.model_sha256.clone(), d.input.clone());
        let machine = (d.machine_id.clone(), d.host_name.clone());
        let program = (d.software_version.clone(), d.engine.clone());
        (model, d.config_sha256.clone(), program, machine)
    };
    let (before, now) = (facts(before), facts(now));
    if before.0 != now.0 {
        Some("model")
    } else if before.1 != now.1 {
        Some("digest of its settings")
    } else if before.2 != now.2 {
        Some("program")
    } else if before.3 != now.3 {
        Some("machine")
    } else {
        None
    }
}

/// Whether a node knows what digests are; servers that were made from an older contract do not.
pub(crate) async fn knows_digests(connection: &Connection, limit: Duration) -> bool {
    let answer = within(limit, connection.digests(DigestsRequest::default())).await;
    !answer.is_err_and(|status| status.code() == tonic::Code::Unimplemented)
}

/// One of a session's tallies, part by part; each has that long.
pub(crate) async fn tally(
    connection: &Connection,
    session: &str,
    tally: v1::Tally,
    limit: Duration,
) -> Result<Tally, tonic::Status> {
    let mut all = Tally::default();
    loop {
        let request = DigestsRequest {
            session: session.into(),
            tally: tally as i32,
            skip: all.distinct() as u64,
        };
        let part = within(limit, connection.digests(request)).await?;
        let before = all.distinct();
        all.add_entries(&part.entries).map_err(tonic::Status::data_loss)?;
        if all.distinct() as u64 >= part.total {
            return Ok(all);
        }
        if all.distinct() == before {
            return Err(tonic::Status::data_loss("a part of the tally has nothing new"));
        }
    }
}

/// Awaits a call for a limited time.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, tonic::Status> {
    unless_idle(limit, call, || false).await
}

/// The same, and as much time again as long as the node is busy with other things: on a slow link a call waits behind them.
pub(crate) async fn unless_idle<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, tonic::Status>>,
    is_busy: impl Fn() -> bool,
) -> Result<T, tonic::Status> {
    let mut call = pin!(call);
    loop {
        match tokio::time::timeout(limit, &mut call).await {
            Ok(answer) => return answer,
            Err(_) if is_busy() => {}
            Err(_) => {
                let text = format!(
                    "no answer within {} s; --control-timeout-ms sets how long to wait",
                    limit.as_secs_f64()
                );
                return Err(tonic::Status::deadline_exceeded(text));
            }
        }
    }
}

/// Whether a call failed because the node is gone, or not heard of: not because of what one end said.
pub(crate) fn is_gone(status: &tonic::Status) -> bool {
    use tonic::Code;
    !matches!(
        status.code(),
        // What `FramingError` becomes, what a node says of a call that makes no sense, and damage.
        Code::InvalidArgument
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::FailedPrecondition
            | Code::DataLoss
    )
}

/// Why a call failed, in one line: the first cause where the transport names one. A node can have written any of it.
pub(crate) fn words(status: &tonic::Status) -> String {
    let mut cause = std::error::Error::source(status);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => said(&cause.to_string()),
        None if status.message().is_empty() => status.code().to_string(),
        None => said(status.message()),
    }
}

/// Asks every address who is there, without expecting anything of the answers.
pub async fn survey(
    addresses: &[String],
    settings: &NetworkSettings,
) -> Vec<Result<NodeInfo, ConnectError>> {
    let ask = |address: String, settings: NetworkSettings| async move {
        let (connection, node) = connect(&address, &settings).await?;
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

/// Checks that the nodes fit the run and each other.
pub(crate) fn agree(nodes: &[NodeInfo], expected: &Expectation) -> Result<(), ConnectError> {
    let mut addresses: HashMap<&str, &str> = HashMap::new();
    for node in nodes {
        if let Some(first) = addresses.insert(&node.description.node_name, &node.address) {
            return Err(ConnectError::DuplicateName {
                name: node.description.node_name.clone(),
                first: first.into(),
                second: node.address.clone(),
            });
        }
        fits(node, expected)?;
    }
    let model = |n: &NodeInfo| {
        let d = &n.description;
        (d.model_name.clone(), d.model_sha256.clone(), d.input.clone())
    };
    match nodes.iter().find(|node| model(node) != model(&nodes[0])) {
        None => Ok(()),
        Some(other) => Err(ConnectError::DifferentModel {
            first: nodes[0].description.node_name.clone(),
            theirs: model_in_words(&nodes[0].description),
            second: other.description.node_name.clone(),
            ours: model_in_words(&other.description),
        }),
    }
}

fn model_in_words(description: &DescribeResponse) -> String {
    let hash: String = description.model_sha256.chars().take(12).collect();
    let input = layout::describe(&description.input.clone().unwrap_or_default());
    format!("{} (SHA-256 {}…, {input})", description.model_name, hash)
}

fn fits(node: &NodeInfo, expected: &Expectation) -> Result<(), ConnectError> {
    let name = || node.description.node_name.clone();
    let takes = node.description.input.clone().unwrap_or_default();
    if let Some(holds) = &expected.input
        && !layout::accepts(&takes, holds)
    {
        return Err(ConnectError::OtherLayout {
            node: name(),
            want: layout::describe(&takes),
            have: layout::describe(holds),
        });
    }
    if !node.description.encodings.contains(&(expected.encoding as i32)) {
        let accepted = node.description.encodings().map(Encoding::word).collect::<Vec<_>>();
        return Err(ConnectError::EncodingRefused {
            node: name(),
            encoding: expected.encoding.word(),
            accepted: accepted.join(", "),
        });
    }
    let limit = node.description.max_payload_bytes;
    if expected.longest_payload_bytes > limit {
        let bytes = expected.longest_payload_bytes;
        return Err(ConnectError::SampleTooLong { node: name(), bytes, limit });
    }
    Ok(())
}
