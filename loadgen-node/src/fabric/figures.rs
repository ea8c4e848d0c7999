//! The figures, as they are written to `fabric.json`.

use netdiv_qdl::Transport;
use netdiv_rules::book::Need;
use serde::Serialize;
use strum::{Display, IntoStaticStr};

/// All figures of one call.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) transport: Transport,
    /// Whether nodes had to prove who they are.
    pub(crate) tls: bool,
    pub(crate) connections_per_node: usize,
    pub(crate) streams_per_connection: usize,
    /// Length of each measurement.
    pub(crate) duration_ms: u64,
    pub(crate) routes: Vec<Route>,
    pub(crate) round_trips: Vec<RoundTrip>,
    pub(crate) bandwidth: Vec<Bandwidth>,
    pub(crate) benchmarks: Vec<Benchmark>,
}

/// The way to one node.
#[derive(Debug, Serialize)]
pub(crate) struct Route {
    pub(crate) node: String,
    pub(crate) address: String,
    /// The address that this machine sends from.
    pub(crate) local_address: Option<String>,
    /// The interface that it goes out of.
    pub(crate) link: Option<Link>,
    /// The node's interface, as the node says.
    pub(crate) node_link: Option<Link>,
}

/// An interface.
#[derive(Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) interface: String,
    /// ethernet, wifi, infiniband, virtual or loopback.
    pub(crate) kind: String,
    /// What it says it can do, in each direction.
    pub(crate) speed_mbit_per_second: Option<u64>,
    pub(crate) mtu_bytes: Option<u64>,
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.interface, self.kind)?;
        match self.speed_mbit_per_second {
            Some(speed) => write!(f, ", {} Gb/s", speed as f64 / 1000.0)?,
            None => f.write_str(", which does not say its speed")?,
        }
        match self.mtu_bytes {
            Some(mtu) => write!(f, ", MTU {mtu})"),
            None => f.write_str(")"),
        }
    }
}

/// Round trips of one message at a time.
#[derive(Debug, Serialize)]
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

/// Which way the long messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Display, IntoStaticStr)]
#[serde(into = "&'static str")]
pub(crate) enum Direction {
    #[strum(serialize = "to nodes")]
    ToNodes,
    #[strum(serialize = "from nodes")]
    FromNodes,
    #[strum(serialize = "both ways")]
    Both,
}

impl Direction {
    pub(crate) const ALL: [Self; 3] = [Self::ToNodes, Self::FromNodes, Self::Both];
}

/// Messages of one size, as many as the windows take.
#[derive(Debug, Serialize)]
pub(crate) struct Bandwidth {
    pub(crate) message_bytes: usize,
    pub(crate) direction: Direction,
    pub(crate) seconds: f64,
    /// Over all nodes.
    pub(crate) total: Rate,
    pub(crate) nodes: Vec<Rate>,
    /// Each stream of each connection.
    pub(crate) streams: Vec<Rate>,
}

impl Bandwidth {
    /// Both ways together.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.total.bytes_per_second_to_nodes + self.total.bytes_per_second_from_nodes
    }
}

/// What one node or stream moved; payload bytes, without headers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rate {
    pub(crate) name: String,
    pub(crate) messages_per_second: f64,
    pub(crate) bytes_per_second_to_nodes: f64,
    pub(crate) bytes_per_second_from_nodes: f64,
}

/// What the fabric carries of a benchmark.
#[derive(Debug, Serialize)]
pub(crate) struct Benchmark {
    pub(crate) name: String,
    /// Appendix B's formula, and the element type that it is taken with.
    pub(crate) formula: String,
    pub(crate) ingress_bytes_per_sample: u64,
    pub(crate) egress_bytes_per_sample: u64,
    /// Samples per second, from the bandwidth at the next smaller size that was measured, all nodes together.
    pub(crate) carries_samples_per_second: f64,
    pub(crate) target_samples_per_second: Option<f64>,
    /// What Appendix B asks for at the target rate.
    pub(crate) target_ingress_bytes_per_second: Option<f64>,
    pub(crate) target_egress_bytes_per_second: Option<f64>,
    /// Whether the fabric carries the target.
    pub(crate) carried: Option<bool>,
}

