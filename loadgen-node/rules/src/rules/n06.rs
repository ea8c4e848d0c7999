//! N6: the system description shows OSI layers 1 to 4, and no interface carried more than it can
//! (rules, section 6.2.2).

use std::collections::BTreeSet;

use netdiv_contract::v1::{Interface, Machine};

use crate::{
    book::system_fields::network_fields,
    facts::{interfaces, rate::format_rate},
    placeholder::is_placeholder,
    record::{Carrier, InterfaceTraffic, RunResult, Transport},
    subject::{Findings, PlaceJudgement, RunEvidence, Subject, System, runs_with_evidence},
};

/// Fields of the system description that describe OSI layers 1 to 4.
const LAYERS: [&str; 4] = ["network_media", "network_rate", "network_type", "network_protocol"];

/// Factor by which a rate may exceed the rate that bounds it, because the counters and clocks of
/// two programs differ slightly.
const TOLERANCE: f64 = 1.02;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let seen = runs_with_evidence(subject, found);
    // N27 reports machines that are too slow for a submitted run, so that they are not reported
    // here.
    let submitted = subject.runs().filter(|(_, run)| run.kind.is_submitted());
    let submitted: BTreeSet<_> = submitted.map(|(_, run)| run.record_place.as_str()).collect();
    let is_submitted = |seen: &&RunEvidence| submitted.contains(seen.place);
    let known: BTreeSet<_> = seen
        .iter()
        .filter(is_submitted)
        .flat_map(overloaded_machines)
        .map(|(names, _)| names)
        .collect();
    for seen in &seen {
        let mut at = found.at(seen.place);
        speeds(seen, &mut at);
        let over =
            overloaded_machines(seen).into_iter().filter(|(names, _)| !known.contains(names));
        at.fail_each(over.map(|(_, text)| text));
        at.or_pass("no interface carried more than it can");
    }
    let text = "the fields of the network in systems/*.json";
    found.tree(subject, text);
    for system in &subject.systems {
        let mut at = found.at(&system.place);
        judge_filled_fields(system, &mut at);
        at.or_pass("the fields of the network are filled in");
    }
    found.records(subject, other_tls);
}

/// Returns a finding if a run over gRPC had the setting `tls_ca` but its record states no TLS, or
/// the reverse.
fn other_tls(record: &RunResult) -> Option<String> {
    let is_grpc = record.transport == Carrier::Network(Transport::Grpc);
    let given = record.recorded_settings().filter(|_| is_grpc)?;
    (given.contains_key("tls_ca") != record.tls)
        .then(|| "the run's tls_ca and the record's tls disagree".into())
}

fn judge_filled_fields(system: &System, at: &mut PlaceJudgement) {
    let says_nothing = |text: &String| is_placeholder(text) || text.eq_ignore_ascii_case("none");
    let empty: Vec<_> = network_fields()
        .filter_map(|field| Some((field, system.text(field).filter(says_nothing)?)))
        .map(|(field, text)| format!("{field} is `{text}`"))
        .collect();
    if !empty.is_empty() {
        at.fail(format!("{}: say what it is", empty.join(", ")));
    }
    let missing: Vec<_> = LAYERS.into_iter().filter(|name| system.text(name).is_none()).collect();
    if system.json.is_ok() && !missing.is_empty() {
        let missing = missing.join(", ");
        at.fail(format!(
            "OSI layers 1 to 4 are not described: write {missing} in the system description"
        ));
    }
}

/// Returns the speed of an interface in bits per second: its own speed, or the sum of its
/// underlying adapters' speeds if that is higher.
fn max_speed(machine: &Machine, carrier: &Interface) -> Option<f64> {
    let bits =
        |interface: &Interface| interface.speed_mbit_per_second.map(|speed| speed as f64 * 1e6);
    let below = interfaces::adapters(machine, &carrier.name).into_values();
    let sum: Option<f64> = below.map(|adapter| bits(adapter?)).sum();
    [bits(carrier), sum].into_iter().flatten().reduce(f64::max)
}

/// Compares the traffic of the LoadGen node's interfaces with their speeds.
fn speeds(seen: &RunEvidence, at: &mut PlaceJudgement) {
    let RunResult { test_seconds: seconds, interfaces: traffic, .. } = seen.record;
    if traffic.is_empty() || *seconds <= 0.0 {
        return at.unknown("the run did not count what its interfaces carried");
    }
    let loadgen = &seen.evidence.loadgen_node;
    for InterfaceTraffic { name, bytes_sent, bytes_received } in traffic {
        // The mean over the test, in the busier direction.
        let bits = *bytes_sent.max(bytes_received) as f64 * 8.0 / seconds;
        match interfaces::find(loadgen, name).and_then(|one| max_speed(loadgen, one)) {
            None => at.unknown(format!(
                "the speed of {name} is not known: state it in the evidence file"
            )),
            Some(speed) if bits > speed * TOLERANCE => at.fail(format!(
                "{name} carried more than its speed of {}: the record or the stated speed is wrong",
                format_rate(speed)
            )),
            Some(_) => {}
        }
    }
}

/// Returns the machines whose interfaces are too slow for the samples and responses of their nodes,
/// each as the names of these nodes and the finding.
fn overloaded_machines(seen: &RunEvidence) -> Vec<(String, String)> {
    let seconds = seen.record.test_seconds;
    let machines = seen.evidence.nodes_by_machine();
    let over = machines.iter().filter(|_| seconds > 0.0).filter_map(|(names, machine)| {
        let nodes = || seen.record.nodes.iter().filter(|node| names.contains(&node.name.as_str()));
        let [received, sent] = [
            nodes().map(|node| node.bytes_sent as f64).sum::<f64>(),
            nodes().map(|node| node.bytes_received as f64).sum::<f64>(),
        ];
        let asked = received.max(sent) * 8.0 / seconds;
        let speed = interfaces::bits_per_second(machine).filter(|speed| asked > speed * TOLERANCE)?;
        let names = names.join(" and ");
        let text = format!(
            "samples and responses of {names} need {}, and their interfaces have {}: the record or the stated speed is wrong",
            format_rate(asked),
            format_rate(speed)
        );
        Some((names, text))
    });
    over.collect()
}
