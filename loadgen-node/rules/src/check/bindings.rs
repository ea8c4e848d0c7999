//! Compares records with their runs' logs: of N2, N3, N14, N31 and N32 what each is about.

use super::{
    checked_folder::{Run, Subject},
    findings::Findings,
};
use crate::{
    Rule::{self, N2, N3, N14, N31, N32},
    Scenario,
    book::Seeds,
    official_log::DetailLog,
    result::RunResult,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run) in subject.runs() {
        let Some(record) = run.result() else { continue };
        if entry.tree.is_some() && !run.is_test() && record.settings.contains_key("audit_config") {
            let text = "the run was given an audit.config, which is for compliance tests: run again without";
            found.fail(N32, &run.record_place, text);
        }
        if let Some(detail) = run.detail() {
            if !run.is_test() && found_audit_config(detail) {
                let text = "LoadGen found an audit.config, which is for compliance tests: run again without";
                found.fail(N32, &run.place, text);
            }
            logged(run, record, detail, found);
        }
    }
}

/// LoadGen warns of an audit.config that it found where it ran.
fn found_audit_config(detail: &DetailLog) -> bool {
    let warnings = detail.all("warning_generic_message").filter_map(|text| text.as_str());
    warnings.into_iter().any(|text| text.starts_with("Found Audit Config"))
}

/// The record says what LoadGen's log says.
fn logged(run: &Run, record: &RunResult, detail: &DetailLog, found: &mut Findings) {
    let mut same = |rule: Rule, key: &str, logged: Option<String>, recorded: Option<String>| {
        let (Some(logged), Some(recorded)) = (logged, recorded) else { return };
        if logged != recorded {
            let text = format!("the log's {key} is {logged}, result.json has {recorded}");
            found.fail(rule, &run.record_place, text);
        }
    };
    let text = |key: &str| detail.text(key).map(str::to_owned);
    let integer = |key: &str| detail.integer(key).map(|number| number.to_string());
    let key = "effective_scenario";
    let scenario = detail.text(key).and_then(Scenario::of_official_name);
    same(N32, key, scenario.map(|one| one.to_string()), Some(record.scenario.to_string()));
    let key = "effective_test_mode";
    same(N32, key, text(key), Some(record.mode.official_name().into()));
    let key = "loadgen_version";
    same(N3, key, text(key), Some(record.versions.loadgen.clone()));
    let key = "qsl_reported_total_count";
    same(N2, key, integer(key), Some(record.dataset_samples.to_string()));
    let key = "get_sut_name_duration_ns";
    let name_ns = record.get_sut_name_duration_ns;
    let name_ns = name_ns.map_or_else(|| "nothing".into(), |ns| ns.to_string());
    same(N14, key, integer(key), Some(name_ns));
    let seeds = Seeds::SETTINGS.map(|setting| (N31, setting));
    // TEST06's audit.config sets another duration than was asked for.
    let duration = Some((N32, "min_duration_ms")).filter(|_| !run.is_token_test());
    for (rule, setting) in seeds.into_iter().chain(duration) {
        for key in [format!("requested_{setting}"), format!("effective_{setting}")] {
            same(rule, &key, integer(&key), record.test_settings.get(setting).cloned());
        }
    }
}
