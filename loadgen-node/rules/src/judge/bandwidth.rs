//! Computes the bandwidth that Appendix B requires of each machine's interfaces at a measured
//! throughput, for N27 (rules, section 5.1).

use netdiv_contract::v1::Machine;

use crate::{
    book::{Bandwidth, Benchmark, ElementType},
    facts::interfaces,
    record::{Evidence, RunResult},
};

/// Bandwidth that a performance run requires of the network.
#[derive(Debug)]
pub(crate) struct Demand {
    /// Row of Appendix B for the benchmark, with the element types that were sent; `None` if
    /// Appendix B has no row.
    pub(crate) row: Option<Bandwidth>,
    /// Traffic of samples to the SUT.
    pub(crate) samples: TrafficDirection,
    /// Traffic of responses from the SUT.
    pub(crate) responses: TrafficDirection,
    /// Demand on the LoadGen node, then on each machine of the nodes.
    pub(crate) ends: Vec<MachineDemand>,
}

/// Traffic in one direction: the bytes of a sample, or of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrafficDirection {
    /// Bytes by the formula in Appendix B; 0 if it has none.
    pub(crate) formula: u64,
    pub(crate) sent: f64,
}

impl TrafficDirection {
    fn of(formula: Option<u64>, sent: u64, samples: u64) -> Self {
        Self { formula: formula.unwrap_or(0), sent: sent as f64 / samples.max(1) as f64 }
    }

    /// Returns the larger count, which determines the demand.
    pub(crate) fn bytes(self) -> f64 {
        self.sent.max(self.formula as f64)
    }
}

/// Demand on a machine at either end of the network, and its capacity.
#[derive(Debug)]
pub(crate) struct MachineDemand {
    /// Description of the machine for a sentence, such as `node a`.
    pub(crate) who: String,
    /// Bits per second that Appendix B requires in each direction.
    pub(crate) asked: f64,
    /// Bits per second that the machine's interfaces carry in each direction; `None` if an
    /// interface does not report its speed.
    pub(crate) capacity: Option<f64>,
}

impl MachineDemand {
    /// Returns true if the interfaces carry the demand; `None` if their capacity is unknown.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.capacity.map(|capacity| self.asked <= capacity)
    }
}

impl Demand {
    /// Computes the demand of a run at `rate` samples per second. Nodes on one machine share its
    /// interfaces, so each interface counts once.
    pub(crate) fn of(
        benchmark: &Benchmark,
        record: &RunResult,
        evidence: &Evidence,
        rate: f64,
    ) -> Self {
        let row = row(benchmark, &record.input);
        let issued = record.samples.issued;
        let (sent, received) =
            (record.total(|node| node.bytes_sent), record.total(|node| node.bytes_received));
        let samples =
            TrafficDirection::of(row.as_ref().map(Bandwidth::ingress_bytes), sent, issued);
        let responses =
            TrafficDirection::of(row.as_ref().map(Bandwidth::egress_bytes), received, issued);
        let bits = rate * samples.bytes().max(responses.bytes()) * 8.0;
        let end = |who: String, share: f64, machine: &Machine| MachineDemand {
            who,
            asked: bits * share,
            capacity: interfaces::bits_per_second(machine),
        };
        let through = |names: &[&str]| -> f64 {
            let nodes = record.nodes.iter().filter(|node| names.contains(&node.name.as_str()));
            nodes.map(|node| node.sent as f64).sum()
        };
        let all = record.total(|node| node.sent) as f64;
        let mut ends = vec![end("the LoadGen node".into(), 1.0, &evidence.loadgen_node)];
        for (names, machine) in evidence.nodes_by_machine() {
            let who = match names.as_slice() {
                [name] => format!("node {name}"),
                names => format!("the machine of nodes {}", names.join(" and ")),
            };
            ends.push(end(who, through(&names) / all.max(1.0), &machine));
        }
        Self { row, samples, responses, ends }
    }

    /// Returns the formula of Appendix B with its numbers.
    pub(crate) fn formula(&self) -> &str {
        let unlisted = "samples that Appendix B does not list";
        self.row.as_ref().map_or(unlisted, |row| &row.formula)
    }
}

/// Returns the benchmark's row of Appendix B for the element type of the first tensor, or else its
/// first row. In the row, the element types that were sent replace the usual types: its elements
/// and the tensors are in the same order.
fn row(benchmark: &Benchmark, tensors: &[String]) -> Option<Bandwidth> {
    let sent: Vec<_> = tensors.iter().map(|tensor| ElementType::of(tensor)).collect();
    let all = &benchmark.bandwidth;
    let is_sent = |row: &&Bandwidth| {
        let first = row.ingress.first().map(|elements| elements.data_type);
        first.is_some() && sent.first() == Some(&first)
    };
    let usual = all.iter().find(is_sent).or_else(|| all.first())?;
    let mut row = usual.clone();
    for (elements, sent) in row.ingress.iter_mut().zip(sent) {
        elements.data_type = sent.unwrap_or(elements.data_type);
    }
    if row != *usual {
        let types: Vec<_> = row.ingress.iter().map(|elements| elements.data_type.word()).collect();
        row.formula = format!("{}; sent as {}", row.formula, types.join(" and "));
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    #[test]
    fn samples_are_as_long_as_the_types_that_were_sent() {
        for (benchmark, tensors, bytes, formula) in [
            ("llama2-70b-99", &["input_ids int32 [?]"][..], 4 * 1024, "1024 in and out, int32"),
            (
                "llama2-70b-99",
                &["input_ids int64 [?]"],
                8 * 1024,
                "1024 in and out, int32; sent as int64",
            ),
            (
                "llama2-70b-99",
                &["input_ids int64 [?]", "input_mask int32 [?]", "lengths int32 [1]"],
                8 * 1024,
                "1024 in and out, int32; sent as int64",
            ),
            ("resnet50", &["image float32 [3, 224, 224]"], 4 * 150_528, "3*224*224, float32"),
            (
                "resnet50",
                &["image float16 [3, 224, 224]"],
                2 * 150_528,
                "3*224*224, uint8; sent as float16",
            ),
            ("resnet50", &["bytes"], 150_528, "3*224*224, uint8"),
            ("resnet50", &[], 150_528, "3*224*224, uint8"),
            (
                "dlrm-v2-99",
                &["numerical float16 [?, 13]", "categorical int64 [?, 26]"],
                2 * 3510 + 8 * 7020,
                "270*(13 float32 + 26 int32); sent as float16 and int64",
            ),
            ("rgat", &["node int64 [1]"], 0, "negligible"),
        ] {
            let tensors: Vec<_> = tensors.iter().map(|tensor| (*tensor).to_owned()).collect();
            let benchmark = Table::builtin().unwrap().find(benchmark).unwrap();
            let row = row(benchmark, &tensors).unwrap();
            assert_eq!(
                (row.ingress_bytes(), row.formula.as_str()),
                (bytes, formula),
                "{tensors:?}"
            );
            // Responses have their own type.
            assert_eq!(row.egress_bytes(), benchmark.bandwidth[0].egress_bytes(), "{tensors:?}");
        }
    }
}
