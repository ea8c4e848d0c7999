//! The machine and the way to its nodes, as `loadgen-node doctor` judges them before they are measured.
//!
//! - `needs.rs`: what a run with its settings requires of this machine
//! - `trial.rs`: a run, up to the point where it would begin

mod needs;
mod trial;

pub(crate) use needs::needs;
pub(crate) use trial::findings;

use netdiv_doctor::{Peer, PeerFacts};
use netdiv_qdl::{NodeInfo, Settings};

use crate::RunError;

/// Asks all nodes of these settings over the network. A node that does not answer has its error in the list.
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