/// What the measured bandwidth means for each benchmark.
pub(crate) fn benchmarks(
    needs: &[Need],
    measured: &[Bandwidth],
    targets: &[(String, f64)],
) -> Vec<Benchmark> {
    let rate = |bytes: u64, direction: Direction, pick: fn(&Rate) -> f64| {
        let in_direction = || measured.iter().filter(|cell| cell.direction == direction);
        let smaller = in_direction().rfind(|cell| cell.message_bytes as u64 <= bytes);
        let Some(cell) = smaller.or_else(|| in_direction().next()) else { return 0.0 };
        // Short messages are limited by their number, long ones by their bytes.
        let by_bytes = match bytes {
            0 => f64::INFINITY,
            bytes => pick(&cell.total) / bytes as f64,
        };
        by_bytes.min(cell.total.messages_per_second)
    };
    let benchmark = |need: &Need| {
        let (ingress, egress) = (need.ingress_bytes, need.egress_bytes);
        let carries = if ingress > 0 && egress > 0 {
            let to = rate(ingress, Direction::Both, |rate| rate.bytes_per_second_to_nodes);
            to.min(rate(egress, Direction::Both, |rate| rate.bytes_per_second_from_nodes))
        } else {
            rate(ingress, Direction::ToNodes, |rate| rate.bytes_per_second_to_nodes)
        };
        let target = targets.iter().find(|(name, _)| *name == need.name).map(|(_, rate)| *rate);
        Benchmark {
            name: need.name.clone(),
            formula: need.formula.clone(),
            ingress_bytes_per_sample: ingress,
            egress_bytes_per_sample: egress,
            carries_samples_per_second: carries,
            target_samples_per_second: target,
            target_ingress_bytes_per_second: target.map(|rate| rate * ingress as f64),
            target_egress_bytes_per_second: target.map(|rate| rate * egress as f64),
            carried: target.map(|rate| rate <= carries),
        }
    };
    needs.iter().map(benchmark).collect()
}

#[cfg(test)]
mod tests {
    use netdiv_rules::book::Table;

    use super::*;

    fn cell(message_bytes: usize, direction: Direction, messages: f64) -> Bandwidth {
        let bytes = messages * message_bytes as f64;
        let total = Rate {
            name: "all".into(),
            messages_per_second: messages,
            bytes_per_second_to_nodes: bytes,
            bytes_per_second_from_nodes: bytes,
        };
        let (nodes, streams) = (Vec::new(), Vec::new());
        Bandwidth { message_bytes, direction, seconds: 1.0, total, nodes, streams }
    }

    #[test]
    fn a_benchmark_gets_the_bandwidth_of_the_next_smaller_size() {
        let measured = [
            cell(64, Direction::ToNodes, 1e6),
            cell(64, Direction::Both, 1e6),
            cell(100_000, Direction::ToNodes, 2e4),
            cell(1_000_000, Direction::ToNodes, 1e4),
            cell(1_000_000, Direction::Both, 1e3),
        ];
        let targets = [("resnet50".into(), 13_000.0), ("3d-unet".into(), 31.0)];
        let rates = benchmarks(&Table::builtin().unwrap().needs(), &measured, &targets);
        let of = |name: &str| {
            rates
                .iter()
                .find(|b| b.name == name)
                .map(|b| (b.carries_samples_per_second as u64, b.carried))
        };
        // 2 GB/s at 100,000 bytes; 1 GB/s each way at a million; as many as there are messages.
        assert_eq!(of("resnet50"), Some((13_286, Some(true))));
        assert_eq!(of("3d-unet"), Some((30, Some(false))));
        assert_eq!(of("rgat"), Some((1_000_000, None)));
    }
}
