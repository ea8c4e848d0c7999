//! Compares LoadGen's settings in its log with the required switches, and those of the runs with
//! `user.conf` (N2, N32, N34).

use crate::{
    Rule::{self, N2, N32},
    Scenario,
    book::{LoadGenSetting, Test, TokenLatencies},
    record::RunResult,
    subject::{Findings, ResultEntry, RunFiles, RunKind, Subject},
    user_conf::{compared, differences},
};

/// Setting with the number of samples that LoadGen loads in performance mode.
const PERFORMANCE_COUNT: &str = "performance_sample_count_override";

/// Returns a text for each switch, a setting that `rule` requires to be on or off, that has the
/// other value in the log of a run. A setting that the log does not name is off, unless LoadGen does
/// not log it.
pub(super) fn wrong_switches(
    rule: Rule,
    subject: &Subject,
    entry: &ResultEntry,
    run: &RunFiles,
) -> Vec<String> {
    let (Some(benchmark), Some(detail)) = (entry.benchmark, run.detail()) else { return vec![] };
    let chosen = "samples are chosen at random; only an audit.config sets it";
    let issued =
        "every sample of this benchmark is issued equally often; leave it to LoadGen's mlperf.conf";
    let measured = "this benchmark is judged by the first token and the time for each token";
    let inferred = "the result of this benchmark is in tokens per second";
    let since = benchmark.equal_issue_since.zip(subject.round);
    let is_issued = benchmark.equal_issue
        && since.is_none_or(|(since, round)| round.name >= since)
        && !subject.is_open();
    let counts = |kind| benchmark.token_latencies == Some(kind);
    // Each with its rule, whether the run must have it, the value, and the reason.
    let switches = [
        ("performance_issue_unique", N32, !run.is_test(), false, chosen),
        ("performance_issue_same", N32, !run.is_test(), false, chosen),
        ("sample_concatenate_permutation", N32, is_issued, true, issued),
        ("use_token_latencies", N2, counts(TokenLatencies::Measured), true, measured),
        ("infer_token_latencies", N2, counts(TokenLatencies::Inferred), true, inferred),
    ];
    let asked = switches.into_iter().filter(|(_, of, is_asked, ..)| *of == rule && *is_asked);
    let wrong = asked.filter_map(|(setting, _, _, on, why)| {
        let key = LoadGenSetting::of_field(setting)?.logged.as_deref()?;
        (detail.is_on(key).unwrap_or(false) != on).then(|| format!("{key} must be {on}: {why}"))
    });
    wrong.collect()
}

/// Finds differences between `user.conf` and the settings of the runs whose kind `is_judged`
/// selects. A difference from the performance run is not reported again for a test.
pub(super) fn judge_user_conf(
    subject: &Subject,
    is_judged: fn(RunKind) -> bool,
    found: &mut Findings,
) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let (Some(place), Some(scenario)) = (&entry.tree, entry.scenario) else { continue };
        let Some(text) = tree.text(&place.user_conf()) else { continue };
        let model = entry.benchmark.map_or(&entry.name, |benchmark| &benchmark.loadgen_model);
        let mut known = Vec::new();
        for run in &entry.runs {
            if !matches!(run.kind, RunKind::Performance | RunKind::Test(_)) {
                continue;
            }
            let Some(record) = run.result() else { continue };
            let given = overridden_fields(record);
            let mut differ = differences(&text, &record.test_settings, &given, model, scenario);
            // `audit` makes LoadGen load the whole data set of TEST07.
            let is_own = |row: &LoadGenSetting| {
                run.kind == RunKind::Test(Test::Test07) && row.field == PERFORMANCE_COUNT
            };
            let is_set = |key: &str| {
                compared(scenario).any(|(k, row)| k == key && (row.audited || is_own(row)))
            };
            differ.retain(|key| !(known.contains(key) || run.is_test() && is_set(key)));
            if differ.is_empty() {
                continue;
            }
            let option = |key: &String| overriding_option(record, scenario, key);
            let named = |key: &String| match option(key) {
                Some(option) => format!("{key} (changed by {option})"),
                None => key.clone(),
            };
            let remedy = match differ.iter().find_map(option) {
                Some(option) => format!("repeat that run without {option}, with the value in user.conf"),
                None => "restore the run's own file, or remove it from the run's folder and make the submission again".into(),
            };
            let text = format!(
                "differs from the settings of {}: {}; {remedy}",
                run.record_place,
                differ.iter().map(named).collect::<Vec<_>>().join(", ")
            );
            if is_judged(run.kind) {
                found.fail(place.user_conf(), text);
            }
            // A test shares the differences of the performance run.
            known.extend(differ);
        }
    }
}

/// Returns the option of a run that overrode a key of `user.conf`, if there is one.
fn overriding_option(record: &RunResult, scenario: Scenario, key: &str) -> Option<&'static str> {
    let (_, LoadGenSetting { field, .. }) = compared(scenario).find(|(known, _)| *known == key)?;
    if overridden_fields(record).iter().any(|pair| pair.split('=').next() == Some(field.as_str())) {
        return Some("--setting");
    }
    let has_samples = record.settings.contains_key("performance_samples");
    (has_samples && field == PERFORMANCE_COUNT).then_some("--performance-samples")
}

/// Returns the fields of LoadGen's settings that the run's own settings override, as `FIELD=VALUE`.
fn overridden_fields(record: &RunResult) -> Vec<&str> {
    let given = record.settings.get("setting").and_then(|given| given.as_array());
    given.into_iter().flatten().filter_map(|pair| pair.as_str()).collect()
}
