//! The machines of a run, from their evidence.

use std::net::IpAddr;

use netdiv_contract::v1::Machine;

use crate::record::Evidence;

/// Name of the LoadGen node in topologies, documents and file names.
pub(crate) const LOADGEN: &str = "loadgen";

impl Evidence {
    /// Returns all machines with their names: the LoadGen node, then the SUT nodes.
    pub(crate) fn machines(&self) -> impl Iterator<Item = (&str, &Machine)> {
        let nodes = self.nodes.iter().map(|(name, machine)| (name.as_str(), machine));
        std::iter::once((LOADGEN, &self.loadgen_node)).chain(nodes)
    }

    /// Returns the machines of the SUT nodes, each machine once. A machine that several nodes share
    /// has the names and the routes of all these nodes.
    pub(crate) fn nodes_by_machine(&self) -> Vec<(Vec<&str>, Machine)> {
        let mut all: Vec<(Vec<&str>, Machine)> = Vec::new();
        for (name, machine) in &self.nodes {
            match all.iter_mut().find(|(_, known)| is_one(known, machine)) {
                Some((names, known)) => {
                    names.push(name);
                    known.routes.extend(machine.routes.iter().cloned());
                }
                None => all.push((vec![name], machine.clone())),
            }
        }
        all
    }
}

/// Returns true if two descriptions are of the same machine and the same boot.
pub(crate) fn is_one(one: &Machine, other: &Machine) -> bool {
    let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
    same(&one.machine_id, &other.machine_id) && same(&one.boot_id, &other.boot_id)
}

/// Returns the settings that a machine's program published; empty if they are missing or not TOML.
pub(crate) fn published_settings(machine: &Machine) -> toml::Table {
    machine.settings.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns a text without the white space around it; `None` if it is missing or empty.
pub(crate) fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

/// Parses the IP address in `10.0.0.2`, `10.0.0.2:50051`, `fe80::1%eth0`, `[::1]`, `[::1]:50051` or
/// after `NAME@`. For `localhost` it is the loopback address; another host name yields `None`.
pub(crate) fn ip(text: &str) -> Option<IpAddr> {
    let text = text.rsplit_once('@').map_or(text, |(_, place)| place);
    let host = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None if text.matches(':').count() == 1 => text.split(':').next()?,
        None => text,
    };
    if host.strip_suffix('.').unwrap_or(host).eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::from([127, 0, 0, 1]));
    }
    let address: IpAddr = host.split('%').next()?.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        for text in ["10.0.0.1:5", "10.0.0.1", "[::1]:5", "::1", "[::1]", "fe80::1%eth0"] {
            assert!(ip(text).is_some(), "{text}");
        }
        for name in ["localhost:5", "LOCALHOST", "localhost.:5"] {
            assert!(ip(name).is_some_and(|ip| ip.is_loopback()), "{name}");
        }
        assert_eq!(ip("[::ffff:10.0.0.1]:5"), ip("10.0.0.1"));
        assert_eq!(ip("nodes.lab@10.0.0.1:5"), ip("10.0.0.1"));
        assert_eq!(ip("rack1-a:50051"), None);
    }
}
