//! Field `network_topology`: links between ports, as `A:port <-> B:port (description)`, separated
//! by `; `.

use std::collections::BTreeSet;

use super::{RunFiles, Subject, System};
use crate::{
    facts::{interfaces, machines::LOADGEN},
    record::RunResult,
};

/// Ports of machines: each is the name of a machine and the name of its adapter.
pub(crate) type Ports = BTreeSet<(String, String)>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DescribedCable {
    pub(crate) ends: [(String, String); 2],
    /// Description of the cable: the medium, the rate and other properties.
    pub(crate) text: String,
}

/// Parses all links; `None` if the text is not such a list.
pub(crate) fn links(text: &str) -> Option<Vec<DescribedCable>> {
    text.split("; ").map(link).collect()
}

fn link(text: &str) -> Option<DescribedCable> {
    let (ends, text) = match text.split_once(" (") {
        Some((ends, text)) => (ends, text.trim_end().strip_suffix(')').unwrap_or(text)),
        None => (text, ""),
    };
    let end = |text: &str| {
        let (device, port) = text.trim().rsplit_once(':')?;
        Some((device.trim().to_owned(), port.trim().to_owned()))
            .filter(|(device, port)| !device.is_empty() && !port.is_empty())
    };
    let (from, to) = ends.split_once("<->")?;
    Some(DescribedCable { ends: [end(from)?, end(to)?], text: text.into() })
}

/// Returns the names of the devices in the links that are not machines of the runs.
pub(crate) fn switches(subject: &Subject, links: &[DescribedCable]) -> BTreeSet<String> {
    let is_machine = |name: &str| {
        name == LOADGEN
            || subject
                .records()
                .any(|(_, record)| record.nodes.iter().any(|node| node.name == name))
    };
    let devices = links.iter().flat_map(|link| &link.ends).map(|(device, _)| device.clone());
    devices.filter(|device| !is_machine(device)).collect()
}

/// Returns the adapters on the routes of all machines in the records.
pub(crate) fn ports<'a>(records: impl Iterator<Item = (&'a RunFiles, &'a RunResult)>) -> Ports {
    let evidence = records.filter_map(|(_, record)| record.evidence.as_ref());
    let machines = evidence.flat_map(|evidence| evidence.machines());
    let ports = machines.flat_map(|(name, machine)| {
        let carriers = interfaces::carriers(machine).used.into_iter();
        let adapters =
            carriers.flat_map(|carrier| interfaces::adapters(machine, &carrier.name).into_keys());
        adapters.map(|adapter| (name.to_owned(), adapter.to_owned()))
    });
    ports.collect()
}

/// Returns the adapters that a system's runs use and that the system's links do not contain.
pub(crate) fn unlinked(subject: &Subject, system: &System, links: &[DescribedCable]) -> Ports {
    let linked: Ports = links.iter().flat_map(|link| link.ends.clone()).collect();
    ports(subject.records_of(system)).into_iter().filter(|port| !linked.contains(port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read() {
        let text = "loadgen:eth0 <-> leaf:1 (copper DAC, 100 Gb/s, 2 m); leaf:2 <-> node-a:eth0 (fiber, 100 Gb/s)";
        let links = links(text).unwrap();
        assert_eq!(links.len(), 2);
        assert_eq!(links[0].text, "copper DAC, 100 Gb/s, 2 m");
        assert_eq!(links[1].ends[1], ("node-a".into(), "eth0".into()));
        for text in ["", "QDL <--> [Switch] <--> SUT", "a:1 <-> b", "a:1 <-> :2"] {
            assert_eq!(super::links(text), None, "{text}");
        }
    }
}
