//! Figures of a network measurement, as written to `fabric.json`.

use netdiv_contract::probe;
use netdiv_machine::evidence::{Interface, System};
use netdiv_qdl::NodeInfo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::{
    path::Path,
    usual_rates::{UsualRates, quantile},
};
use crate::record::Shortage;

/// Route to a node.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Route {
    pub(crate) node: String,
    pub(crate) address: String,
    /// Host name of the node's machine, as the node reports it.
    pub(crate) node_host: String,
    pub(crate) node_version: String,
    /// Address from which this machine sends.
    pub(crate) local_address: Option<String>,
    /// Egress interface of this machine.
    pub(crate) link: Option<Link>,
    /// Interface of the node, as the node reports it.
    pub(crate) node_link: Option<Link>,
}

impl Route {
    /// Returns the route to a node, through the chosen interface if there is one. A fact that
    /// cannot be read is `None`, never guessed.
    pub(crate) fn from_node(node: &NodeInfo, interface: Option<&str>) -> Self {
        let own = netdiv_machine::evidence::route(&node.address);
        let is_usual = interface.is_none_or(|chosen| own.interface.as_deref() == Some(chosen));
        let theirs = node.description.machine.clone().unwrap_or_default();
        let back = theirs.routes.first().and_then(|route| route.interface.clone());
        Self {
            node: node.description.node_name.clone(),
            address: node.address.clone(),
            node_host: node.description.host_name.clone(),
            node_version: node.description.software_version.clone(),
            local_address: own.local_address.filter(|_| is_usual),
            link: interface
                .map(str::to_owned)
                .or(own.interface)
                .map(|name| Link::of(name, &System::default().interfaces())),
            node_link: back.map(|name| Link::of(name, &theirs.interfaces)),
        }
    }
}

/// Network interface.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Link {
    pub(crate) interface: String,
    /// Kind: ethernet, wifi, infiniband, virtual or loopback.
    pub(crate) kind: String,
    /// Speed in each direction, in Mbit/s, as the interface reports it.
    pub(crate) speed_mbit_per_second: Option<u64>,
    pub(crate) mtu_bytes: Option<u64>,
}

impl Link {
    /// Returns the interface of this name. An interface that is not listed is loopback.
    fn of(name: String, known: &[Interface]) -> Self {
        let interface = known.iter().find(|interface| interface.name == name);
        Self {
            kind: interface.map_or("loopback".into(), |interface| interface.kind.clone()),
            speed_mbit_per_second: interface.and_then(|interface| interface.speed_mbit_per_second),
            mtu_bytes: interface.and_then(|interface| interface.mtu_bytes),
            interface: name,
        }
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.interface, self.kind)?;
        match self.speed_mbit_per_second {
            Some(speed) => write!(f, ", {} Gb/s", speed as f64 / 1000.0)?,
            None => f.write_str(", unknown speed")?,
        }
        match self.mtu_bytes {
            Some(mtu) => write!(f, ", MTU {mtu})"),
            None => f.write_str(")"),
        }
    }
}

/// Round trips to a node, one message at a time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RoundTrip {
    pub(crate) node: String,
    pub(crate) message_bytes: usize,
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    pub(crate) max_ns: u64,
    /// Upper bounds and counts of the histogram's buckets.
    pub(crate) histogram_ns: Vec<(u64, u64)>,
}

/// Direction of the long messages.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Display, IntoStaticStr,
)]
pub(crate) enum Direction {
    #[serde(rename = "to nodes")]
    #[strum(serialize = "to nodes")]
    ToNodes,
    #[serde(rename = "from nodes")]
    #[strum(serialize = "from nodes")]
    FromNodes,
    #[serde(rename = "both ways")]
    #[strum(serialize = "both ways")]
    Both,
}

impl Direction {
    pub(crate) const ALL: [Self; 3] = [Self::ToNodes, Self::FromNodes, Self::Both];
}

/// Shape of a message: its payload bytes, and the payload bytes of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) to_node: usize,
    pub(crate) from_node: usize,
}

