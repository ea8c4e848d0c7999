//! `bandwidth.md`: what Appendix B asks for at the measured throughput, against what the network interfaces carry (N27).

use super::{
    cluster::{self, Cluster, Named},
    markdown::{known, table},
    problems::Problems,
    runs::Run,
};
use crate::{benchmarks::Benchmark, result::Node};

/// A result's need.
pub(super) struct Need<'a> {
    /// The benchmark and the scenario, in words.
    pub(super) name: String,
    /// The benchmark, where the table has it.
    pub(super) benchmark: Option<&'a Benchmark>,
    pub(super) performance: &'a Run,
}

/// What is asked of one direction, in bytes for a sample.
struct Direction {
    name: &'static str,
    formula: u64,
    /// As the run had it, on average.
    real: Option<u64>,
}

/// The document. Needs that are not met are findings.
pub(super) fn bandwidth(
    system: &str,
    cluster: &Cluster,
    needs: &[Need<'_>],
    problems: &mut Problems,
) -> String {
    let total = |machines: &[Named]| match machines {
        [] => None,
        machines => cluster::total(machines.iter().map(Named::megabits_per_second)),
    };
    let ends = [
        ("loadgen", total(cluster.loadgen())),
        ("all SUT nodes", total(&cluster.nodes_machines())),
    ];
    let mut text = format!(
        "# Bandwidth of {system}\n\nAppendix B of the rules: throughput times the bytes of a sample, by the formula with the \
         element types that were sent. Where what was sent is longer on average, that counts instead. The \
         capacity is the sum of the speeds of the interfaces on the routes, in each direction.\n\n"
    );
    let rows = ends.iter().map(|(name, capacity)| {
        let bytes = capacity.map(|megabits| format!("{:.0}", bytes_per_second(megabits)));
        [(*name).to_owned(), known(&capacity.map(cluster::speed)), known(&bytes)]
    });
    text += &table(["end", "capacity", "bytes per second"], rows);
    let capacity = ends.iter().map(|(_, capacity)| *capacity).collect::<Option<Vec<_>>>();
    let capacity = capacity.and_then(|both| both.into_iter().min()).map(bytes_per_second);
    for need in needs {
        text += &one(need, capacity, problems);
    }
    text
}

fn bytes_per_second(megabits_per_second: u64) -> f64 {
    megabits_per_second as f64 * 1e6 / 8.0
}

fn one(need: &Need<'_>, capacity: Option<f64>, problems: &mut Problems) -> String {
    let Need { name, benchmark, performance } = need;
    let result = &performance.result;
    let mut text = format!("\n## {name}\n\n");
    let Some(bandwidth) = benchmark.and_then(|benchmark| benchmark.bandwidth.first()) else {
        return text + "Appendix B does not name this benchmark.\n";
    };
    let Some(throughput) = throughput(performance) else {
        return text + "The run has no throughput.\n";
    };
    let mean = |bytes: u64, samples: u64| (bytes > 0).then(|| bytes.div_ceil(samples.max(1)));
    let sum = |bytes: fn(&Node) -> u64| result.nodes.iter().map(bytes).fold(0, u64::saturating_add);
    let directions = [
        Direction {
            name: "to the SUT",
            formula: bandwidth.ingress_bytes(),
            real: mean(sum(|node| node.bytes_sent), result.samples.issued),
        },
        Direction {
            name: "from the SUT",
            formula: bandwidth.egress_bytes(),
            real: mean(sum(|node| node.bytes_received), result.samples.completed),
        },
    ];
    text += &format!(
        "{throughput:.1} samples per second. Formula: {}; to the SUT {}, from it {} (`{}`).\n\n",
        bandwidth.formula, bandwidth.rules_ingress, bandwidth.rules_egress, bandwidth.name
    );
    let mut all_met = Some(true);
    let rows = directions.map(|direction| {
        let bytes = direction.formula.max(direction.real.unwrap_or(0));
        let asked = throughput * bytes as f64;
        let met = capacity.map(|capacity| asked <= capacity && capacity > 0.0);
        all_met = all_met.zip(met).map(|(a, b)| a && b);
        let share = capacity.map(|capacity| format!("{:.1} %", 100.0 * asked / capacity));
        [
            direction.name.to_owned(),
            direction.formula.to_string(),
            known(&direction.real),
            format!("{asked:.0}"),
            format!("{:.2} Gb/s", asked * 8.0 / 1e9),
            known(&share),
        ]
    });
    let head = [
        "direction",
        "formula, bytes",
        "sent, bytes",
        "bytes per second",
        "bandwidth",
        "of the capacity",
    ];
    text += &table(head, rows);
    let place = &performance.name;
    text += match all_met {
        Some(true) => "\nThe interfaces carry it.\n",
        Some(false) => {
            problems.broken(
                27,
                place,
                "the network interfaces do not carry what Appendix B asks for",
            );
            "\n**The interfaces do not carry it.**\n"
        }
        None => {
            let text = "an interface on a route does not say how fast it is, so that Appendix B cannot be checked";
            problems.broken(27, place, text);
            "\nWhether the interfaces carry it is not known.\n"
        }
    };
    text
}

/// Samples per second: LoadGen's metric in Offline and Server; else what was answered in the time of the test.
fn throughput(run: &Run) -> Option<f64> {
    let metric = run.result.metric.as_ref().filter(|metric| metric.unit == "samples/s");
    let counted = || run.result.samples.completed as f64 / run.result.test_seconds;
    let throughput = metric.map_or_else(counted, |metric| metric.value);
    (throughput.is_finite() && throughput > 0.0).then_some(throughput)
}
