//! N6: the system description shows OSI layers 1 to 4, and agrees with the runs (rules, section
//! 6.2.2).

use std::{collections::BTreeSet, net::IpAddr};

use netdiv_contract::v1::{Interface, Machine};

use super::description;
use crate::{
    Rule,
    book::system_fields::network_fields,
    derived::{cluster::Cluster, network},
    facts::{
        interfaces::Interfaces as _,
        machines::ip,
        rate::{bits_per_second, format_rate},
    },
    judge::statements::has_other_numbers,
    placeholder::is_placeholder,
    record::{Carrier, RunResult, Transport},
    subject::{
        Findings, PlaceJudgement, RunEvidence, Subject, System, runs_with_evidence, topology,
    },
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
        found.at(&system.place).fail_each(topologies(system));
        let mut at = found.at(&system.place);
        judge_filled_fields(system, &mut at);
        for seen in seen.iter().filter(|seen| seen.system == Some(system.name.as_str())) {
            at.fail_each(protocol(system, seen));
            rate(system, seen, &mut at);
        }
        at.or_pass("the fields of the network are filled in and agree with the runs");
    }
    description::compare(subject, Rule::N6, found);
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

/// Returns a finding if the fields `network_topology` and `host_networking_topology` are both lists
/// of links, and the lists differ.
fn topologies(system: &System) -> Option<String> {
    let (network, host) = ("network_topology", "host_networking_topology");
    let links = |field: &str| topology::links(&system.text(field)?);
    let (here, there) = (links(network)?, links(host)?);
    let is_same = here.len() == there.len() && here.iter().all(|link| there.contains(link));
    (!is_same).then(|| {
        format!("{host} has other links than {network}: write the same links, or a sentence")
    })
}

fn judge_filled_fields(system: &System, at: &mut PlaceJudgement) {
    for field in network_fields() {
        let says_nothing =
            |text: &String| is_placeholder(text) || text.eq_ignore_ascii_case("none");
        if let Some(text) = system.text(field).filter(says_nothing) {
            at.fail(format!("{field} is `{text}`: say what it is"));
        }
    }
    let missing: Vec<_> = LAYERS.into_iter().filter(|name| system.text(name).is_none()).collect();
    if system.json.is_ok() && !missing.is_empty() {
        let missing = missing.join(", ");
        at.fail(format!(
            "OSI layers 1 to 4 are not described: write {missing} in the system description"
        ));
    }
}

/// Returns the differences between the field `network_protocol`, for layers 3 and 4, and the
/// protocol of a run. If the runs used several protocols, the field separates them by ` / `.
fn protocol(system: &System, seen: &RunEvidence) -> Vec<String> {
    let Some(text) = system.text("network_protocol") else { return Vec::new() };
    let mut parts: Vec<_> = text.split(" / ").map(|part| differences(part, seen)).collect();
    if parts.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let wrong = parts.swap_remove(0).into_iter();
    wrong.map(|what| format!("network_protocol is `{text}`, but {what}")).collect()
}

/// Returns the differences between `text`, one of the stated protocols, and the protocol of a run.
fn differences(text: &str, seen: &RunEvidence) -> Vec<String> {
    let layers = layers(text, seen);
    if !layers.is_empty() {
        return layers.into_iter().map(Into::into).collect();
    }
    let ran = network::protocol(seen.record, &Cluster::of(seen.record));
    let other = ran.filter(|ran| has_other_numbers(&text.replace("TCPv", "IPv"), ran));
    other.map(|ran| format!("the runs used {ran}")).into_iter().collect()
}

fn layers(text: &str, seen: &RunEvidence) -> Vec<&'static str> {
    let lower = text.to_lowercase();
    let says = |word: &str| lower.contains(word);
    let mut all = Vec::new();
    match seen.record.transport {
        Carrier::Network(Transport::Grpc) => {
            let says_tls = says("tls") && !says("no tls");
            match (seen.record.tls, says_tls) {
                (true, false) => all.push("the runs used TLS"),
                (false, true) => all.push("the runs did not use TLS"),
                _ => {}
            }
            if !says("tcp") {
                all.push("the runs used gRPC, which is on TCP");
            } else if says("quic") {
                all.push("the runs used gRPC");
            }
        }
        Carrier::Network(Transport::Quic) if !says("quic") && !says("udp") => {
            all.push("the runs used QUIC, which is on UDP");
        }
        _ => {}
    }
    let routes = seen.evidence.loadgen_node.routes.iter();
    let addresses = routes.filter_map(|route| ip(route.local_address.as_ref()?));
    let addresses: Vec<IpAddr> = addresses.collect();
    let (v4, v6) = (addresses.iter().any(IpAddr::is_ipv4), addresses.iter().any(IpAddr::is_ipv6));
    let (says_v4, says_v6) = (says("ipv4") || says("tcpv4"), says("ipv6") || says("tcpv6"));
    if v6 && (!says_v6 || says_v4 && !v4) {
        all.push("the addresses in use are IPv6");
    } else if v4 && !v6 && says_v6 {
        all.push("the addresses in use are IPv4");
    } else if !says("ip") && !says("infiniband") {
        all.push("it does not name layer 3: state the version of IP");
    }
    all
}

