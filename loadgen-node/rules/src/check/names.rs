//! N13 to N15: what LoadGen calls the system under test (rules, section 6.2.1).

use std::collections::BTreeSet;

use super::{
    checked_folder::{Entry, Run, Subject},
    findings::Findings,
};
use crate::Rule;

const N13: Rule = Rule::new(13);
const N14: Rule = Rule::new(14);
const N15: Rule = Rule::new(15);

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
        if name.contains("Network SUT") {
            found.pass(N13, place, "sut_name has it in every detail log");
        } else {
            let text = format!("sut_name is `{name}`, without \"Network SUT\"");
            found.fail(N13, place, text);
        }
        nodes(subject, entry, run, name, found);
        round_trip(run, detail.integer("get_sut_name_duration_ns"), found);
    }
    if subject.details().next().is_none() {
        for rule in [N13, N14, N15] {
            found.unknown(rule, "", "no detail log can be read");
        }
    }
}

fn round_trip(run: &Run, duration: Option<u64>, found: &mut Findings) {
    let place = &run.place;
    let Some(duration) = duration else {
        let text = "the detail log has no get_sut_name_duration_ns: a LoadGen of v3.0 or later \
                    writes it";
        return found.fail(N14, place, text);
    };
    if duration <= LEAST_NS {
        let text = format!(
            "Name() took {duration} ns, in which nothing crosses a network: ask the nodes each time"
        );
        return found.fail(N14, place, text);
    }
    let Some(record) = run.result() else {
        let text = format!(
            "Name() took {duration} ns; without the run's result.json nothing tells how long a \
             round trip is"
        );
        return found.unknown(N14, place, text);
    };
    // The least of some round trips to the farthest node; half of it, since a route has good and bad moments.
    let farthest = record.nodes.iter().map(|node| node.round_trip_ns).max().unwrap_or(0);
    if record.nodes.iter().any(|node| node.round_trip_ns == 0) {
        let text = "the record does not say how long a round trip to every node takes";
        return found.unknown(N14, &run.record_place, text);
    }
    if duration < farthest / 2 {
        let text = format!(
            "Name() took {duration} ns, and a round trip to the farthest node takes {farthest} ns"
        );
        return found.fail(N14, place, text);
    }
    found.pass(N14, place, "Name() took as long as a round trip to the farthest node, or longer");
}

fn nodes(subject: &Subject, entry: &Entry, run: &Run, name: &str, found: &mut Findings) {
    let place = &run.place;
    let Some(listed) = bracketed(name) else {
        let text = format!("sut_name is `{name}`: the nodes' names, in brackets, are missing");
        return found.fail(N15, place, text);
    };
    let before = found.problems(N15);
    let names: BTreeSet<_> = listed.iter().copied().collect();
    if names.len() < listed.len() {
        let text = format!("sut_name is `{name}`: two nodes have the same name; rename one");
        found.fail(N15, place, text);
    }
    match run.result() {
        None => {
            let text = "without the run's result.json nothing tells which nodes there were";
            found.unknown(N15, place, text);
        }
        Some(record) => {
            let known: BTreeSet<_> = record.nodes.iter().map(|node| node.name.as_str()).collect();
            if known != names || known.len() < record.nodes.len() {
                let known: Vec<_> = record.nodes.iter().map(|node| node.name.as_str()).collect();
                let text =
                    format!("sut_name is `{name}`, the run's nodes are {}", known.join(", "));
                found.fail(N15, place, text);
            }
            for lost in record.nodes.iter().filter(|node| node.lost.is_some()) {
                let name = &lost.name;
                let text = format!(
                    "node {name} was lost in mid-run: the SUT that was named did not run to the end"
                );
                found.fail(N15, place, text);
            }
            if record.sut_name.as_deref().is_some_and(|recorded| recorded != name) {
                found.fail(N15, place, "result.json has another sut_name than LoadGen's log");
            }
        }
    }
    let system = entry
        .tree
        .as_ref()
        .and_then(|place| subject.systems.iter().find(|system| system.name == place.system));
    // Nodes may share a machine.
    let evidence = run.result().and_then(|record| record.evidence.as_ref());
    let machines = evidence.map_or(0, |evidence| evidence.nodes_by_machine().len());
    if let Some(system) = system
        && let Some(count) = system.text("number_of_nodes")
        && ![listed.len(), machines].map(|number| number.to_string()).contains(&count)
    {
        let text = format!("number_of_nodes is {count}, and sut_name lists {}", listed.len());
        found.fail(N15, &system.place, text);
    }
    found.pass_unless_more(N15, before, place, "sut_name lists every node, each once");
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
