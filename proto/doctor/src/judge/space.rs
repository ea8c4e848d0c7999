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
    let (most, which) = if wanted.raises_limit { (open.hard, "hard") } else { (open.soft, "soft") };
    if most >= wanted.all {
        return;
    }
    let severity = if most < wanted.least { Severity::Problem } else { Severity::Warning };
    let seen = format!(
        "this process may open {most} files ({which} limit), and may need {}, of which {} for its connections and itself",
        wanted.all, wanted.least
    );
    // In the shell that starts the program. Only root can raise the hard limit.
    let remedy = match open.hard < wanted.all {
        true => Remedy::command(format!("ulimit -Hn {0} && ulimit -Sn {0}", wanted.all)),
        false => Remedy::command(format!("ulimit -Sn {}", wanted.all)),
    };
    report.add(Finding::of_machine(Id::OpenFiles, severity, seen, remedy));
}

fn memory(facts: &Facts, needs: &Needs, report: &mut Report) {
    let Some(wanted) = needs.memory else { return };
    let Some(available) = facts.condition.space.memory else {
        return report.unknown("memory that is available");
    };
    if available.bytes >= wanted.all {
        return;
    }
    let severity = if available.bytes < wanted.least { Severity::Warning } else { Severity::Note };
    let seen = format!(
        "this process can have {} bytes of memory ({}); without the model it may take {}, and {} with clients that fill \
         every limit",
        available.bytes, available.limit, wanted.least, wanted.all
    );
    let remedy = Remedy::advice(
        "lower --max-in-flight-bytes, --receive-window-bytes or --max-connections, or give it more memory",
    );
    report.add(Finding::of_machine(Id::Memory, severity, seen, remedy));
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
