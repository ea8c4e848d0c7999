//! N24: an available system names the versions of all its parts (rules, section 6.2.3).

use netdiv_proto::v1::Machine;

use super::{
    findings::{Findings, listed},
    machines::{adapters, carriers, is_said, lacking, seen},
    subject::Subject,
};
use crate::Rule;

const N24: Rule = Rule::new(24);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    if subject.tree.is_none() {
        let text = "the status (available, preview, rdi) is in a submission's systems/*.json";
        found.unknown(N24, "", text);
    }
    let statuses: Vec<_> =
        subject.systems.iter().filter_map(|system| system.text("status")).collect();
    let available = statuses.iter().any(|status| status.eq_ignore_ascii_case("available"));
    if subject.tree.is_some() && !available {
        let text = format!("not asked of a system of status {}", listed(&statuses));
        return found.pass(N24, "", text);
    }
    for seen in seen(subject, N24, found) {
        let before = found.problems(N24);
        for (who, machine) in seen.machines() {
            let is_node = who != "the LoadGen node";
            let unknown = unnamed(machine, is_node);
            if !unknown.is_empty() {
                let text = format!("{who}: {} not known", unknown.join(", "));
                lacking(subject, N24, seen.place, text, found);
            }
        }
        let text = "kernel, operating system, drivers, framework and program of every machine are \
                    named";
        found.pass_unless_more(N24, before, seen.place, text);
    }
}

/// What is not known of a machine's software. No container image is as good as one: there need not be a container.
fn unnamed(machine: &Machine, is_node: bool) -> Vec<&'static str> {
    let drivers = carriers(machine).used.into_iter().flat_map(|used| adapters(machine, used));
    let drivers = drivers.into_iter().all(|adapter| is_said(adapter.driver.as_deref()));
    let accelerators = machine.accelerators.iter().all(|one| is_said(one.driver.as_deref()));
    let said = [
        ("kernel", is_said(machine.kernel.as_deref())),
        ("operating system", is_said(machine.operating_system.as_deref())),
        ("firmware (BIOS)", is_said(machine.bios_version.as_deref())),
        ("drivers of the interfaces", drivers),
        ("number of the accelerators", machine.accelerator_count.is_some()),
        ("drivers of the accelerators", accelerators),
        ("program", is_said(machine.program.as_deref())),
        ("framework", !is_node || is_said(machine.framework.as_deref())),
    ];
    said.iter().filter(|(_, said)| !said).map(|(what, _)| *what).collect()
}
