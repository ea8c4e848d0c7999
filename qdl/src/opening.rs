//! Opening of all connections of a run: asks the nodes for their descriptions, and divides the
//! limits of each node among the lanes to it.

use std::sync::Arc;

use netdiv_contract::{limits, v1::DescribeResponse};
use netdiv_node_common::words::AnswerTokens;
use netdiv_transport::{Connection, Wait};
use tokio::task::JoinSet;

use crate::{
    agreement::{Expectation, agree, check_capacity, difference},
    calls::supports_digests,
    connect_error::ConnectError,
    io_threads::IoThreads,
    node::{self, NodeInfo},
    settings::{CONNECT_TIMEOUT, CONTROL_TIMEOUT, Settings},
    slots::MAX_SLOTS,
    token_budget::TokenBudget,
    window::Window,
};

/// Nodes of a run, as they described themselves, and all connections, grouped by node.
pub(crate) struct OpenNodes {
    pub(crate) nodes: Vec<NodeInfo>,
    pub(crate) connections: Vec<Connection>,
}

/// Connects to all nodes, and checks that they meet `expected`, support the settings and serve the
/// same model.
pub(crate) fn open(
    settings: &Settings,
    threads: &IoThreads,
    expected: &Expectation,
) -> Result<OpenNodes, ConnectError> {
    let per_node = settings.connections_per_node.max(1);
    // A node reports its limits over its first connection, so the others are opened after it.
    let all = 0..settings.nodes.len() * per_node;
    let first = connect(settings, threads, all.clone().step_by(per_node))?;
    let nodes = interview(settings, threads, first.clone())?;
    agree(&nodes, expected)?;
    nodes.iter().try_for_each(|node| check_capacity(settings, &node.description))?;
    let others = connect(settings, threads, all.filter(|number| number % per_node != 0))?;
    for (node, others) in nodes.iter().zip(others.chunks(per_node.saturating_sub(1).max(1))) {
        others.iter().try_for_each(|(_, other)| check_same_node(node, other))?;
    }
    let mut others = others.into_iter();
    let mut connections = Vec::with_capacity(settings.nodes.len() * per_node);
    for (connection, _) in first {
        connections.push(connection);
        connections.extend(others.by_ref().take(per_node - 1).map(|(connection, _)| connection));
    }
    let without = nodes.iter().find(|node| !node.description.checksums);
    if let Some(node) = without.filter(|_| settings.checksums) {
        return Err(ConnectError::Unfit(format!(
            "node {} does not support checksums; install this release there, or omit --checksums",
            node.description.node_name
        )));
    }
    // Only token ids can be sent early.
    let is_counted = settings.tokens == AnswerTokens::Counted;
    let has_tokens = |node: &&DescribeResponse| node.tokens || is_counted && node.token_counts;
    let without = nodes.iter().map(|node| &node.description).find(|node| !has_tokens(node));
    if let Some(node) = without.filter(|_| settings.tokens != AnswerTokens::Uncounted) {
        return Err(ConnectError::Unfit(format!(
            "node {} runs the engine {}, whose responses are not made of tokens. Token latencies need an engine for \
             language models, or in Offline one with counts_tokens; --setting use_token_latencies=false runs without them, as an \
             experiment",
            node.node_name, node.engine
        )));
    }
    if settings.digests {
        check_digests(settings, threads, &connections, &nodes)?;
    }
    Ok(OpenNodes { nodes, connections })
}

/// Checks that two connections to one address reach the same node, by the descriptions that arrived
/// on them.
fn check_same_node(first: &NodeInfo, other: &NodeInfo) -> Result<(), ConnectError> {
    match difference(&first.description, &other.description) {
        None => Ok(()),
        Some(what) => Err(ConnectError::Unfit(format!(
            "connections to {} reach different nodes: the first one `{}`, another one `{}`, with a different {what}. A load \
             balancer, or a name with several addresses, is in between: give each node its own address",
            first.address, first.description.node_name, other.description.node_name
        ))),
    }
}

