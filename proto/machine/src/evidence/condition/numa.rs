//! NUMA nodes and the accelerators on them, from `/sys/devices/system/node` and the PCI bus.

use crate::evidence::{System, accelerators::PCI};

const NODES: &str = "sys/devices/system/node";

/// Maximum plausible number of processors.
const MAX_PROCESSORS: usize = 1 << 16;

/// NUMA node of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// Number of the node.
    pub id: u32,
    /// Processors of the node.
    pub processors: Vec<usize>,
    /// Distance to each node of [`Numa::nodes`], in the order of that list. The distance of a node
    /// to itself is 10.
    pub distances: Vec<u32>,
}

/// NUMA nodes of a machine, and the accelerators on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numa {
    /// Nodes, by number. Empty if they cannot be read.
    pub nodes: Vec<NumaNode>,
    /// Addresses of possible accelerators on the PCI bus, with the NUMA node of each.
    pub accelerators: Vec<(String, Option<u32>)>,
}

impl Numa {
    /// Returns the node that contains a processor.
    pub fn of_processor(&self, processor: usize) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.processors.contains(&processor))
    }

    /// Returns the node with a number.
    pub fn node(&self, id: u32) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Returns the distance between two nodes.
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let place = self.nodes.iter().position(|node| node.id == to)?;
        self.node(from)?.distances.get(place).copied()
    }
}

impl System {
    pub(super) fn numa(&self) -> Numa {
        let mut nodes: Vec<_> =
            self.names(NODES).iter().filter_map(|name| self.numa_node(name)).collect();
        nodes.sort_by_key(|node| node.id);
        let near = |address: String| {
            // -1 means unknown.
            let node = self.read(&format!("{PCI}/{address}/numa_node"));
            let node = node.and_then(|node| node.parse().ok());
            (address, node)
        };
        Numa { nodes, accelerators: self.accelerator_addresses().into_iter().map(near).collect() }
    }

    fn numa_node(&self, name: &str) -> Option<NumaNode> {
        let id = name.strip_prefix("node")?.parse().ok()?;
        let read = |file: &str| self.read(&format!("{NODES}/{name}/{file}"));
        let distances = read("distance").unwrap_or_default();
        Some(NumaNode {
            id,
            processors: parse_list(&read("cpulist")?)?,
            distances: distances.split_whitespace().map_while(|n| n.parse().ok()).collect(),
        })
    }
}

/// Parses a list of numbers such as `0-3,8,10-11`.
fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MAX_PROCESSORS {
            return None;
        }
        numbers.extend(first..=last);
        if numbers.len() > MAX_PROCESSORS {
            return None;
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read_and_absurd_ones_are_not() {
        assert_eq!(parse_list("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        for text in ["", "a", "3-1", "-1", "0-99999999999", "0-18446744073709551615", "1,,2", "0-"]
        {
            assert_eq!(parse_list(text), None, "{text}");
        }
        assert_eq!(parse_list(&"0-65535,".repeat(100)), None);
    }
}
