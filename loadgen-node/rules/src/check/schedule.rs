//! N31 and N32: LoadGen's seeds and settings, and the scenarios; of N2 the data set for accuracy (rules, sections 2.4, 3
//! and 4.1.1).

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
};
use crate::{
    Rule, Scenario,
    book::{Benchmark, Round},
    judge::limits::{Limits, Server},
    official_log::DetailLog,
};

const N2: Rule = Rule::new(2);
const N31: Rule = Rule::new(31);
const N32: Rule = Rule::new(32);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        seeds(subject.round, run, detail, found);
        let before = found.problems(N32);
        settings(subject, entry, run, detail, found);
        let text = "LoadGen's settings are those of the table";
        found.pass_unless_more(N32, before, &run.place, text);
    }
    for rule in [N31, N32] {
        if subject.details().next().is_none() {
            found.unknown(rule, "", "no detail log can be read");
        }
    }
    if !subject.is_open() {
        scenarios(subject, found);
    }
}

fn seeds(round: Option<&Round>, run: &Run, detail: &DetailLog, found: &mut Findings) {
    let Some(round) = round else {
        return found.unknown(N31, &run.place, "the table has no round");
    };
    let before = found.problems(N31);
    for (setting, seed) in round.seeds.by_setting() {
        let key = format!("effective_{setting}");
        match detail.integer(&key) {
            Some(logged) if logged == seed => {}
            Some(logged) => {
                let text =
                    format!("{key} is {logged}, and {seed} was announced for {}", round.name);
                found.fail(N31, &run.place, text);
            }
            None => found.fail(N31, &run.place, format!("the detail log has no {key}")),
        }
    }
    let text = format!("the seeds are those of round {}", round.name);
    found.pass_unless_more(N31, before, &run.place, text);
}

fn settings(subject: &Subject, entry: &Entry, run: &Run, detail: &DetailLog, found: &mut Findings) {
    let mut wrong = |text: String| found.fail(N32, &run.place, text);
    let logged = detail.text("effective_scenario");
    if let Some(scenario) = entry.scenario
        && logged != Some(scenario.official_name())
    {
        let logged = logged.unwrap_or("missing");
        wrong(format!("effective_scenario is {logged}, not {}", scenario.official_name()));
    }
    let mode = match run.kind {
        Kind::Performance | Kind::Test(_) | Kind::Digests => "PerformanceOnly",
        Kind::Accuracy => "AccuracyOnly",
        Kind::Submission => "SubmissionRun",
    };
    // Of TEST06 only its own settings count (N34); a run of both modes is one of each.
    let is_token_test = run.kind == Kind::Test("TEST06".into());
    let logged = detail.text("effective_test_mode").unwrap_or("missing");
    let is_both = logged == "SubmissionRun" && !run.is_test();
    if logged != mode && !is_both && !is_token_test {
        wrong(format!("effective_test_mode is {logged}, not {mode}"));
    }
    let Some(benchmark) = entry.benchmark else {
        return found.unknown(N32, &run.place, "the table has no figures for the benchmark (N1)");
    };
    if run.is_accuracy() {
        data_set(benchmark, run, detail, found);
    }
    if run.measures() && !is_token_test {
        performance(subject, entry, benchmark, run, detail, found);
    }
}

fn data_set(benchmark: &Benchmark, run: &Run, detail: &DetailLog, found: &mut Findings) {
    let want = benchmark.dataset_samples;
    match detail.integer("qsl_reported_total_count") {
        Some(count) if count == want => {}
        Some(count) => {
            let text = format!("the accuracy run had {count} samples; the data set has {want}");
            found.fail(N2, &run.place, text);
        }
        None => found.fail(N2, &run.place, "the detail log has no qsl_reported_total_count"),
    }
}

