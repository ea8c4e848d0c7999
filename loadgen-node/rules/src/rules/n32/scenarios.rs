//! Requires the scenarios of the suite: of each run, and of each benchmark of a system.

use crate::{
    Scenario,
    book::Benchmark,
    subject::{Findings, ResultEntry, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        if let Some(benchmark) = entry.benchmark
            && entry.scenario.is_none_or(|scenario| !benchmark.scenarios.contains(&scenario))
        {
            let (name, scenarios) = (&benchmark.name, benchmark.required_scenarios());
            found.fail(&entry.place, format!("{name} has no such scenario, but {scenarios}"));
        }
    }
    let text = "that all required scenarios are there";
    if found.tree(subject, text).is_none() {
        return;
    }
    for entry in &subject.results {
        let (Some(place), Some(benchmark)) = (&entry.tree, entry.benchmark) else { continue };
        let family = family(subject, benchmark);
        let Benchmark { name, scenarios, .. } = family.benchmark;
        let is_beside = |other: &&ResultEntry| {
            other.tree.as_ref().is_some_and(|other| {
                (&other.system, &other.benchmark) == (&place.system, &place.benchmark)
            })
        };
        let beside = || subject.results.iter().filter(is_beside);
        let has = |scenario: &Scenario| beside().any(|other| other.scenario == Some(*scenario));
        let missing: Vec<_> = scenarios
            .iter()
            .filter(|scenario| !has(scenario))
            .map(|scenario| match scenario {
                Scenario::Server if family.may_be_interactive => "Server or Interactive",
                _ => scenario.official_name(),
            })
            .collect();
        if !missing.is_empty() {
            let folder = entry.place.rsplit_once('/').map_or("", |(folder, _)| folder);
            let text = format!("{} missing, which {name} requires", missing.join(", "));
            found.fail(folder, text);
        }
    }
}

/// Requirements on the scenarios of the results in a benchmark's folder.
struct Family<'t> {
    benchmark: &'t Benchmark,
    /// True if the interactive variant may replace Server: LoadGen uses the scenario Server for
    /// both.
    may_be_interactive: bool,
}

fn family<'t>(subject: &Subject<'t>, benchmark: &'t Benchmark) -> Family<'t> {
    let Some(round) = subject.round.filter(|round| round.interactive_folder) else {
        return Family { benchmark, may_be_interactive: false };
    };
    let of = benchmark.interactive_of.as_deref().and_then(|name| subject.table.find(name));
    let benchmark = of.unwrap_or(benchmark);
    let variant = subject.table.interactive(round.name, &benchmark.name);
    Family { benchmark, may_be_interactive: variant.is_some() }
}
