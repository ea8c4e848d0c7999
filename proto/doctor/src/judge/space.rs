//! Room for files and memory.

use crate::{
    facts::Facts,
    finding::{Finding, Remedy, Severity},
    id::Id,
    needs::Needs,
    report::Report,
};

/// Above it the system puts memory on the disk before it has to.
const SWAPPINESS: u64 = 10;

pub(super) fn judge(facts: &Facts, needs: &Needs, report: &mut Report) {
    files(facts, needs, report);
    memory(facts, needs, report);
    swap(facts, report);
}

fn files(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(open) = facts.condition.space.open_files else {
        return report.unknown("the limit of open files");
    };
    let wanted = needs.files;
    // A node raises the soft limit to the hard one itself.
    if open.hard >= wanted.all {
        return;
    }
    let severity = if open.hard < wanted.least { Severity::Problem } else { Severity::Warning };
    let seen = format!(
        "this process may open {} files (hard limit), and may need {}, of which {} for its connections and itself",
        open.hard, wanted.all, wanted.least
    );
    // The hard limit is root's to raise: in the shell that starts the program, or for its service.
    let remedy = Remedy::command(format!("ulimit -Hn {0} && ulimit -Sn {0}", wanted.all));
    report.add(Finding::of_machine(Id::OpenFiles, severity, seen, remedy));
}

fn memory(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(wanted) = needs.memory_bytes else { return };
    match facts.condition.space.memory {
        None => report.unknown("memory that is available"),
        Some(available) if available.bytes < wanted => {
            let seen = format!(
                "this process can have {} bytes of memory ({}), and its limits add up to {wanted}, without the model",
                available.bytes, available.limit
            );
            let remedy = Remedy::advice(
                "lower --max-in-flight-bytes, --receive-window-bytes or --max-connections, or give it more memory",
            );
            report.add(Finding::of_machine(Id::Memory, Severity::Warning, seen, remedy));
        }
        Some(_) => {}
    }
}

fn swap(facts: &Facts, report: &mut Report) {
    let space = &facts.condition.space;
    match (space.swap_bytes, space.swap_used_bytes) {
        (Some(0), _) => return,
        (Some(_), Some(used)) if used > 0 => {
            let seen = format!("{used} bytes of memory are on the disk");
            // The kernel refuses where memory has no room for it.
            let remedy = Remedy::command("swapoff -a");
            report.add(Finding::of_machine(Id::SwapUsed, Severity::Warning, seen, remedy));
        }
        (Some(_), Some(_)) => {}
        _ => return report.unknown("swap"),
    }
    match space.swappiness {
        None => report.unknown("vm.swappiness"),
        Some(swappiness) if swappiness > SWAPPINESS => {
            let seen = format!("there is swap, and vm.swappiness is {swappiness}");
            let remedy = Remedy::command("sysctl -w vm.swappiness=1");
            report.add(Finding::of_machine(Id::Swappiness, Severity::Note, seen, remedy));
        }
        Some(_) => {}
    }
}