fn performance(
    subject: &Subject,
    entry: &Entry,
    benchmark: &Benchmark,
    run: &Run,
    detail: &DetailLog,
    found: &mut Findings,
) {
    let limits = Limits::of(subject.table, subject.round, benchmark, entry.scenario);
    let least = [
        ("effective_min_duration_ms", Some(limits.min_duration_ms)),
        ("effective_performance_sample_count", Some(limits.performance_samples)),
        ("effective_samples_per_query", limits.offline_samples),
    ];
    for (key, least) in least {
        let Some(least) = least else { continue };
        match detail.integer(key) {
            Some(value) if value >= least => {}
            Some(value) => {
                let text = format!("{key} is {value}, and at least {least} is asked for");
                found.fail(N32, &run.place, text);
            }
            None => found.fail(N32, &run.place, format!("the detail log has no {key}")),
        }
    }
    let on = |key: &str| detail.value(key).and_then(|value| value.as_bool()) == Some(true);
    if benchmark.equal_issue
        && !subject.is_open()
        && !on("effective_sample_concatenate_permutation")
    {
        let text = "every sample must be issued equally often (sample_concatenate_permutation)";
        found.fail(N32, &run.place, text);
    }
    if let Some(limits) = &limits.server {
        server(limits, run, detail, found);
    }
    if run.is_test() {
        return;
    }
    if detail.integer("effective_accuracy_log_sampling_target").is_some_and(|target| target != 0) {
        let text =
            "effective_accuracy_log_sampling_target is not 0: it is the run of a compliance test";
        found.fail(N32, &run.place, text);
    }
    for key in ["effective_performance_issue_same", "effective_performance_issue_unique"] {
        if on(key) {
            let text = format!("{key} is on: samples are not drawn as the rules ask");
            found.fail(N32, &run.place, text);
        }
    }
}

/// Server's percentile is at least the 99th, and each query is issued when it is due.
fn server(limits: &Server, run: &Run, detail: &DetailLog, found: &mut Findings) {
    let key = "effective_target_latency_percentile";
    match detail.number(key) {
        Some(percentile) if percentile >= limits.percentile => {}
        Some(percentile) => {
            let text = format!("{key} is {percentile}, less than {}", limits.percentile);
            found.fail(N32, &run.place, text);
        }
        None => found.fail(N32, &run.place, format!("the detail log has no {key}")),
    }
    for key in ["requested_server_coalesce_queries", "effective_server_coalesce_queries"] {
        if detail.value(key).and_then(|value| value.as_bool()) == Some(true) {
            found.fail(N32, &run.place, format!("{key} is on: queries were put together"));
        }
    }
}

/// Every system has, of each benchmark, the scenarios that the suite requires.
fn scenarios(subject: &Subject, found: &mut Findings) {
    if subject.tree.is_none() {
        let text = "whether all required scenarios are there is seen in a submission";
        return found.unknown(N32, "", text);
    }
    if let Some(round) = subject.round.filter(|round| !round.has_suite) {
        let name = round.name;
        let text = format!(
            "which scenarios round {name} requires is not in the table: see the rules of the round"
        );
        return found.unknown(N32, "", text);
    }
    for entry in &subject.results {
        let (Some(place), Some(benchmark)) = (&entry.tree, entry.benchmark) else { continue };
        let has = |scenario: &Scenario| {
            subject.results.iter().any(|other| {
                let same = other.tree.as_ref().is_some_and(|other| {
                    (&other.system, &other.benchmark) == (&place.system, &place.benchmark)
                });
                same && other.scenario == Some(*scenario)
            })
        };
        let missing: Vec<_> =
            benchmark.scenarios.iter().filter(|s| !has(s)).map(|s| s.official_name()).collect();
        if !missing.is_empty() {
            let folder = entry.place.rsplit_once('/').map_or("", |(folder, _)| folder);
            let text = format!("{} missing, which {} requires", missing.join(", "), benchmark.name);
            found.fail(N32, folder, text);
        }
        match entry.scenario {
            Some(scenario) if benchmark.scenarios.contains(&scenario) => {}
            _ => {
                let text = format!("{} has no such scenario", benchmark.name);
                found.fail(N32, &entry.place, text);
            }
        }
    }
}
