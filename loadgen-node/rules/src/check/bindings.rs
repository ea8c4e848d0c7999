//! Whether records, logs and places belong together; what a record says otherwise than its run's log is of the rule that it
//! is about: of N2, N3, N14, N20, N31 and N32.

use std::collections::BTreeMap;

use netdiv_contract::v1::Machine;

use super::{
    checked_folder::{Run, Subject},
    findings::Findings,
};
use crate::{
    Rule::{self, N2, N3, N14, N20, N31, N32},
    Scenario,
    book::Seeds,
    facts::{counted::counted, machines::said},
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
    machines(subject, found);
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

/// A name stands for the same machine in all runs of a system. It may have been started anew between them.
fn machines(subject: &Subject, found: &mut Findings) {
    let mut known: BTreeMap<(&str, &str, &str), (String, &str)> = BTreeMap::new();
    for (entry, run) in subject.runs() {
        let (Some(system), Some(record)) = (entry.system(), run.result()) else { continue };
        let place = run.record_place.as_str();
        for (name, machine) in record.evidence.iter().flat_map(|evidence| evidence.machines()) {
            let mut differ: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (what, value) in lasting(machine) {
                let Some(value) = value else { continue };
                let first = known.entry((system, name, what)).or_insert((value.clone(), place));
                if first.0 != value {
                    differ.entry(first.1).or_default().push(what);
                }
            }
            for (first, by) in differ {
                let text = format!(
                    "{name} is another machine than in {first}, by its {}: make all runs of a system on the same machines",
                    by.join(", ")
                );
                found.fail(N20, place, text);
            }
        }
    }
}

/// What is known of a machine that no other boot changes.
fn lasting(machine: &Machine) -> [(&'static str, Option<String>); 5] {
    let text = |text: &Option<String>| said(text).map(str::to_owned);
    let models = || counted(machine.accelerators.iter().map(|one| &one.name)).join(", ");
    [
        ("machine id", text(&machine.machine_id)),
        ("board serial number", text(&machine.board_serial)),
        ("product", text(&machine.product)),
        ("processors", text(&machine.cpu_model)),
        ("accelerators", machine.accelerator_count.map(|count| format!("{count}: {}", models()))),
    ]
}
