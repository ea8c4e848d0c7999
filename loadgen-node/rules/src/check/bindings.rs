//! Whether records, logs and places belong together; what a record says otherwise than its run's log is of the rule that it
//! is about: of N2, N3, N14, N20, N31, N32 and N35.

use netdiv_words::Mode;
use std::collections::BTreeMap;

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
};
use crate::{Rule, Scenario, official_log::DetailLog, result::RunResult};

const N2: Rule = Rule::new(2);
const N3: Rule = Rule::new(3);
const N14: Rule = Rule::new(14);
const N20: Rule = Rule::new(20);
const N31: Rule = Rule::new(31);
const N32: Rule = Rule::new(32);
const N35: Rule = Rule::new(35);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        if run.record.is_none() && subject.tree.is_some() {
            let text =
                "the record of the run is missing: add the result.json that loadgen-node wrote";
            found.fail(N35, &run.record_place, text);
        }
        let Some(record) = run.result() else { continue };
        place(entry, run, record, found);
        if let Some(detail) = run.detail() {
            logged(run, record, detail, found);
        }
    }
    machines(subject, found);
}

/// Whether a record is of that benchmark, by any of its names.
pub(super) fn is_of_benchmark(entry: &Entry, record: &RunResult) -> bool {
    let known =
        entry.benchmark.map(|benchmark| [benchmark.name.as_str(), benchmark.checker_name()]);
    let names = known.into_iter().flatten().chain([entry.name.as_str()]);
    names.into_iter().any(|name| name == record.benchmark)
}

/// Whether a record is of that scenario.
pub(super) fn is_of_scenario(entry: &Entry, record: &RunResult) -> bool {
    entry.scenario.is_none_or(|scenario| scenario == record.scenario)
}

/// The record is of the result that it lies with.
fn place(entry: &Entry, run: &Run, record: &RunResult, found: &mut Findings) {
    if entry.tree.is_none() {
        return;
    }
    let place = &run.record_place;
    if !is_of_benchmark(entry, record) {
        let text = format!("the run was one of {}, not of {}", record.benchmark, entry.name);
        found.fail(N35, place, text);
    }
    if !is_of_scenario(entry, record) {
        found.fail(N32, place, format!("the run was one of {}", record.scenario));
    }
    let allowed: &[Mode] = match run.kind {
        Kind::Performance | Kind::Submission => &[Mode::Performance, Mode::Submission],
        Kind::Accuracy => &[Mode::Accuracy, Mode::Submission],
        Kind::Test(_) => &[Mode::Performance],
        Kind::Digests => &[Mode::Performance, Mode::Accuracy, Mode::Submission],
    };
    if !allowed.contains(&record.mode) {
        let allowed: Vec<_> = allowed.iter().map(|mode| mode.word()).collect();
        let text = format!("the run was in mode {}, not {}", record.mode, allowed.join(" or "));
        found.fail(N32, place, text);
    }
}

/// The record says what LoadGen's log says.
fn logged(run: &Run, record: &RunResult, detail: &DetailLog, found: &mut Findings) {
    let mut differ = |rule: Rule, key: &str, logged: String, recorded: String| {
        if logged != recorded {
            let text = format!("the log's {key} is {logged}, result.json has {recorded}");
            found.fail(rule, &run.record_place, text);
        }
    };
    let scenario = detail.text("effective_scenario").and_then(Scenario::of_official_name);
    if let Some(scenario) = scenario {
        differ(N32, "effective_scenario", scenario.to_string(), record.scenario.to_string());
    }
    if let Some(logged) = detail.text("effective_test_mode") {
        let recorded = record.mode.official_name();
        differ(N32, "effective_test_mode", logged.into(), recorded.into());
    }
    if let Some(logged) = detail.text("loadgen_version") {
        differ(N3, "loadgen_version", logged.into(), record.versions.loadgen.clone());
    }
    let numbers = [
        (N2, "qsl_reported_total_count", Some(record.dataset_samples)),
        (N14, "get_sut_name_duration_ns", record.get_sut_name_duration_ns),
    ];
    for (rule, key, recorded) in numbers {
        if let (Some(logged), Some(recorded)) = (detail.integer(key), recorded) {
            differ(rule, key, logged.to_string(), recorded.to_string());
        }
    }
    let mut settings =
        vec![(N31, "qsl_rng_seed"), (N31, "sample_index_rng_seed"), (N31, "schedule_rng_seed")];
    // TEST06's audit.config sets another duration than was asked for.
    if run.kind != Kind::Test("TEST06".into()) {
        settings.push((N32, "min_duration_ms"));
    }
    for (rule, setting) in settings {
        let Some(recorded) = record.test_settings.get(setting) else { continue };
        for key in [format!("requested_{setting}"), format!("effective_{setting}")] {
            if let Some(logged) = detail.integer(&key) {
                differ(rule, &key, logged.to_string(), recorded.clone());
            }
        }
    }
}

/// A name stands for the same machine in all runs of a system. It may have been started anew between them.
fn machines(subject: &Subject, found: &mut Findings) {
    let mut known: BTreeMap<(&str, &str), (&str, &str)> = BTreeMap::new();
    for (entry, run) in subject.runs() {
        let (Some(tree), Some(record)) = (&entry.tree, run.result()) else { continue };
        let Some(evidence) = &record.evidence else { continue };
        for (name, machine) in evidence.machines() {
            let Some(id) = machine.machine_id.as_deref() else { continue };
            let place = run.record_place.as_str();
            let (first, where_) = *known.entry((&tree.system, name)).or_insert((id, place));
            if first != id {
                let text = format!(
                    "{name} is another machine than in {where_}, by its machine id: make all runs of a system on the \
                     same machines"
                );
                found.fail(N20, place, text);
            }
        }
    }
}