impl Shape {
    /// Returns the shape of long messages in one direction.
    pub(crate) fn of(direction: Direction, bytes: usize) -> Self {
        match direction {
            Direction::ToNodes => Self { to_node: bytes, from_node: 0 },
            Direction::FromNodes => Self { to_node: 0, from_node: bytes },
            Direction::Both => Self { to_node: bytes, from_node: bytes },
        }
    }

    /// Returns the bytes of a message to a node. The shortest message only holds the length of the
    /// response that it asks for.
    pub(crate) fn sample_bytes(self) -> usize {
        self.to_node.max(probe::MIN_BYTES)
    }
}

/// Bandwidth of one cell: messages of one size, as many as the windows allow. A message counts when
/// its response arrives, with the bytes of both directions. In steady traffic this equals the rate
/// of either direction. A message in flight when a window begins or ends counts in it by the share
/// that moved in the window.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Bandwidth {
    pub(crate) message_bytes: usize,
    pub(crate) direction: Direction,
    /// Length of the window in seconds, after the warm-up.
    pub(crate) seconds: f64,
    /// Payload bytes per second of each round, both ways together, in the order of the rounds. All
    /// other figures are from the median round.
    pub(crate) rounds_bytes_per_second: Vec<f64>,
    /// Latency under this load, from issuing a message, including its wait on this machine, to its
    /// response.
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    pub(crate) p99_9_ns: Option<u64>,
    /// Longest time without a response, checked every 10 ms.
    pub(crate) longest_gap_ms: u64,
    /// Consecutive parts of the window.
    pub(crate) intervals: Vec<Interval>,
    /// Processor seconds of this process per payload byte, both ways together.
    pub(crate) processor_seconds_per_byte: Option<f64>,
    /// Share of the window in which this machine's busiest I/O thread was busy, from 0 to 1.
    pub(crate) busiest_io_thread: Option<f64>,
    /// Statistics of TCP or QUIC on this machine.
    pub(crate) path: Option<Path>,
    /// Segments that TCP retransmitted during the window, on this whole host.
    pub(crate) host_tcp_retransmits: Option<u64>,
    /// Counts of each node.
    pub(crate) far_ends: Vec<FarEnd>,
    /// Programs that were short of processor time, warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shortages: Vec<Shortage>,
    /// Rate of all nodes together.
    pub(crate) total: Rate,
    pub(crate) nodes: Vec<Rate>,
    /// Rate of each stream of each connection.
    pub(crate) streams: Vec<Rate>,
}

impl Bandwidth {
    /// Returns the median round of a cell, with the rates of all rounds. For an even number of
    /// rounds, it is the lower one in the middle. `None` without rounds.
    pub(crate) fn median(rounds: Vec<Self>) -> Option<Self> {
        let rates = rounds.iter().map(Self::bytes_per_second).collect();
        let of_node = |number| {
            let rates = rounds.iter().filter_map(|round| round.nodes.get(number));
            rates.map(Rate::bytes_per_second).collect()
        };
        let of_nodes: Vec<Vec<_>> = (0..rounds.first()?.nodes.len()).map(of_node).collect();
        let mut median = median(rounds, Self::bytes_per_second)?;
        median.rounds_bytes_per_second = rates;
        for (node, rates) in median.nodes.iter_mut().zip(of_nodes) {
            node.rounds_bytes_per_second = rates;
        }
        Some(median)
    }

    /// Returns the nodes that are slow beyond the noise of their rounds, and the median rate of all
    /// nodes, in bytes per second. `None` for a single node.
    pub(crate) fn slow_nodes(&self) -> Option<(Vec<&Rate>, f64)> {
        let rounds = |node: &Rate| match &node.rounds_bytes_per_second[..] {
            [] => vec![node.bytes_per_second()],
            rounds => rounds.to_vec(),
        };
        let minimum = |node: &Rate| rounds(node).into_iter().fold(f64::MAX, f64::min);
        let maximum = |node: &Rate| rounds(node).into_iter().fold(0.0, f64::max);
        let usual = UsualRates {
            median: quantile(self.nodes.iter().map(Rate::bytes_per_second), 2),
            minimum: quantile(self.nodes.iter().map(minimum), 2),
        };
        let is_slow = |node: &&Rate| usual.is_beyond(node.bytes_per_second(), maximum(node));
        (self.nodes.len() > 1).then(|| (self.nodes.iter().filter(is_slow).collect(), usual.median))
    }

