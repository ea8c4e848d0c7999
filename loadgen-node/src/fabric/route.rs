//! Which interfaces lie between this machine and a node, and what they say they can do.

use netdiv_evidence::{Interface, System};
use netdiv_qdl::NodeInfo;

use super::figures::{Link, Route};

/// The way to a node, by a chosen interface where there is one. What cannot be read is `None`, never guessed.
pub(crate) fn to(node: &NodeInfo, interface: Option<&str>) -> Route {
    let own = netdiv_evidence::route(&node.address);
    let is_usual = interface.is_none_or(|chosen| own.interface.as_deref() == Some(chosen));
    let theirs = node.description.machine.clone().unwrap_or_default();
    let back = theirs.routes.first().and_then(|route| route.interface.clone());
    Route {
        node: node.description.node_name.clone(),
        address: node.address.clone(),
        node_host: node.description.host_name.clone(),
        node_version: node.description.software_version.clone(),
        local_address: own.local_address.filter(|_| is_usual),
        link: interface
            .map(str::to_owned)
            .or(own.interface)
            .map(|name| link(name, &System::default().interfaces())),
        node_link: back.map(|name| link(name, &theirs.interfaces)),
    }
}

/// An interface that is not listed is loopback.
fn link(name: String, known: &[Interface]) -> Link {
    let interface = known.iter().find(|interface| interface.name == name);
    Link {
        kind: interface.map_or("loopback".into(), |interface| interface.kind.clone()),
        speed_mbit_per_second: interface.and_then(|interface| interface.speed_mbit_per_second),
        mtu_bytes: interface.and_then(|interface| interface.mtu_bytes),
        interface: name,
    }
}
