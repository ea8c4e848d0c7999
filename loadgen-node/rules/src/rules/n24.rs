//! N24: an available system names the versions of all its parts (rules, section 6.2.3).

use netdiv_contract::v1::{Interface, Machine};

use super::n03::{find_conflicting_values, version_mismatch};
use crate::{
    facts::{interfaces, machines::non_empty},
    record::RunResult,
    subject::{Findings, Subject, list_first, report_missing, runs_with_evidence},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let versions = |record: &RunResult| {
        let versions = &record.versions;
        let program =
            format!("{}, wire contract {}", versions.loadgen_node, versions.wire_contract);
        (format!("sources {}", versions.sources_sha256), program)
    };
    find_conflicting_values(subject, "versions of one program are", versions, found);
    found.records(subject, other_versions);
    unnamed_versions(subject, found);
}

/// Returns a finding for each program whose version in the record differs from the one that the
/// program's machine reported.
fn other_versions(record: &RunResult) -> Vec<String> {
    let Some(evidence) = &record.evidence else { return Vec::new() };
    let program = non_empty(&evidence.loadgen_node.program);
    let version = &record.versions.loadgen_node;
    let loadgen = version_mismatch("the LoadGen node", program, "loadgen-node ", version);
    let of_nodes = record.nodes.iter().filter_map(|node| {
        let program =
            evidence.nodes.get(&node.name).and_then(|machine| non_empty(&machine.program));
        let who = format!("node {}", node.name);
        version_mismatch(&who, program, "sut-node ", &node.software_version)
    });
    loadgen.into_iter().chain(of_nodes).collect()
}

fn unnamed_versions(subject: &Subject, found: &mut Findings) {
    let text = "the status (available, preview, rdi) in systems/*.json";
    found.tree(subject, text);
    let statuses: Vec<_> =
        subject.systems.iter().filter_map(|system| system.text("status")).collect();
    let available = statuses.iter().any(|status| status.eq_ignore_ascii_case("available"));
    if !statuses.is_empty() && !available {
        let text = format!("not required of a system with status {}", list_first(&statuses));
        return found.pass("", text);
    }
    for seen in runs_with_evidence(subject, found) {
        let mut at = found.at(seen.place);
        for (who, machine) in seen.machines() {
            let is_node = who != "the LoadGen node";
            let unknown = unnamed(machine, is_node);
            if !unknown.is_empty() {
                let text = format!("{who}: {} not known", unknown.join(", "));
                report_missing(subject, &text, &mut at);
            }
        }
        at.or_pass(
            "kernel, operating system, drivers, framework and program of every machine are named",
        );
    }
}

/// Returns the unknown parts of a machine's software. The container image is optional, because
/// there may be no container.
fn unnamed(machine: &Machine, is_node: bool) -> Vec<&'static str> {
    let is_said = |text: &Option<String>| non_empty(text).is_some();
    let carriers = interfaces::carriers(machine).used;
    let adapters = carriers
        .iter()
        .flat_map(|carrier| interfaces::adapters(machine, &carrier.name).into_values());
    let has_driver = |adapter: Option<&Interface>| adapter.is_some_and(|one| is_said(&one.driver));
    let drivers = adapters.into_iter().all(has_driver);
    let accelerators = machine.accelerators.iter().all(|one| is_said(&one.driver));
    let known = [
        ("kernel", is_said(&machine.kernel)),
        ("operating system", is_said(&machine.operating_system)),
        ("firmware (BIOS)", is_said(&machine.bios_version)),
        ("drivers of the interfaces", drivers),
        ("number of the accelerators", machine.accelerator_count.is_some()),
        ("drivers of the accelerators", accelerators),
        ("program", is_said(&machine.program)),
        ("framework", !is_node || is_said(&machine.framework)),
    ];
    known.iter().filter(|(_, known)| !known).map(|(what, _)| *what).collect()
}