    /// Returns the minimum and maximum rate of the rounds, in bytes per second.
    pub(crate) fn range(&self) -> (f64, f64) {
        let rates = self.rounds_bytes_per_second.iter();
        rates.fold((f64::MAX, 0.0), |(least, most), rate| (least.min(*rate), most.max(*rate)))
    }

    /// Returns true if an I/O thread of this machine was saturated, so that the processor limited
    /// the rate.
    pub(crate) fn is_bound_by_processor(&self) -> bool {
        self.busiest_io_thread.is_some_and(|share| share >= SATURATED_SHARE)
    }

    /// Returns the rate of all nodes: the rate to the nodes plus the rate from the nodes.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.total.bytes_per_second()
    }

    /// Returns the rate of the slowest node: the rate to the node plus the rate from it.
    pub(crate) fn slowest_bytes_per_second(&self) -> f64 {
        self.nodes.iter().map(Rate::bytes_per_second).reduce(f64::min).unwrap_or(0.0)
    }
}

/// Returns the element with the median rate. For an even number of elements, it is the lower one in
/// the middle. `None` without elements.
pub(super) fn median<T>(mut rounds: Vec<T>, rate: impl Fn(&T) -> f64) -> Option<T> {
    rounds.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let middle = rounds.len().checked_sub(1)? / 2;
    Some(rounds.swap_remove(middle))
}

/// Share of a window, from 0 to 1. An I/O thread that is busy for at least this share counts as
/// saturated: it limits the rate.
pub(super) const SATURATED_SHARE: f64 = 0.95;

/// Part of a window, all nodes together.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Interval {
    pub(crate) seconds: f64,
    /// Number of responses.
    pub(crate) messages: u64,
    pub(crate) bytes_per_second_to_nodes: f64,
    pub(crate) bytes_per_second_from_nodes: f64,
    /// 99th percentile of the latency; missing if there was no response.
    pub(crate) p99_ns: Option<u64>,
}

/// Counts of a node over a measurement, including its warm-up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FarEnd {
    pub(crate) node: String,
    /// Messages sent to the node, as this machine counts them.
    pub(crate) messages_sent: u64,
    /// Messages received by the node, as the node counts them.
    pub(crate) messages_received: u64,
    /// Processor seconds of the node's process, spent for all its clients, per payload byte of both
    /// ways. Missing if the node does not report them.
    pub(crate) processor_seconds_per_byte: Option<f64>,
}

/// Rate of a node, of a stream, or of all nodes, in payload bytes without headers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Rate {
    /// Name of the node; empty for all nodes together.
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) messages_per_second: f64,
    pub(crate) bytes_per_second_to_nodes: f64,
    pub(crate) bytes_per_second_from_nodes: f64,
    /// Rate of each round, both ways together; set only for a node of the median round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rounds_bytes_per_second: Vec<f64>,
}

impl Rate {
    /// Returns the rate to the nodes plus the rate from the nodes.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.bytes_per_second_to_nodes + self.bytes_per_second_from_nodes
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.messages_per_second += other.messages_per_second;
        self.bytes_per_second_to_nodes += other.bytes_per_second_to_nodes;
        self.bytes_per_second_from_nodes += other.bytes_per_second_from_nodes;
    }
}

/// Messages at a fixed rate, whether or not responses arrive.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OpenLoop {
    /// Benchmark whose samples have this size.
    pub(crate) benchmark: Option<String>,
    pub(crate) message_bytes: usize,
    pub(crate) answer_bytes: usize,
    /// Requested rate, over all nodes together.
    pub(crate) rate_messages_per_second: f64,
    pub(crate) messages: u64,
    /// All messages divided by the time until the last response.
    pub(crate) answered_per_second: f64,
    /// Maximum time in ms between when a message was due and when it was issued.
    pub(crate) latest_ms: f64,
    /// Time in ms from issuing the last message to the last response.
    pub(crate) waited_ms: f64,
    /// True if messages could be issued at this rate, and 95 % of them were answered when the last
    /// one was issued.
    pub(crate) kept: bool,
    /// Median of the time from the moment at which a message was due to the arrival of its response.
    pub(crate) p50_ns: u64,
    pub(crate) p90_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    pub(crate) max_ns: u64,
}

