//! N27: the interfaces carry what Appendix B asks for at the throughput that was measured (rules, section 5.1).

use netdiv_proto::v1::Machine;

use super::{
    findings::Findings,
    machines::{Seen, bits_per_second, seen},
    rate::in_words,
    shared,
    subject::{Entry, Kind, Run, Subject},
};
use crate::{
    Rule,
    benchmarks::{Bandwidth, Benchmark},
    official_log,
    result::{Node, RunResult},
    tree::documents,
};

const N27: Rule = Rule::new(27);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let described: Vec<_> = seen(subject, N27, found);
    for (entry, run) in subject.runs() {
        if !matches!(run.kind, Kind::Performance | Kind::Submission) {
            continue;
        }
        let Some(benchmark) = entry.benchmark else {
            found.unknown(N27, &run.place, "Appendix B has no row for the benchmark (N1)");
            continue;
        };
        let Some(seen) = described.iter().find(|seen| seen.place == run.record_place) else {
            continue;
        };
        let Some(rate) = throughput(entry, run) else {
            found.unknown(N27, &run.place, "LoadGen's log has no throughput");
            continue;
        };
        let need = need(benchmark, seen.record);
        let formula = need.ingress_bytes().max(need.egress_bytes());
        let bytes = sent(seen.record).max(formula as f64);
        let before = found.problems(N27);
        for (who, share, machine) in ends(seen) {
            let bits = rate * share * bytes * 8.0;
            match bits_per_second(&machine) {
                Some(speed) if bits <= speed => {}
                Some(speed) => {
                    let text = format!(
                        "{rate:.1} samples/s of {} need {} at {who}, whose interfaces have {}",
                        need.formula,
                        in_words(bits),
                        in_words(speed)
                    );
                    found.fail(N27, &run.record_place, text);
                }
                None => {
                    let text = format!(
                        "the speed of the interfaces of {who} is not known: state it in the \
                         machine's evidence file"
                    );
                    found.unknown(N27, &run.record_place, text);
                }
            }
        }
        let text = "the interfaces at both ends carry what Appendix B asks for";
        found.pass_unless_more(N27, before, &run.record_place, text);
    }
    document(subject, found);
}

fn throughput(entry: &Entry, run: &Run) -> Option<f64> {
    official_log::metric(entry.scenario?, run.detail()?).map(|metric| metric.value)
}

/// The row of the element type that was sent; else the usual one.
fn need<'a>(benchmark: &'a Benchmark, record: &RunResult) -> std::borrow::Cow<'a, Bandwidth> {
    let is_sent = |bandwidth: &&Bandwidth| {
        bandwidth.ingress.first().is_some_and(|elements| {
            record.input.iter().any(|tensor| {
                tensor.split(|c: char| !c.is_alphanumeric()).any(|word| word == elements.data_type)
            })
        })
    };
    let all = &benchmark.bandwidth;
    match all.iter().find(is_sent).or_else(|| all.first()) {
        Some(bandwidth) => std::borrow::Cow::Borrowed(bandwidth),
        None => std::borrow::Cow::Owned(Bandwidth {
            name: benchmark.name.clone(),
            formula: "nothing".into(),
            rules_ingress: String::new(),
            rules_egress: String::new(),
            ingress: Vec::new(),
            egress: Vec::new(),
        }),
    }
}

/// Bytes of a sample, or of its response if that is longer, on average as they were sent.
fn sent(record: &RunResult) -> f64 {
    let sum = |of: fn(&Node) -> u64| record.nodes.iter().map(|node| of(node) as f64).sum::<f64>();
    let bytes = sum(|node| node.bytes_sent).max(sum(|node| node.bytes_received));
    bytes / record.samples.issued.max(1) as f64
}

/// The machines at both ends, each with words for it and the part of all samples that went through it. Nodes on one
/// machine share its interfaces, of which each counts once.
fn ends(seen: &Seen) -> Vec<(String, f64, Machine)> {
    let Seen { record, evidence, .. } = seen;
    let all: f64 = record.nodes.iter().map(|node| node.sent as f64).sum();
    let sent = |name: &str| {
        let nodes = record.nodes.iter().filter(|node| node.name == name);
        nodes.map(|node| node.sent as f64).sum::<f64>()
    };
    let mut ends = vec![("the LoadGen node".to_owned(), 1.0, evidence.loadgen_node.clone())];
    for (names, machine) in shared::machines(evidence) {
        let share = names.iter().map(|name| sent(name)).sum::<f64>() / all.max(1.0);
        let mut machine = machine.clone();
        let routes = names.iter().filter_map(|name| evidence.nodes.get(*name));
        machine.routes = routes.flat_map(|node| node.routes.clone()).collect();
        let who = match names.as_slice() {
            [name] => format!("node {name}"),
            names => format!("the machine of nodes {}", names.join(" and ")),
        };
        ends.push((who, share, machine));
    }
    ends
}

fn document(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else {
        let text = "the report on the bandwidth is in a submission's documentation";
        return found.unknown(N27, "", text);
    };
    let place = tree.home.document(documents::BANDWIDTH);
    match tree.text(&place) {
        Some(_) => found.pass(N27, place, "there is a report"),
        None => {
            let text = "is missing or empty: compare the interfaces with Appendix B in it";
            found.fail(N27, place, text);
        }
    }
}
