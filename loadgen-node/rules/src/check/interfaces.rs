//! N22 by the evidence: what the interfaces in use are (rules, section 6.2.3). The switches are in `documents.rs`.

use std::collections::BTreeSet;

use netdiv_contract::v1::{Interface, Machine};

use super::{
    checked_folder::Subject,
    findings::Findings,
    machines::{Seen, lacking, seen},
};
use crate::{
    Rule,
    facts::{
        interfaces::Interfaces as _,
        machines::{LOADGEN, said},
    },
};

const N22: Rule = Rule::new(22);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    of_runs(subject, found);
    published(subject, found);
}

/// What the runs themselves tell.
pub(super) fn of_runs(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N22, found) {
        let before = found.problems(N22);
        interfaces(subject, &seen, found);
        let text = "model, driver, firmware, speed and MTU of every interface in use are known";
        found.pass_unless_more(N22, before, seen.place, text);
    }
}

fn interfaces(subject: &Subject, seen: &Seen, found: &mut Findings) {
    for (who, machine) in seen.machines() {
        let carriers = machine.carriers();
        if carriers.used.is_empty() || !carriers.unknown.is_empty() {
            let text = format!("{who}: the interfaces of its routes are not all known");
            found.unknown(N22, seen.place, text);
        }
        for interface in carriers.used {
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
            let unknown = known.iter().filter(|(_, known)| !known).map(|(what, _)| *what);
            let unknown: Vec<_> = unknown.collect();
            if !unknown.is_empty() {
                let (name, unknown) = (&interface.name, unknown.join(", "));
                let text = format!("{unknown} of {name} of {who} not known");
                lacking(subject, N22, seen.place, text, found);
            }
        }
    }
}

/// What the submission shows of a machine is what the machine said in the runs.
fn published(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    let evidence = || subject.records().filter_map(|(_, record)| record.evidence.as_ref());
    let names: BTreeSet<&str> = evidence()
        .filter(|all| !all.nodes.is_empty())
        .flat_map(|all| all.machines())
        .map(|(name, _)| name)
        .collect();
    for name in names {
        let place = tree.home.evidence(name);
        let Some(text) = tree.text(&place) else { continue };
        let shown: Option<Machine> = serde_json::from_str(&text).ok();
        let mut said = evidence().filter_map(|all| match name {
            LOADGEN => Some(&all.loadgen_node),
            _ => all.nodes.get(name),
        });
        if !said.any(|machine| shown.as_ref() == Some(machine)) {
            let text = "is not what the machine said in any run: take that from a result.json";
            found.fail(N22, place, text);
        }
    }
}