/// Rate that the fabric carries for a benchmark.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Benchmark {
    pub(crate) name: String,
    /// Formula of Appendix B, and the element type that it is used with.
    pub(crate) formula: String,
    pub(crate) ingress_bytes_per_sample: u64,
    pub(crate) egress_bytes_per_sample: u64,
    /// Samples per second, from the bandwidth at the next smaller measured size, all nodes
    /// together.
    pub(crate) carries_samples_per_second: f64,
    pub(crate) target_samples_per_second: Option<f64>,
    /// Bandwidth that Appendix B requires at the target rate.
    pub(crate) target_ingress_bytes_per_second: Option<f64>,
    pub(crate) target_egress_bytes_per_second: Option<f64>,
    /// True if the fabric carries the target rate.
    pub(crate) carried: Option<bool>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cell(message_bytes: usize, direction: Direction, messages: f64) -> Bandwidth {
        let bytes = messages * message_bytes as f64;
        let total = Rate {
            messages_per_second: messages,
            bytes_per_second_to_nodes: bytes,
            bytes_per_second_from_nodes: bytes,
            ..Rate::default()
        };
        Bandwidth {
            message_bytes,
            direction,
            seconds: 1.0,
            rounds_bytes_per_second: vec![2.0 * bytes],
            p50_ns: None,
            p99_ns: None,
            p99_9_ns: None,
            longest_gap_ms: 0,
            intervals: Vec::new(),
            processor_seconds_per_byte: None,
            busiest_io_thread: None,
            path: None,
            host_tcp_retransmits: None,
            far_ends: Vec::new(),
            shortages: Vec::new(),
            total,
            nodes: Vec::new(),
            streams: Vec::new(),
        }
    }

    #[test]
    fn a_node_is_slow_only_beyond_the_noise_of_its_rounds() {
        let rounds = |of_node: [f64; 3], of_others: [f64; 3]| {
            let round = |number: usize| {
                let node = |name: &str, rate: f64| Rate {
                    name: name.into(),
                    bytes_per_second_to_nodes: rate,
                    ..Rate::default()
                };
                let others = of_others[number];
                let nodes = vec![node("a", of_node[number]), node("b", others), node("c", others)];
                Bandwidth { nodes, ..cell(1, Direction::Both, others) }
            };
            let cell = Bandwidth::median((0..3).map(round).collect()).unwrap();
            let (slow, usual) = cell.slow_nodes().unwrap();
            (slow.iter().map(|node| node.name.clone()).collect::<Vec<_>>(), usual)
        };
        assert_eq!(rounds([5.0, 5.0, 6.0], [9.0, 10.0, 11.0]), (vec!["a".to_owned()], 10.0));
        assert_eq!(rounds([10.0, 5.0, 6.0], [9.0, 10.0, 11.0]), (vec![], 10.0), "noise");
        assert_eq!(rounds([9.0, 9.0, 9.0], [9.0, 10.0, 11.0]), (vec![], 10.0));
    }

    #[test]
    fn the_median_round_stands_for_its_cell() {
        let median = |rates: &[f64]| {
            let rounds = rates.iter().map(|rate| cell(1, Direction::Both, *rate)).collect();
            let cell = Bandwidth::median(rounds)?;
            Some((cell.total.messages_per_second, cell.range(), cell.rounds_bytes_per_second))
        };
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some((3.0, (2.0, 10.0), vec![10.0, 2.0, 6.0])));
        assert_eq!(median(&[5.0, 1.0]), Some((1.0, (2.0, 10.0), vec![10.0, 2.0])));
        assert_eq!(median(&[4.0]), Some((4.0, (8.0, 8.0), vec![8.0])));
        assert_eq!(median(&[]), None);
    }
}
