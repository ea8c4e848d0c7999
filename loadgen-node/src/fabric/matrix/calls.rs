//! Calls that make nodes measure, and their schedule.

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

use crate::{RunError, fabric::watch::Times};

/// Time limit for a node to open its connections to another node; the node gives up after 20 s.
const OPEN_TIMEOUT: Duration = Duration::from_secs(25);

/// Maximum wait for a node that measures for another client. The node may first have to notice that
/// an earlier measurement was abandoned.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two calls to a busy node.
const PAUSE: Duration = Duration::from_millis(200);

/// Indexes of sender and receiver.
pub(super) type PairIndexes = (usize, usize);

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

/// Returns the schedule of the measurements: all ordered pairs of `hosts` hosts, each once, in
/// rounds in which no host occurs twice. It is a round-robin tournament by the circle method; each
/// of its rounds is repeated with the ends exchanged.
pub(super) fn schedule(hosts: usize) -> Vec<Vec<PairIndexes>> {
    // With an odd number of hosts, one host pauses in each round.
    let places = hosts.next_multiple_of(2);
    let Some(circle) = places.checked_sub(1) else { return Vec::new() };
    let round = |turn: usize| {
        let beside_the_fixed_one = (circle, turn);
        let others =
            (1..places / 2).map(move |k| ((turn + k) % circle, (turn + circle - k) % circle));
        let all = std::iter::once(beside_the_fixed_one).chain(others);
        all.filter(|(one, two)| *one < hosts && *two < hosts).collect::<Vec<_>>()
    };
    let there_and_back = |there: Vec<PairIndexes>| {
        let back = there.iter().map(|(one, two)| (*two, *one)).collect();
        [there, back]
    };
    (0..circle).map(round).flat_map(there_and_back).filter(|round| !round.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_has_a_round_and_no_round_shares_an_end() {
        for hosts in 0..20 {
            let rounds = schedule(hosts);
            let mut pairs = BTreeSet::new();
            for round in &rounds {
                let ends: BTreeSet<_> = round.iter().flat_map(|(one, two)| [one, two]).collect();
                assert_eq!(ends.len(), 2 * round.len(), "{hosts}: {round:?}");
                pairs.extend(round.iter().copied());
            }
            let all = (0..hosts).flat_map(|one| (0..hosts).map(move |two| (one, two)));
            assert_eq!(pairs, all.filter(|(one, two)| one != two).collect(), "{hosts}");
            let most = hosts.saturating_sub(1 - hosts % 2) * 2;
            assert!(rounds.len() <= most, "{hosts}: {} rounds", rounds.len());
        }
    }
}
