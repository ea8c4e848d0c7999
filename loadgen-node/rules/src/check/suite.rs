//! N1: the datacenter suite only (rules, section 6.2).

use super::{
    checked_folder::{Entry, Subject},
    findings::Findings,
    judged::JudgedDivision,
};
use crate::{
    Rule::{N1, N2},
    book::{Benchmark, Round},
    judge::suite::{outside, outside_round},
    tree::INTERACTIVE,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in subject.systems.iter().filter(|system| system.json.is_ok()) {
        let mut at = found.at(N1, &system.place);
        match system.text("system_type").as_deref() {
            Some("datacenter") => at.or_pass("system_type is datacenter"),
            Some(other) => {
                at.fail(format!("system_type is `{other}`: only `datacenter` is allowed"));
            }
            None => at.unknown("system_type is missing (N36)"),
        }
    }
    for entry in &subject.results {
        let Entry { name, place, benchmark, .. } = entry;
        let mut at = found.at(N1, place);
        if name.is_empty() {
            at.unknown("which benchmark it is only its result.json says");
        } else {
            at.fail_each(outside(subject.table, name));
        }
        at.or_pass("the benchmarks are of the datacenter suite");
        // Each division has the benchmarks of the round.
        let rule = if subject.division == JudgedDivision::Closed { N2 } else { N1 };
        let mut at = found.at(rule, place);
        let of_round = benchmark.zip(subject.round);
        at.fail_each(of_round.and_then(|(known, round)| outside_round(known, round)));
        at.fail_each(of_round.and_then(|(known, round)| misplaced(entry, known, round)));
    }
}

/// Where an interactive variant does not lie as the round has it.
fn misplaced(entry: &Entry, benchmark: &Benchmark, round: &Round) -> Option<String> {
    let of = benchmark.interactive_of.as_ref()?;
    let is_folder = entry.tree.as_ref()?.scenario.eq_ignore_ascii_case(INTERACTIVE);
    (is_folder != round.interactive_folder).then(|| {
        let (name, round_name) = (&benchmark.name, round.name);
        if round.interactive_folder {
            format!("in round {round_name} {name} is the folder {INTERACTIVE} of {of}")
        } else {
            format!("round {round_name} has no folder {INTERACTIVE}, but the benchmark {name}")
        }
    })
}
