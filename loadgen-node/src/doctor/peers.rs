//! The nodes, asked over the network.

use netdiv_doctor::{Peer, PeerFacts};
use netdiv_qdl::{NodeInfo, Settings};

use crate::RunError;

/// All nodes of these settings. One that does not answer is among them.
pub(crate) fn peers(settings: &Settings) -> Result<Vec<Peer>, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| RunError::Failed(error.to_string()))?;
    let answers = runtime.block_on(netdiv_qdl::survey(&settings.nodes, &settings.network));
    let peer = |(address, answer): (&String, Result<NodeInfo, _>)| Peer {
        interface: netdiv_evidence::route(address).interface,
        address: address.clone(),
        answer: answer.map(facts).map_err(|error: netdiv_qdl::ConnectError| error.to_string()),
    };
    Ok(settings.nodes.iter().zip(answers).map(peer).collect())
}

fn facts(node: NodeInfo) -> PeerFacts {
    let NodeInfo { description, round_trip, .. } = node;
    PeerFacts {
        name: description.node_name,
        version: description.software_version,
        machine: description.machine.unwrap_or_default(),
        round_trip,
    }
}
