//! The machines of a run: evidence from this one and from every node, and what the interfaces carry meanwhile.

use std::{collections::BTreeMap, path::Path};

use netdiv_evidence::{Machine, System};
use netdiv_qdl::NodeInfo;
use netdiv_rules::result::{Evidence, InterfaceTraffic};

use crate::RunError;

/// Evidence about this machine, with the routes to all nodes, and what each node says of its own.
pub(crate) fn evidence(
    nodes: &[NodeInfo],
    settings: String,
    settings_sha256: String,
    stated: Option<&Path>,
) -> Result<Evidence, RunError> {
    let mut loadgen_node = Machine {
        program: Some(format!("loadgen-node {}", env!("CARGO_PKG_VERSION"))),
        framework: Some(format!("LoadGen {}", loadgen_sys::version())),
        routes: nodes.iter().map(|node| netdiv_evidence::route(&node.address)).collect(),
        settings: Some(settings),
        settings_sha256: Some(settings_sha256),
        ..System::default().machine()
    };
    if let Some(file) = stated {
        netdiv_evidence::supply(&mut loadgen_node, file)
            .map_err(|error| RunError::Usage(format!("--evidence: {error}")))?;
    }
    let machine = |node: &NodeInfo| {
        let d = &node.description;
        (d.node_name.clone(), d.machine.clone().unwrap_or_default())
    };
    Ok(Evidence { loadgen_node, nodes: nodes.iter().map(machine).collect() })
}

/// What the interfaces to the nodes have carried until now, by name: bytes sent and received.
#[derive(Debug, Default)]
pub(crate) struct Traffic(BTreeMap<String, (u64, u64)>);

impl Traffic {
    /// Of the interfaces on the routes.
    pub(crate) fn now(evidence: &Evidence) -> Self {
        let names = evidence.loadgen_node.routes.iter().filter_map(|r| r.interface.as_deref());
        let count = |name: &str| Some((name.into(), System::default().bytes_carried(name)?));
        Self(names.filter_map(count).collect())
    }

    /// Since then.
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
