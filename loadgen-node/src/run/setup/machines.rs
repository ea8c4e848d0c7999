//! Machines of a run: evidence about this machine and every node, and the traffic of the interfaces
//! during the run.

use std::collections::BTreeMap;

use netdiv_machine::evidence::{Machine, System};
use netdiv_qdl::NodeInfo;
use netdiv_rules::record::{Evidence, InterfaceTraffic};
use sha2::{Digest as _, Sha256};

use crate::{RunError, settings::RunConfig};

/// Fails if the operator's statement (`--evidence`) contradicts this machine.
pub(crate) fn check_statement(config: &RunConfig) -> Result<(), RunError> {
    if config.evidence.is_some() {
        loadgen_node(&[], config)?;
    }
    Ok(())
}

/// Returns evidence about this machine, with the routes to all nodes, and each node's evidence
/// about its own machine.
pub(crate) fn evidence(nodes: &[NodeInfo], config: &RunConfig) -> Result<Evidence, RunError> {
    let machine = |node: &NodeInfo| {
        let d = &node.description;
        (d.node_name.clone(), d.machine.clone().unwrap_or_default())
    };
    let loadgen_node = loadgen_node(nodes, config)?;
    Ok(Evidence { loadgen_node, nodes: nodes.iter().map(machine).collect() })
}

/// Returns evidence about this machine, with the routes to all nodes.
fn loadgen_node(nodes: &[NodeInfo], config: &RunConfig) -> Result<Machine, RunError> {
    // The digest covers exactly this text, which is published with it.
    let settings = serde_json::Value::from_iter(config.recorded_settings.clone()).to_string();
    let mut loadgen_node = Machine {
        program: Some(format!("loadgen-node {}", env!("CARGO_PKG_VERSION"))),
        framework: Some(format!("LoadGen {}", loadgen_sys::version())),
        routes: nodes.iter().map(|node| netdiv_machine::evidence::route(&node.address)).collect(),
        settings_sha256: Some(hex::encode(Sha256::digest(&settings))),
        settings: Some(settings),
        ..System::default().machine()
    };
    if let Some(stated) = &config.evidence {
        stated
            .supply(&mut loadgen_node)
            .map_err(|error| RunError::Usage(format!("--evidence: {error}")))?;
    }
    Ok(loadgen_node)
}

/// Counters of the interfaces to the nodes, by name: bytes sent and received.
#[derive(Debug, Default)]
pub(crate) struct Traffic(BTreeMap<String, (u64, u64)>);

impl Traffic {
    /// Reads the counters of the interfaces on the routes.
    pub(crate) fn now(evidence: &Evidence) -> Self {
        let names = evidence.loadgen_node.routes.iter().filter_map(|r| r.interface.as_deref());
        let count = |name: &str| Some((name.into(), System::default().bytes_carried(name)?));
        Self(names.filter_map(count).collect())
    }

    /// Returns the bytes that the interfaces have carried since an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Vec<InterfaceTraffic> {
        let difference = |(name, (sent, received)): (&String, &(u64, u64))| {
            let (sent_before, received_before) = earlier.0.get(name).copied().unwrap_or_default();
            InterfaceTraffic {
                name: name.clone(),
                bytes_sent: sent.saturating_sub(sent_before),
                bytes_received: received.saturating_sub(received_before),
            }
        };
        self.0.iter().map(difference).collect()
    }
}
