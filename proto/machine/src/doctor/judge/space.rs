//! Judgement of open files and memory.

use crate::doctor::{
    data::Severity,
    facts::Facts,
    finding::{Draft, Id},
    needs::Needs,
    report::Report,
};

/// Maximum of `vm.swappiness` at which the system swaps only when it must.
const SWAPPINESS: u64 = 10;

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    files(facts, needs, report);
    memory(facts, needs, report);
    swap(facts, report);
}

fn files(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(open) = facts.condition.space.open_files else {
        return report.unknown("open-files", &[]);
    };
    let wanted = needs.files;
    let (most, which) = if wanted.raises_limit { (open.hard, "hard") } else { (open.soft, "soft") };
    if most >= wanted.all {
        return;
    }
    let severity = if most < wanted.least { Severity::Problem } else { Severity::Warning };
    let draft = Draft::of_machine(Id::OpenFiles).severity(severity);
    let draft = draft.fact("limit", most).fact("kind", which);
    let remedy = if open.hard < wanted.all { "hard" } else { "soft" };
    report.add(draft.fact("all", wanted.all).fact("least", wanted.least).remedy(remedy));
}

fn memory(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(wanted) = needs.memory else { return };
    let Some(available) = facts.condition.space.memory else {
        return report.unknown("memory", &[]);
    };
    if available.bytes >= wanted.all {
        return;
    }
    let severity = if available.bytes < wanted.least { Severity::Warning } else { Severity::Note };
    let draft = Draft::of_machine(Id::Memory).severity(severity);
    let draft = draft.fact("available", available.bytes).fact("limit", available.limit);
    report.add(draft.fact("least", wanted.least).fact("all", wanted.all));
}

fn swap(facts: &Facts, report: &mut Report) {
    let space = &facts.condition.space;
    match (space.swap_bytes, space.swap_used_bytes) {
        (Some(0), _) => return,
        (Some(_), Some(used)) if used > 0 => {
            report.add(Draft::of_machine(Id::SwapUsed).fact("used", used));
        }
        (Some(_), Some(_)) => {}
        _ => return report.unknown("swap", &[]),
    }
    match space.swappiness {
        None => report.unknown("key", &[("key", "vm.swappiness".into())]),
        Some(swappiness) if swappiness > SWAPPINESS => {
            report.add(Draft::of_machine(Id::Swappiness).fact("swappiness", swappiness));
        }
        Some(_) => {}
    }
}
