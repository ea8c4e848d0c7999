//! Which part of the machine is near which, from `/sys/devices/system/node` and the PCI bus.

use crate::evidence::{System, accelerators::PCI};

const NODES: &str = "sys/devices/system/node";

/// No machine has more processors.
const MOST_PROCESSORS: usize = 1 << 16;

/// A NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Its processors.
    pub processors: Vec<usize>,
    /// How far each node is from it, by the node's place in the list: 10 is itself.
    pub distances: Vec<u32>,
}

/// Which part of the machine is near which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numa {
    /// The nodes, by number. Empty where they cannot be read.
    pub nodes: Vec<NumaNode>,
    /// Addresses of what may be accelerators on the PCI bus, with the node that each is on.
    pub accelerators: Vec<(String, Option<u32>)>,
}

impl Numa {
    /// The node of a processor.
    pub fn of_processor(&self, processor: usize) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.processors.contains(&processor))
    }

    /// The node of a number.
    pub fn node(&self, id: u32) -> Option<&NumaNode> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// How far one node is from another.
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
            // -1 is unknown.
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
            processors: listed(&read("cpulist")?)?,
            distances: distances.split_whitespace().map_while(|n| n.parse().ok()).collect(),
        })
    }
}

/// The numbers of a list such as `0-3,8,10-11`.
fn listed(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_PROCESSORS {
            return None;
        }
        numbers.extend(first..=last);
        if numbers.len() > MOST_PROCESSORS {
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
        assert_eq!(listed("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
        for text in ["", "a", "3-1", "-1", "0-99999999999", "0-18446744073709551615", "1,,2", "0-"]
        {
            assert_eq!(listed(text), None, "{text}");
        }
        assert_eq!(listed(&"0-65535,".repeat(100)), None);
    }
}
