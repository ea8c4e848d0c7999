//! N24: an available system names the versions of all its parts (rules, section 6.2.3).

use netdiv_contract::v1::{Interface, Machine};

use super::{
    checked_folder::Subject,
    findings::{Findings, listed},
    machines::{lacking, seen},
};
use crate::{
    Rule::N24,
    facts::{interfaces::Interfaces as _, machines::said},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the status (available, preview, rdi) in systems/*.json";
    found.tree(subject, [N24], text);
    let statuses: Vec<_> =
        subject.systems.iter().filter_map(|system| system.text("status")).collect();
    let available = statuses.iter().any(|status| status.eq_ignore_ascii_case("available"));
    if !statuses.is_empty() && !available {
        let text = format!("not asked of a system of status {}", listed(&statuses));
        return found.pass(N24, "", text);
    }
    for seen in seen(subject, N24, found) {
        let mut at = found.at(N24, seen.place);
        for (who, machine) in seen.machines() {
            let is_node = who != "the LoadGen node";
            let unknown = unnamed(machine, is_node);
            if !unknown.is_empty() {
                let text = format!("{who}: {} not known", unknown.join(", "));
                lacking(subject, &text, &mut at);
            }
        }
        at.or_pass(
            "kernel, operating system, drivers, framework and program of every machine are named",
        );
    }
}

/// What is not known of a machine's software. No container image is as good as one: there need not be a container.
fn unnamed(machine: &Machine, is_node: bool) -> Vec<&'static str> {
    let is_said = |text: &Option<String>| said(text).is_some();
    let carriers = machine.carriers().used;
    let adapters =
        carriers.iter().flat_map(|carrier| machine.adapters(&carrier.name).into_values());
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