/// Judges the field `network_rate`, for layer 1: the interfaces must have the stated rates, and the
/// runs must not exceed them. If machines have different rates, the field separates them by ` / `.
fn rate(system: &System, seen: &RunEvidence, at: &mut PlaceJudgement) {
    let Some(text) = system.text("network_rate") else { return };
    let rates: Option<Vec<f64>> = text.split(" / ").map(bits_per_second).collect();
    let Some(rates) = rates else {
        return at.fail(format!("network_rate is `{text}`: write it like `100 Gb/s`"));
    };
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let loadgen = &seen.evidence.loadgen_node;
    for (name, bits) in traffic(seen) {
        // The rate may be stated per adapter of a bond.
        let most = most * loadgen.adapters(&name).len() as f64;
        if bits > most * TOLERANCE {
            let most = format_rate(most);
            at.fail(format!("network_rate is `{text}`, but {name} carried more than {most}"));
        }
    }
    let mut best = 0.0_f64;
    for (who, machine) in seen.machines() {
        for carrier in machine.carriers().used {
            let Some(speed) = max_speed(machine, carrier) else { continue };
            best = best.max(speed);
            if least > speed * TOLERANCE {
                at.fail(format!(
                    "network_rate is `{text}`, but {} of {who} has {}",
                    carrier.name,
                    format_rate(speed)
                ));
            }
        }
    }
    let links = system.text("network_topology").and_then(|text| topology::links(&text));
    let links: Option<Vec<f64>> =
        links.into_iter().flatten().map(|link| bits_per_second(&link.text)).collect();
    let fastest = links.into_iter().flatten().reduce(f64::max);
    let what = match fastest {
        _ if !at.is_kept() => return,
        _ if best > 0.0 && most > best * TOLERANCE => "no interface of the runs has such a rate",
        Some(link) if least > link * TOLERANCE => "no link of network_topology has that rate",
        _ => return,
    };
    at.fail(format!("network_rate is `{text}`, but {what}: write what the links carry"));
}

/// Returns the speed of an interface in bits per second: its own speed, or the sum of its
/// underlying adapters' speeds if that is higher.
fn max_speed(machine: &Machine, carrier: &Interface) -> Option<f64> {
    let bits =
        |interface: &Interface| interface.speed_mbit_per_second.map(|speed| speed as f64 * 1e6);
    let below = machine.adapters(&carrier.name).into_values();
    let sum: Option<f64> = below.map(|adapter| bits(adapter?)).sum();
    [bits(carrier), sum].into_iter().flatten().reduce(f64::max)
}

/// Compares the traffic of the LoadGen node's interfaces with their speeds.
fn speeds(seen: &RunEvidence, at: &mut PlaceJudgement) {
    let traffic = traffic(seen);
    if traffic.is_empty() {
        at.unknown("the run did not count what its interfaces carried");
    }
    let loadgen = &seen.evidence.loadgen_node;
    for (name, bits) in traffic {
        match loadgen.interface(&name).and_then(|one| max_speed(loadgen, one)) {
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
        let speed = machine.bits_per_second().filter(|speed| asked > speed * TOLERANCE)?;
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

/// Returns the name of each interface of the LoadGen node, and its mean bits per second over the
/// test in the busier direction.
fn traffic(seen: &RunEvidence) -> Vec<(String, f64)> {
    let seconds = seen.record.test_seconds;
    let carried = seen.record.interfaces.iter().filter(|_| seconds > 0.0);
    carried
        .map(|traffic| {
            let bytes = traffic.bytes_sent.max(traffic.bytes_received);
            (traffic.name.clone(), bytes as f64 * 8.0 / seconds)
        })
        .collect()
}
