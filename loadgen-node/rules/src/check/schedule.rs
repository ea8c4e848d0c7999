//! N31 and N32: LoadGen's seeds and settings, and the scenarios; of N2 the data set for accuracy (rules, sections 2.4, 3
//! and 4.1.1).

use super::{
    checked_folder::{Entry, NO_BENCHMARK, Run, Subject},
    findings::{At, Findings},
    switches,
};
use crate::{
    Outcome,
    Rule::{N2, N31, N32},
    Scenario,
    book::{Benchmark, Round},
    judge::{
        limits::{ENDS, Limits, MAX_QUERIES, Server, early_end},
        samples::not_the_whole_set,
        switches::{COALESCE, COALESCED},
    },
    official_log::DetailLog,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        seeds(subject.round, detail, found.at(N31, &run.place));
        if let Some(benchmark) = entry.benchmark.filter(|_| run.is_accuracy()) {
            data_set(benchmark, detail, found.at(N2, &run.place));
        }
        let mut at = found.at(N32, &run.place);
        at.fail_each(inferred(subject, entry, detail));
        match entry.benchmark {
            None => at.unknown(NO_BENCHMARK),
            Some(benchmark) if run.measures() && !run.is_token_test() => {
                performance(subject, entry, benchmark, run, detail, &mut at);
            }
            Some(_) => {}
        }
        let key = format!("requested_{COALESCE}");
        if entry.scenario == Some(Scenario::Server) && detail.is_on(&key) == Some(true) {
            at.find(Outcome::Pass, format!("{COALESCE}: {COALESCED}"));
        }
        at.or_pass("LoadGen's settings are those of the table");
    }
    if !subject.is_open() {
        scenarios(subject, found);
    }
}

/// A result of the datacenter suite that is inferred from a run of another scenario.
fn inferred(subject: &Subject, entry: &Entry, detail: &DetailLog) -> Option<String> {
    let (wanted, of) = entry.scenario.zip(detail.scenario())?;
    entry.tree.as_ref()?;
    (wanted != of && !subject.is_of_edge(entry)).then(|| {
        format!(
            "{} is inferred from a run of {}, and only results of the edge suite may be: run {}",
            wanted.word(),
            of.word(),
            wanted.word()
        )
    })
}

fn seeds(round: Option<&Round>, detail: &DetailLog, mut at: At) {
    let Some(round) = round else { return at.unknown("the table has no round") };
    let (mut logged, mut announced) = (Vec::new(), Vec::new());
    for (setting, seed, here) in round.seeds.unlike(|setting| detail.seed(setting)) {
        match here {
            None => at.fail(format!("the detail log has no effective_{setting}")),
            Some(here) => {
                logged.push(format!("effective_{setting} is {here}"));
                announced.push(seed.to_string());
            }
        }
    }
    if !logged.is_empty() {
        let (logged, announced) = (logged.join(", "), announced.join(", "));
        at.fail(format!("{logged}: for {} were announced {announced}", round.name));
    }
    at.or_pass(format!("the seeds are those of round {}", round.name));
}

fn data_set(benchmark: &Benchmark, detail: &DetailLog, mut at: At) {
    let key = "qsl_reported_total_count";
    match detail.integer(key) {
        Some(count) => at.fail_each(
            not_the_whole_set(benchmark, count).map(|what| format!("the accuracy run had {what}")),
        ),
        None => at.fail(format!("the detail log has no {key}")),
    }
}

fn performance(
    subject: &Subject,
    entry: &Entry,
    benchmark: &Benchmark,
    run: &Run,
    detail: &DetailLog,
    at: &mut At,
) {
    let limits = Limits::of(subject.table, subject.round, benchmark, entry.scenario);
    let least = [
        ("effective_min_duration_ms", Some(limits.min_duration_ms)),
        ("effective_performance_sample_count", Some(limits.performance_samples)),
        ("effective_samples_per_query", limits.offline_samples),
    ];
    for (key, least) in least {
        let Some(least) = least else { continue };
        let wanted = format!("and at least {least} is asked for");
        at.logged(key, detail.integer(key), |value| *value >= least, wanted);
    }
    for setting in ENDS {
        let key = format!("effective_{setting}");
        // Offline has one query, which no number of queries ends.
        let is_of_one = setting == MAX_QUERIES && entry.scenario == Some(Scenario::Offline);
        let end = detail.integer(&key).filter(|_| !is_of_one);
        let why = end.and_then(|value| early_end(setting, value, limits.min_duration_ms));
        at.fail_each(why.map(|why| format!("{key}: {why}, and run again")));
    }
    at.fail_each(switches::wrong(N32, subject, entry, run));
    if let Some(Server { percentile, .. }) = limits.server {
        let key = "effective_target_latency_percentile";
        let wanted = format!("less than {percentile}");
        at.logged(key, detail.number(key), |value| *value >= percentile, wanted);
    }
    let sampled = detail.integer("effective_accuracy_log_sampling_target");
    if !run.is_test() && sampled.is_some_and(|target| target != 0) {
        at.fail(
            "effective_accuracy_log_sampling_target is not 0: it is the run of a compliance test",
        );
    }
}

/// Every system has, of each benchmark, the scenarios that the suite requires.
fn scenarios(subject: &Subject, found: &mut Findings) {
    let text = "that all required scenarios are there";
    if found.tree(subject, [N32], text).is_none() {
        return;
    }
    for entry in &subject.results {
        let (Some(place), Some(benchmark)) = (&entry.tree, entry.benchmark) else { continue };
        let family = family(subject, benchmark);
        let Benchmark { name, scenarios, .. } = family.benchmark;
        let is_beside = |other: &&Entry| {
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
            found.fail(N32, folder, text);
        }
        if entry.scenario.is_none_or(|scenario| !benchmark.scenarios.contains(&scenario)) {
            let text = format!("{} has no such scenario", benchmark.name);
            found.fail(N32, &entry.place, text);
        }
    }
}

/// The results of a benchmark's folder.
struct Family<'t> {
    /// Whose scenarios are required.
    benchmark: &'t Benchmark,
    /// Whether its interactive variant is enough in place of Server: to LoadGen both are that scenario.
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