/// Opens the connections with these numbers concurrently, each on the thread that will serve it.
/// Returns each connection with the description that its node sent. Numbers count over all nodes,
/// and the connections to one node have consecutive numbers.
fn connect(
    settings: &Settings,
    threads: &IoThreads,
    numbers: impl Iterator<Item = usize>,
) -> Result<Vec<(Connection, NodeInfo)>, ConnectError> {
    let per_node = settings.connections_per_node.max(1);
    let mut announced = None;
    let limit = settings.network.options.connect_timeout;
    let opening: Vec<_> = numbers
        .map(|number| {
            let node = number / per_node;
            let (address, network) = (settings.nodes[node].clone(), settings.network.clone());
            // Only the first connection to a node announces that it waits.
            let wait = Wait::begin(CONNECT_TIMEOUT, limit);
            let wait = match announced.replace(node) {
                Some(before) if before == node => wait.unannounced(),
                _ => wait,
            };
            let connecting = async move { node::connect(&address, &network, wait).await };
            threads.runtime(number).spawn(connecting)
        })
        .collect();
    threads.runtime(0).block_on(async {
        let mut connections = Vec::with_capacity(opening.len());
        for opened in opening {
            connections.push(opened.await.map_err(|e| ConnectError::Local(e.to_string()))??);
        }
        Ok(connections)
    })
}

/// Asks each node, over its first connection, for its description with the evidence of its machine,
/// and measures round trips.
fn interview(
    settings: &Settings,
    threads: &IoThreads,
    first: Vec<(Connection, NodeInfo)>,
) -> Result<Vec<NodeInfo>, ConnectError> {
    let limit = settings.network.control_timeout;
    threads.runtime(0).block_on(async {
        let mut asking = JoinSet::new();
        for (number, (connection, node)) in first.into_iter().enumerate() {
            asking.spawn(async move {
                let address = node.address.clone();
                let interview = node::interview(&connection, node, limit);
                (number, Wait::begin(CONTROL_TIMEOUT, limit).during(address, interview).await)
            });
        }
        let mut answers = asking.join_all().await;
        answers.sort_by_key(|(number, _)| *number);
        answers.into_iter().map(|(_, answer)| answer).collect()
    })
}

/// Fails if a node does not support digests, so that this is detected before the run and not after
/// it.
fn check_digests(
    settings: &Settings,
    threads: &IoThreads,
    connections: &[Connection],
    nodes: &[NodeInfo],
) -> Result<(), ConnectError> {
    let limit = settings.network.control_timeout;
    let per_node = settings.connections_per_node.max(1);
    for (connection, node) in connections.iter().step_by(per_node).zip(nodes) {
        let asking = supports_digests(connection, limit);
        let mut wait = Wait::begin(CONTROL_TIMEOUT, limit);
        let asking = async { wait.during(&node.address, asking).await };
        if !threads.runtime(0).block_on(asking) {
            return Err(ConnectError::Unfit(format!(
                "node {} does not support digests; install this release there, or omit --digests",
                node.description.node_name
            )));
        }
    }
    Ok(())
}

/// Returns the token budget that all lanes to a node share, if the node counts tokens.
pub(crate) fn token_room(node: &NodeInfo) -> Option<Arc<TokenBudget>> {
    let takes = &node.description;
    (takes.max_in_flight_tokens > 0)
        .then(|| Arc::new(TokenBudget::new(takes.max_in_flight_tokens, takes.max_output_tokens)))
}

/// Returns the window of a lane: its share of the node's limits, which the settings may lower, and
/// the token budget of the node.
pub(crate) fn window(
    settings: &Settings,
    node: &NodeInfo,
    tokens: Option<Arc<TokenBudget>>,
    lane: usize,
) -> Window {
    let limit = |own: Option<usize>, theirs: u64| {
        let theirs = usize::try_from(theirs).unwrap_or(usize::MAX);
        own.unwrap_or(theirs).min(theirs) / settings.lanes_per_node()
    };
    let takes = &node.description;
    let samples = limit(settings.window_samples, takes.max_in_flight_samples.into());
    let bytes = limit(settings.window_bytes, takes.max_in_flight_bytes);
    let bytes = bytes.min(limits::CONNECTION_WINDOW_BYTES as usize);
    Window::new(samples.min(MAX_SLOTS), bytes, tokens.map(|room| (room, lane)))
}
