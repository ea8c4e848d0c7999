//! The machine and its nodes, as `doctor`, `probe` and `nodes` judge them before a measurement.

mod needs;
mod responses;
mod sample;

use netdiv_contract::{layout, v1::Decoding};
use netdiv_machine::{
    doctor::{AskedNode, Peer, PeerFacts},
    evidence,
};
use netdiv_qdl::{ConnectError, NodeInfo, Settings};

pub(crate) use self::{
    needs::{PROGRAM, findings, needs},
    sample::send,
};
use crate::RunError;

/// Reply of a node to the survey, which asks each node for its description.
pub(crate) struct SurveyReply {
    /// Address of the node, as the settings name it.
    pub(crate) address: String,
    /// Description of the node, or the reason why it is missing.
    pub(crate) answer: Result<NodeInfo, ConnectError>,
}

/// Asks all nodes of the settings for their descriptions, over the network. The replies are in the
/// order of the nodes in the settings.
pub(crate) fn survey(settings: &Settings) -> Result<Vec<SurveyReply>, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RunError::failed)?;
    let answers = runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network));
    let asked = |(address, answer): (&String, _)| SurveyReply { address: address.clone(), answer };
    Ok(settings.nodes.iter().zip(answers).map(asked).collect())
}

/// Returns the facts that `doctor` judges about each node: its address, this machine's interface on
/// the route to it, and its description or error.
pub(crate) fn peers(asked: &[SurveyReply]) -> Vec<Peer> {
    let facts = |node: &NodeInfo| PeerFacts {
        name: node.description.node_name.clone(),
        version: node.description.software_version.clone(),
        machine: node.description.machine.clone().unwrap_or_default(),
        round_trip: node.round_trip,
    };
    let peer = |SurveyReply { address, answer }: &SurveyReply| Peer {
        address: address.clone(),
        interface: evidence::route(address).interface,
        answer: answer.as_ref().map(facts).map_err(ToString::to_string),
    };
    asked.iter().map(peer).collect()
}

/// Converts the replies to entries of the report. A node without a description has a failure.
pub(crate) fn nodes(asked: &[SurveyReply]) -> Vec<AskedNode> {
    let node = |SurveyReply { address, answer }: &SurveyReply| {
        let silent = AskedNode { address: address.clone(), ..AskedNode::default() };
        match answer {
            Err(error) => silent.failed(error, error.is_loss()),
            Ok(NodeInfo { description: d, round_trip, .. }) => AskedNode {
                node: Some(d.node_name.clone()),
                version: Some(d.software_version.clone()),
                engine: Some(d.engine.clone()),
                model: Some(d.model_name.clone()),
                model_sha256: Some(d.model_sha256.clone()),
                takes: Some(layout::describe(&d.input.clone().unwrap_or_default())),
                round_trip_ns: Some(round_trip.as_nanos().try_into().unwrap_or(u64::MAX)),
                sampled: d.decoding() == Decoding::Sampled,
                ..silent
            },
        }
    };
    asked.iter().map(node).collect()
}
