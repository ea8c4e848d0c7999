//! N32: scenarios, duration and number of queries (rules, sections 3 and 4.1.1).

use netdiv_node_common::words::Mode;

use super::settings;
use crate::{
    Outcome, Rule, Scenario,
    book::Benchmark,
    judge::limits::{
        COALESCE, COALESCED, END_SETTINGS, MAX_QUERIES, SERVER_PERCENTILE, check_early_end,
        min_duration_ms,
    },
    official_log::{DetailLog, test_duration},
    record::RunResult,
    subject::{Findings, NO_BENCHMARK, PlaceJudgement, ResultEntry, RunFiles, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        audit_configs(entry, run, found);
    }
    for (entry, run, detail) in subject.details() {
        found.at(&run.place).fail_each(too_short(subject, entry, run, detail));
        let mut at = found.at(&run.place);
        at.fail_each(inferred(subject, entry, detail));
        match entry.benchmark {
            None => at.unknown(NO_BENCHMARK),
            Some(benchmark) if run.is_performance() && !run.has_own_length() => {
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
        judge_scenarios(subject, found);
    }
}

/// Finds runs that used an audit.config although they are not compliance tests.
fn audit_configs(entry: &ResultEntry, run: &RunFiles, found: &mut Findings) {
    if run.is_test() {
        return;
    }
    let what = "an audit.config, which is for compliance tests: run again without it";
    let was_given = |record: &RunResult| record.settings.contains_key("audit_config");
    if entry.tree.is_some() && run.result().is_some_and(was_given) {
        found.fail(&run.record_place, format!("the run used {what}"));
    }
    if run.result().is_some() && run.detail().is_some_and(found_audit_config) {
        found.fail(&run.place, format!("LoadGen found {what}"));
    }
}

/// Returns true if LoadGen warned of an audit.config in its working directory.
fn found_audit_config(detail: &DetailLog) -> bool {
    let warnings = detail.all("warning_generic_message").filter_map(|text| text.as_str());
    warnings.into_iter().any(|text| text.starts_with("Found Audit Config"))
}

/// Returns findings about a test that was too short, or had too few queries.
fn too_short(
    subject: &Subject,
    entry: &ResultEntry,
    run: &RunFiles,
    detail: &DetailLog,
) -> Vec<String> {
    if !run.is_performance() || run.has_own_length() || detail.mode() == Some(Mode::Accuracy) {
        return Vec::new();
    }
    too_little_time(subject, entry, detail).into_iter().chain(too_few(detail)).collect()
}

/// Relative tolerance of LoadGen's rates, which have six digits.
const DIGITS: f64 = 1e-5;

/// Returns a finding if a test took less time than the minimum, as LoadGen measured it.
fn too_little_time(subject: &Subject, entry: &ResultEntry, detail: &DetailLog) -> Option<String> {
    let least = min_duration_ms(subject.table, subject.round, entry.benchmark?);
    // A setting below the minimum is a separate finding.
    detail.integer("effective_min_duration_ms").filter(|ms| *ms >= least)?;
    let least = least as f64 / 1e3;
    let took = test_duration(detail.scenario()?, detail)?;
    (took < least * (1.0 - DIGITS)).then(|| {
        format!(
            "by its figures the test took {took:.1} s, and the minimum is {least} s: run again, with more queries"
        )
    })
}

fn too_few(detail: &DetailLog) -> Option<String> {
    // A test that LoadGen has not ended has no result, which N33 reports.
    detail.text("result_validity")?;
    let Some(count) = detail.integer("result_query_count") else {
        let text = "the detail log has no result_query_count: submit the log as LoadGen wrote it";
        return Some(text.into());
    };
    let least = detail.integer("effective_min_query_count")?;
    (count < least).then(|| {
        format!("result_query_count is {count}, and effective_min_query_count requires {least}: run again")
    })
}

/// Returns a finding if a result of the datacenter suite is inferred from a run of another
/// scenario.
fn inferred(subject: &Subject, entry: &ResultEntry, detail: &DetailLog) -> Option<String> {
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

const PERFORMANCE_COUNT: &str = "effective_performance_sample_count";
const SAMPLES_PER_QUERY: &str = "effective_samples_per_query";

fn performance(
    subject: &Subject,
    entry: &ResultEntry,
    benchmark: &Benchmark,
    run: &RunFiles,
    detail: &DetailLog,
    at: &mut PlaceJudgement,
) {
    let min_duration_ms = min_duration_ms(subject.table, subject.round, benchmark);
    let is_offline = entry.scenario == Some(Scenario::Offline);
    let small = detail.integer("qsl_reported_total_count");
    let small = small.filter(|total| *total < benchmark.qsl_size);
    let least = [
        ("effective_min_duration_ms", Some(min_duration_ms)),
        (PERFORMANCE_COUNT, Some(benchmark.qsl_size)),
        (SAMPLES_PER_QUERY, is_offline.then_some(benchmark.offline_samples)),
    ];
    for (key, least) in least {
        let Some(least) = least else { continue };
        let remedy = match small {
            Some(total) if key == PERFORMANCE_COUNT => {
                format!("the data set has only {total} samples; take the benchmark's own")
            }
            // LoadGen's mlperf.conf has no number for interactive variants, nor for benchmarks with
            // two data sets.
            _ if key == SAMPLES_PER_QUERY
                && (benchmark.interactive_of.is_some() || benchmark.own_performance_set) =>
            {
                let model = &benchmark.loadgen_model;
                format!("set `{model}.Offline.min_query_count = {least}` in user.conf")
            }
            _ => "leave it to LoadGen's mlperf.conf".into(),
        };
        let wanted = format!("less than the minimum {least}: {remedy}, and run again");
        at.require_logged(key, detail.integer(key), |value| *value >= least, wanted);
    }
    for setting in END_SETTINGS {
        let key = format!("effective_{setting}");
        // Offline has one query, which a maximum number of queries does not end. For SingleStream,
        // the log states the time that the queries took, which is judged instead.
        let is_harmless = setting == MAX_QUERIES
            && match detail.scenario() {
                Some(Scenario::Offline) => true,
                Some(scenario @ Scenario::SingleStream) => {
                    test_duration(scenario, detail).is_some()
                }
                _ => false,
            };
        let end = detail.integer(&key).filter(|_| !is_harmless);
        let why = end.and_then(|value| check_early_end(setting, value, min_duration_ms));
        at.fail_each(why.map(|why| format!("{key}: {why}, and run again")));
    }
    at.fail_each(settings::wrong_switches(Rule::N32, subject, entry, run));
    if entry.scenario == Some(Scenario::Server) {
        let key = "effective_target_latency_percentile";
        let wanted = format!(
            "less than {SERVER_PERCENTILE}: leave it to LoadGen's mlperf.conf, and run again"
        );
        at.require_logged(key, detail.number(key), |value| *value >= SERVER_PERCENTILE, wanted);
    }
    let sampled = detail.integer("effective_accuracy_log_sampling_target");
    if !run.is_test() && sampled.is_some_and(|target| target != 0) {
        at.fail(
            "effective_accuracy_log_sampling_target is not 0: it is the run of a compliance test",
        );
    }
}

/// Requires the scenarios of the suite: of each run, and of each benchmark of a system.
fn judge_scenarios(subject: &Subject, found: &mut Findings) {
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
