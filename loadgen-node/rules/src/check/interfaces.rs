//! N22 by the evidence: what the interfaces in use are (rules, section 6.2.3). The switches are in `documents.rs`.

use std::collections::BTreeSet;

use netdiv_contract::v1::{Interface, Machine};

use super::{
    checked_folder::{Subject, Tree},
    files::entries,
    findings::Findings,
    machines::{lacking, seen},
};
use crate::{
    Rule::N22,
    facts::{interfaces::Interfaces as _, machines::said, markdown_links::targets},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    of_runs(subject, found);
    published(subject, found);
}

/// What the runs themselves tell.
fn of_runs(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N22, found) {
        let mut at = found.at(N22, seen.place);
        for (who, machine) in seen.machines() {
            let carriers = machine.carriers();
            if carriers.used.is_empty() || !carriers.unknown.is_empty() {
                at.unknown(format!("{who}: the interfaces of its routes are not all known"));
            }
            for interface in carriers.used {
                let unknown = unknown(machine, interface);
                if !unknown.is_empty() {
                    let (name, unknown) = (&interface.name, unknown.join(", "));
                    let text = format!("{unknown} of {name} of {who} not known");
                    lacking(subject, &text, &mut at);
                }
            }
        }
        at.or_pass("model, driver, firmware, speed and MTU of every interface in use are known");
    }
}

/// What is not known of an interface in use, or of an adapter that it stands on.
fn unknown(machine: &Machine, interface: &Interface) -> Vec<&'static str> {
    let adapters = machine.adapters(&interface.name);
    let all = |of: fn(&Interface) -> &Option<String>| {
        adapters.values().all(|adapter| adapter.is_some_and(|one| said(of(one)).is_some()))
    };
    let known = [
        ("model", all(|adapter| &adapter.model)),
        ("driver", all(|adapter| &adapter.driver)),
        ("firmware", all(|adapter| &adapter.firmware)),
        ("speed", interface.speed_mbit_per_second.is_some()),
        ("MTU", interface.mtu_bytes.is_some()),
    ];
    known.iter().filter(|(_, known)| !known).map(|(what, _)| *what).collect()
}

/// What the submission shows of a machine is what the machine said in the runs.
fn published(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    let evidence = || subject.records().filter_map(|(_, record)| record.evidence.as_ref());
    let machines = || evidence().flat_map(|all| all.machines());
    let with_nodes = evidence().filter(|all| !all.nodes.is_empty());
    let names: BTreeSet<_> =
        with_nodes.flat_map(|all| all.machines()).map(|(name, _)| name).collect();
    strangers(tree, &names, found);
    // A record that is missing, or that nothing can be judged by, may have been the only one in which a machine said this.
    let all_known = subject.runs().all(|(_, run)| run.result().is_some());
    for name in names {
        let place = tree.home.evidence(name);
        let Some(text) = tree.text(&place) else {
            let text = "is missing or empty: put there what the machine says in a result.json";
            found.fail(N22, place, text);
            continue;
        };
        let shown: Option<Machine> = serde_json::from_str(&text).ok();
        let is_shown = |machine: &Machine| shown.as_ref() == Some(machine);
        if all_known && !machines().any(|(said_by, machine)| said_by == name && is_shown(machine)) {
            let text = "is not what the machine said in any run: take that from a result.json";
            found.fail(N22, place, text);
        }
    }
}

/// Files among the evidence that are of no machine, and that the architecture does not lead to either.
fn strangers(tree: &Tree, names: &BTreeSet<&str>, found: &mut Findings) {
    let architecture = tree.document(documents::ARCHITECTURE).filter(|_| !names.is_empty());
    let Some(architecture) = architecture else { return };
    let linked = targets(&architecture);
    let folder = tree.home.document("evidence");
    for (name, _) in entries(&tree.path(&folder)).unwrap_or_default() {
        let is_of_machine = name.strip_suffix(".json").is_some_and(|name| names.contains(name));
        if !is_of_machine && !linked.contains(&format!("evidence/{name}").as_str()) {
            let text = "is of a machine that no run knows: remove it, or let system-architecture.md lead to it";
            found.fail(N22, format!("{folder}/{name}"), text);
        }
    }
}
