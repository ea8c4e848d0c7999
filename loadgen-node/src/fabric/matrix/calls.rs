//! Calls to nodes that let them measure.

use std::time::Duration;

use netdiv_contract::{
    said::said,
    v1::{MeasureRequest, MeasureResponse},
};
use netdiv_qdl::{NodeInfo, Settings, Transport};
use netdiv_transport::Connection;
use tokio::{task::JoinSet, time::timeout};
use tonic::{Code, Status};

use super::schedule::Pair;
use crate::{RunError, fabric::watch::Times};

/// A node opens all its connections to another one before it begins, and tries each for so long.
const OPENING: Duration = Duration::from_secs(30);

/// What a pair's sender says.
pub(super) type Answer = (Pair, Result<MeasureResponse, Status>);

/// Lets nodes measure, round after round; without times they only reach each other.
pub(super) fn measure(
    settings: &Settings,
    nodes: &[NodeInfo],
    bytes: usize,
    times: Option<Times>,
    rounds: &[Vec<Pair>],
) -> Result<Vec<Answer>, RunError> {
    let failed = |why: &dyn std::fmt::Display| RunError::Failed(why.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let mut connections = Vec::new();
        for node in nodes {
            let opened = Connection::open(&node.address, &settings.network.options).await;
            connections.push(opened.map_err(|error| failed(&error))?);
        }
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (warm_up, duration) =
            times.map_or_else(Default::default, |times| (times.warm_up, times.duration));
        let limit = settings.network.control_timeout + OPENING + warm_up + duration;
        let mut answers = Vec::new();
        for round in rounds {
            let mut calls = JoinSet::new();
            for (from, to) in round {
                let (Some(sender), Some(receiver)) = (connections.get(*from), nodes.get(*to))
                else {
                    continue;
                };
                let request = MeasureRequest {
                    peer: receiver.address.clone(),
                    quic: settings.network.options.transport == Transport::Quic,
                    connections: settings.connections_per_node.try_into().unwrap_or(u32::MAX),
                    message_bytes: bytes as u64,
                    warm_up_ns: nanos(warm_up),
                    duration_ns: nanos(duration),
                };
                let (sender, pair) = (sender.clone(), (*from, *to));
                calls.spawn(async move {
                    let answer = timeout(limit, sender.measure(request)).await;
                    let silent = |_| Err(Status::deadline_exceeded("the node does not answer"));
                    (pair, answer.unwrap_or_else(silent))
                });
            }
            answers.extend(calls.join_all().await);
        }
        for connection in connections {
            connection.close().await;
        }
        Ok(answers)
    })
}

/// What a node says of a pair that cannot be measured.
pub(super) fn words(status: &Status) -> String {
    said(status.message())
}

/// Whether a node was not started for this, so that it has to be started in another way.
pub(super) fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Unimplemented
            | Code::Unauthenticated
    )
}
