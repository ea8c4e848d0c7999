//! Calls that make nodes measure.

use std::time::{Duration, Instant};

use netdiv_contract::v1::{MeasureRequest, MeasureResponse};
use netdiv_node_common::sanitise::sanitise;
use netdiv_qdl::{NodeInfo, Settings, Transport};
use netdiv_transport::Connection;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tonic::{Code, Status};

use super::schedule::PairIndexes;
use crate::{RunError, fabric::watch::Times};

/// Time limit for a node to open its connections to another node; the node gives up after 20 s.
const OPEN_TIMEOUT: Duration = Duration::from_secs(25);

/// Maximum wait for a node that measures for another client. The node may first have to notice that
/// an earlier measurement was abandoned.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two calls to a busy node.
const PAUSE: Duration = Duration::from_millis(200);

/// Pair, and the reply of its sender.
pub(super) type PairReply = (PairIndexes, Result<MeasureResponse, Status>);

/// Makes the nodes measure the pairs, one round after the other, and passes the replies of each
/// round to `tell`. Without `times`, the nodes only connect to each other.
pub(super) fn measure(
    settings: &Settings,
    nodes: &[NodeInfo],
    bytes: usize,
    times: Option<Times>,
    rounds: &[Vec<PairIndexes>],
    mut tell: impl FnMut(&[PairReply]),
) -> Result<Vec<PairReply>, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RunError::failed)?;
    runtime.block_on(async {
        let mut connections = Vec::new();
        for node in nodes {
            let opened = Connection::open(&node.address, &settings.network.options).await;
            connections.push(opened.map_err(|error| Status::unavailable(error.to_string())));
        }
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (warm_up, duration) =
            times.map_or_else(Default::default, |times| (times.warm_up, times.duration));
        // A node doubles its window if no message is answered in time, and then waits for the
        // messages in flight.
        let measuring = warm_up + 2 * duration + (warm_up + duration);
        let limit = settings.network.control_timeout + OPEN_TIMEOUT + BUSY_TIMEOUT + measuring;
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
                    let silent = |_| {
                        let text = format!("the sending node did not answer within {limit:?}");
                        Err(Status::deadline_exceeded(text))
                    };
                    let answer = match sender {
                        Err(lost) => Err(lost),
                        Ok(sender) => {
                            let call = timeout(limit, measure_when_free(sender, request));
                            call.await.unwrap_or_else(silent)
                        }
                    };
                    (pair, answer)
                });
            }
            let of_round = calls.join_all().await;
            tell(&of_round);
            answers.extend(of_round);
        }
        for connection in connections.into_iter().flatten() {
            connection.close().await;
        }
        Ok(answers)
    })
}

/// Calls a node, and repeats the call while the node measures for another client.
async fn measure_when_free(
    sender: Connection,
    request: MeasureRequest,
) -> Result<MeasureResponse, Status> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match sender.measure(request.clone()).await {
            Err(status)
                if status.code() == Code::ResourceExhausted && Instant::now() < deadline =>
            {
                sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

/// Returns the reason why a pair cannot be measured.
pub(super) fn failure_reason(status: &Status) -> String {
    match status.code() {
        Code::Unimplemented => "it does not support --matrix; update its sut-node".into(),
        _ => sanitise(status.message()),
    }
}

/// Returns true if the node was not started for this measurement: it has to be started with other
/// options.
pub(super) fn is_refusal(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Unimplemented
            | Code::Unauthenticated
    )
}
