//! N1: the datacenter suite only (rules, section 6.2).

use crate::{
    Division,
    book::{Benchmark, Round},
    judge::{check_benchmark_round, check_suite},
    subject::{Findings, ResultEntry, Subject},
    tree::INTERACTIVE,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in subject.systems.iter().filter(|system| system.json.is_ok()) {
        let mut at = found.at(&system.place);
        match system.text("system_type").as_deref() {
            Some("datacenter") => at.or_pass("system_type is datacenter"),
            Some(other) => {
                at.fail(format!("system_type is `{other}`: only `datacenter` is allowed"));
            }
            None => at.unknown("system_type is missing (N36)"),
        }
    }
    for entry in &subject.results {
        let mut at = found.at(&entry.place);
        if entry.name.is_empty() {
            at.unknown("the benchmark is unknown: only its result.json names it");
        } else {
            at.fail_each(check_suite(subject.table, &entry.name));
        }
        at.or_pass("the benchmarks are of the datacenter suite");
        // For the Closed division, N2 judges this.
        if subject.division != Division::Closed {
            found.at(&entry.place).fail_each(round_violations(subject, entry));
        }
    }
}

/// Returns a finding if the round does not have the benchmark, and one if the folder of an
/// interactive variant is not the one that the round requires.
pub(super) fn round_violations(subject: &Subject, entry: &ResultEntry) -> Vec<String> {
    let (Some(benchmark), Some(round)) = (entry.benchmark, subject.round) else {
        return Vec::new();
    };
    let last = benchmark.rounds.last().and_then(|name| subject.table.round(*name));
    let last = last.filter(|_| subject.is_upcoming).map(|round| subject.table.build_for(round));
    let remedy = last.map_or_else(String::new, |build| format!(": {build}"));
    let wrong = check_benchmark_round(benchmark, round).map(|why| why + &remedy).into_iter();
    wrong.chain(wrong_interactive_folder(entry, benchmark, round)).collect()
}

/// Returns a finding if the folder of an interactive variant is not the one that the round
/// requires.
fn wrong_interactive_folder(
    entry: &ResultEntry,
    benchmark: &Benchmark,
    round: &Round,
) -> Option<String> {
    let of = benchmark.interactive_of.as_ref()?;
    let is_folder = entry.tree.as_ref()?.scenario.eq_ignore_ascii_case(INTERACTIVE);
    (is_folder != round.interactive_folder).then(|| {
        let (name, round_name) = (&benchmark.name, round.name);
        if round.interactive_folder {
            format!("in round {round_name}, {name} is the folder {INTERACTIVE} of {of}")
        } else {
            format!("round {round_name} has no folder {INTERACTIVE}, but the benchmark {name}")
        }
    })
}
