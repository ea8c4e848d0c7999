//! N27: what Appendix B asks of the network at a throughput, machine by machine (rules, section 5.1).

use netdiv_contract::v1::Machine;

use crate::{
    book::{Bandwidth, Benchmark},
    facts::interfaces::Interfaces as _,
    result::{Evidence, RunResult},
};

/// What a performance run asks of the network.
#[derive(Debug)]
pub(crate) struct Demand<'a> {
    /// The row of Appendix B of the element type that was sent, or else the usual one; none where the table has no row.
    pub(crate) row: Option<&'a Bandwidth>,
    /// To the SUT.
    pub(crate) samples: Way,
    /// From it.
    pub(crate) responses: Way,
    /// The LoadGen node, then the nodes' machines.
    pub(crate) ends: Vec<End>,
}

/// One direction: bytes of a sample, or of its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// By the formula.
    pub(crate) formula: u64,
    /// On average, as they were sent.
    pub(crate) sent: f64,
}

impl Way {
    fn of(formula: Option<u64>, sent: u64, samples: u64) -> Self {
        Self { formula: formula.unwrap_or(0), sent: sent as f64 / samples.max(1) as f64 }
    }

    /// What counts: the longer of both.
    pub(crate) fn counted(self) -> f64 {
        self.sent.max(self.formula as f64)
    }
}

/// A machine at either end.
#[derive(Debug)]
pub(crate) struct End {
    /// Its name in a sentence.
    pub(crate) who: String,
    /// Bits per second that Appendix B asks of it in a direction.
    pub(crate) asked: f64,
    /// What its interfaces carry in each direction; none where one of them does not say.
    pub(crate) capacity: Option<f64>,
}

impl End {
    /// Whether its interfaces carry what is asked of them; none where that is not known.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.capacity.map(|capacity| self.asked <= capacity)
    }
}

impl<'a> Demand<'a> {
    /// What a run with that throughput asks. Nodes on one machine share its interfaces, of which each counts once.
    pub(crate) fn of(
        benchmark: &'a Benchmark,
        record: &RunResult,
        evidence: &Evidence,
        rate: f64,
    ) -> Self {
        let row = row(benchmark, record);
        let issued = record.samples.issued;
        let (sent, received) =
            (record.total(|node| node.bytes_sent), record.total(|node| node.bytes_received));
        let samples = Way::of(row.map(Bandwidth::ingress_bytes), sent, issued);
        let responses = Way::of(row.map(Bandwidth::egress_bytes), received, issued);
        let bits = rate * samples.counted().max(responses.counted()) * 8.0;
        let end = |who: String, share: f64, machine: &Machine| End {
            who,
            asked: bits * share,
            capacity: machine.bits_per_second(),
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

    /// The formula with its numbers.
    pub(crate) fn formula(&self) -> &str {
        self.row.map_or("nothing", |row| &row.formula)
    }
}

fn row<'a>(benchmark: &'a Benchmark, record: &RunResult) -> Option<&'a Bandwidth> {
    let is_sent = |row: &&Bandwidth| {
        let first = row.ingress.first();
        first.is_some_and(|elements| record.input.iter().any(|t| elements.data_type.is_in(t)))
    };
    let all = &benchmark.bandwidth;
    all.iter().find(is_sent).or_else(|| all.first())
}
