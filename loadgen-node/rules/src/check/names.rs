//! N13 to N15: what LoadGen calls the system under test (rules, section 6.2.1).

use std::collections::BTreeSet;

use super::{
    checked_folder::{Entry, Run, Subject, System},
    findings::{At, Findings},
};
use crate::{
    Rule::{N13, N14, N15},
    judge::sut_name,
    result::Node,
};

/// Every implementation without a round trip needed less, every one with a round trip more.
const LEAST_NS: u64 = 10_000;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        let place = &run.place;
        let Some(name) = detail.text("sut_name") else {
            for rule in [N13, N15] {
                found.fail(rule, place, "the detail log has no sut_name");
            }
            continue;
        };
        let mut at = found.at(N13, place);
        at.fail_each(sut_name::wrong(name).map(|what| format!("sut_name {what}")));
        at.or_pass("sut_name has it in every detail log");
        nodes(subject, entry, run, name, found.at(N15, place));
        round_trip(run, detail.integer("get_sut_name_duration_ns"), found.at(N14, place));
    }
}

fn round_trip(run: &Run, duration: Option<u64>, mut at: At) {
    let Some(duration) = duration else {
        return at.fail(
            "the detail log has no get_sut_name_duration_ns: a LoadGen of v3.0 or later writes it",
        );
    };
    if duration <= LEAST_NS {
        return at.fail(format!(
            "Name() took {duration} ns, in which nothing crosses a network: ask the nodes each time"
        ));
    }
    let Some(record) = run.result() else { return };
    let round_trips = || record.nodes.iter().map(|node| node.round_trip_ns);
    if round_trips().any(|ns| ns == 0) {
        let text = "the record does not say how long a round trip to every node takes";
        return at.unknown_there(&run.record_place, text);
    }
    // The least of some round trips to the farthest node; half of it, since a route has good and bad moments.
    let farthest = round_trips().max().unwrap_or(0);
    if duration < farthest / 2 {
        at.fail(format!(
            "Name() took {duration} ns, and a round trip to the farthest node takes {farthest} ns"
        ));
    }
    at.or_pass("Name() took as long as a round trip to the farthest node, or longer");
}

fn nodes(subject: &Subject, entry: &Entry, run: &Run, name: &str, mut at: At) {
    let Some(listed) = bracketed(name) else {
        let text = format!("sut_name is `{name}`, without the nodes' names in brackets");
        return match subject.is_foreign() {
            true => {
                at.unknown(format!("{text}, as netdiv writes them: read how it was put together"))
            }
            false => at.fail(format!("{text}: take the log as LoadGen wrote it")),
        };
    };
    let names: BTreeSet<_> = listed.iter().copied().collect();
    if names.len() < listed.len() {
        at.fail(format!("sut_name is `{name}`: two nodes have the same name; rename one"));
    }
    if let Some(record) = run.result() {
        let recorded: Vec<_> = record.nodes.iter().map(|node| node.name.as_str()).collect();
        let known: BTreeSet<_> = recorded.iter().copied().collect();
        if known != names || known.len() < recorded.len() {
            let recorded = recorded.join(", ");
            at.fail(format!("sut_name is `{name}`, the run's nodes are {recorded}"));
        }
        for node in record.nodes.iter().filter(|node| node.lost.is_some()) {
            at.fail(format!(
                "node {} was lost in mid-run: the SUT that was named did not run to the end",
                node.name
            ));
        }
        let is_handed_on = |node: &&Node| node.lost.is_none() && node.redispatched > 0;
        for Node { name, redispatched, .. } in record.nodes.iter().filter(is_handed_on) {
            at.fail(format!(
                "{redispatched} samples of node {name} went to other nodes, and it is not said to be lost: run again"
            ));
        }
        if record.sut_name.as_deref() != Some(name) {
            at.fail("result.json has another sut_name than LoadGen's log, or none");
        }
    }
    let is_its = |system: &&System| entry.system() == Some(&system.name);
    // Nodes may share a machine.
    let evidence = run.result().and_then(|record| record.evidence.as_ref());
    let machines = evidence.map_or(0, |evidence| evidence.nodes_by_machine().len());
    if let Some(system) = subject.systems.iter().find(is_its)
        && let Some(count) = system.text("number_of_nodes")
        && ![listed.len(), machines].map(|number| number.to_string()).contains(&count)
    {
        let text = format!("number_of_nodes is {count}, and sut_name lists {}", listed.len());
        at.fail_there(&system.place, text);
    }
    at.or_pass("sut_name lists every node, each once");
}

/// The names in the last brackets.
fn bracketed(name: &str) -> Option<Vec<&str>> {
    let (_, rest) = name.rsplit_once('[')?;
    let (list, _) = rest.split_once(']')?;
    let names: Vec<_> = list.split(',').map(str::trim).collect();
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_the_last_brackets() {
        let names = bracketed("acme [x] Network SUT [node-a, node-b]");
        assert_eq!(names, Some(vec!["node-a", "node-b"]));
        for name in ["Network SUT", "Network SUT []", "Network SUT [a, ]", "Network SUT [a"] {
            assert_eq!(bracketed(name), None, "{name}");
        }
    }
}
