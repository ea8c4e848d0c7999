//! N15: `Name()` asks each node, and each has its own name (rules, section 6.2.1).

use std::collections::BTreeSet;

use crate::{
    record::{Node, RunResult},
    subject::{Findings, PlaceJudgement, ResultEntry, RunFiles, Subject, System, missing_key},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        match detail.text("sut_name") {
            Some(name) => nodes(subject, entry, run, name, found.at(&run.place)),
            None => found.fail(&run.place, missing_key("sut_name")),
        }
    }
    for (place, nodes) in subject.shared_machines() {
        let text = format!("{nodes} are on one machine, each with its own name");
        found.pass(place, text);
    }
}

fn nodes(
    subject: &Subject,
    entry: &ResultEntry,
    run: &RunFiles,
    name: &str,
    mut at: PlaceJudgement,
) {
    let Some(listed) = bracketed(name) else {
        let text = format!("sut_name is `{name}`, without the nodes' names in brackets");
        return match subject.is_foreign() {
            true => at.unknown(format!(
                "{text}, as netdiv writes them: check by hand how it is composed"
            )),
            false => at.fail(format!("{text}: submit the log as LoadGen wrote it")),
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
        at.fail_each(lost_nodes(record));
    }
    let is_its = |system: &&System| entry.system() == Some(&system.name);
    if let Some(system) = subject.systems.iter().find(is_its)
        && let Some(count) = other_count(system, run, listed.len())
    {
        let text = format!("number_of_nodes is {count}, and sut_name lists {}", listed.len());
        at.fail_at(&system.place, text);
    }
    at.or_pass("sut_name lists every node, each once");
}

/// Returns findings about nodes that were lost during the run, and about nodes whose samples were
/// reassigned although the record does not mark them as lost. In the Closed division, N2 reports
/// these.
pub(super) fn lost_nodes(record: &RunResult) -> Vec<String> {
    let lost = record.nodes.iter().filter(|node| node.lost.is_some()).map(|node| {
        format!("node {} was lost during the run: the named SUT did not run to the end", node.name)
    });
    let is_handed_on = |node: &&Node| node.lost.is_none() && node.redispatched > 0;
    let handed_on = record.nodes.iter().filter(is_handed_on).map(|Node { name, redispatched, .. }| {
        format!("samples of node {name} ({redispatched}) were reassigned to other nodes, but the record does not mark it as \
             lost: run again")
    });
    lost.chain(handed_on).collect()
}

/// Returns the field `number_of_nodes` if it is neither `nodes`, the number of a run's nodes, nor
/// the number of their machines. Several nodes may share a machine.
fn other_count(system: &System, run: &RunFiles, nodes: usize) -> Option<String> {
    let count = system.text("number_of_nodes")?;
    let evidence = run.result().and_then(|record| record.evidence.as_ref());
    let machines = evidence.map_or(0, |evidence| evidence.nodes_by_machine().len());
    let is_known = [nodes, machines].map(|number| number.to_string()).contains(&count);
    (!is_known).then_some(count)
}

/// Returns the nodes' names, which the SUT's name contains in its last brackets.
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
