//! Comparisons of facts that are stated twice: in LoadGen's log and the record, in the run's
//! settings and the record, or in two entries of the log.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Scenario,
    official_log::DetailLog,
    record::RunResult,
    subject::{Findings, RunFiles, Subject},
};

/// Relative tolerance of logged numbers: LoadGen writes six digits.
pub(super) const DIGITS: f64 = 1e-5;

/// Function that returns the record's value for a key of LoadGen's log, in the form that the log
/// has; `None` if the two must not be compared.
pub(super) type RecordValue = fn(&RunFiles, &RunResult, &str) -> Option<String>;

/// Comparison of two statements of a fact about a run, such as its scenario. Each rule lists its
/// own comparisons, in a constant `SAME`.
pub(super) enum Agreement {
    /// Requires that the detail log's value under `key`, which `log` reads, equals the record's
    /// value.
    LogEntry { key: &'static str, log: fn(&DetailLog, &str) -> Option<String>, record: RecordValue },
    /// Requires that the run's setting `key`, or its default if it is not set, equals the record's
    /// value.
    RunSetting {
        key: &'static str,
        default: Option<fn() -> Value>,
        record: fn(&RunResult) -> Value,
    },
    /// Requires that two entries of the log are equal: `effective_` with the name `effective`, and
    /// `requested_` with the name `requested`. Applies to logs of `scenario`; `None` is all
    /// scenarios.
    EffectiveSetting {
        effective: &'static str,
        requested: &'static str,
        scenario: Option<Scenario>,
    },
}

impl Agreement {
    /// Requires that the effective value of a setting equals its requested value, for a setting
    /// that has one name in both entries.
    pub(super) const fn effective_equals_requested(setting: &'static str) -> Self {
        Self::EffectiveSetting { effective: setting, requested: setting, scenario: None }
    }

    /// Compares the two statements in one run, and reports a difference.
    fn compare(&self, run: &RunFiles, found: &mut Findings) {
        match self {
            Self::LogEntry { key, log, record } => {
                let logged = run.detail().and_then(|detail| log(detail, key));
                let recorded = run.result().and_then(|result| record(run, result, key));
                if let (Some(logged), Some(recorded)) = (logged, recorded)
                    && logged != recorded
                {
                    let text = format!("the log's {key} is {logged}, result.json has {recorded}");
                    found.fail(&run.record_place, text);
                }
            }
            Self::RunSetting { key, default, record } => {
                let Some((result, given)) =
                    run.result().and_then(|it| Some((it, it.recorded_settings()?)))
                else {
                    return;
                };
                let given = given.get(*key).cloned();
                let given = given.or_else(|| default.map(|default| default()));
                let recorded = record(result);
                if let Some(given) = given.filter(|given| *given != recorded) {
                    let text = format!(
                        "the settings of the run have {key} {given}, and the record has {recorded}: take the record as the \
                         run wrote it"
                    );
                    found.fail(&run.record_place, text);
                }
            }
            Self::EffectiveSetting { effective, requested, scenario } => {
                // A log in which a key has several entries is not compared: N33 reports it.
                let detail = run.detail().filter(|detail| detail.repeated().next().is_none());
                let is_of =
                    |detail: &&DetailLog| scenario.is_none() || detail.scenario() == *scenario;
                let Some(detail) = detail.filter(is_of) else { return };
                if let Some(text) = effective_difference(detail, effective, requested) {
                    found.fail(&run.place, format!("{text}: submit the log as LoadGen wrote it"));
                }
            }
        }
    }
}

/// Makes the comparisons in `rows` for every run that has begun.
pub(super) fn compare(rows: &[Agreement], subject: &Subject, found: &mut Findings) {
    if subject.is_upcoming {
        return;
    }
    for (_, run) in subject.runs() {
        for row in rows {
            row.compare(run, found);
        }
    }
}

fn effective_difference(detail: &DetailLog, effective: &str, requested: &str) -> Option<String> {
    let [effective, requested] =
        [format!("effective_{effective}"), format!("requested_{requested}")];
    let (took, asked) = (detail.value(&effective)?, detail.value(&requested)?);
    let is_alike = match (took.as_u64(), asked.as_u64()) {
        // Seeds have more digits than a floating-point number can represent.
        (Some(took), Some(asked)) => took == asked,
        _ => match (number(detail, &effective), number(detail, &requested)) {
            (Some(took), Some(asked)) => equals_logged(took, asked),
            _ => took == asked,
        },
    };
    (!is_alike).then(|| format!("{effective} is {took}, and {requested} {asked}"))
}

pub(super) fn text(detail: &DetailLog, key: &str) -> Option<String> {
    detail.text(key).map(str::to_owned)
}

pub(super) fn integer(detail: &DetailLog, key: &str) -> Option<String> {
    detail.integer(key).map(|number| number.to_string())
}

/// Returns the record's value of a setting. `key` is the log's key: `requested_` or `effective_`,
/// followed by the name of the setting.
pub(super) fn setting(_: &RunFiles, record: &RunResult, key: &str) -> Option<String> {
    let (_, name) = key.split_once('_')?;
    record.test_settings.get(name).cloned()
}

/// Returns the log's value under a key as a number, with 1 for true and 0 for false.
pub(super) fn number(detail: &DetailLog, key: &str) -> Option<f64> {
    let value = detail.value(key)?;
    value.as_f64().or_else(|| value.as_bool().map(f64::from))
}

/// Returns true if `number` differs from `logged` by no more than the digits of the log allow.
pub(super) fn is_within(number: f64, logged: f64) -> bool {
    (number - logged).abs() <= logged.abs() * DIGITS
}

/// Like [`is_within`], but either number may be the logged one.
pub(super) fn equals_logged(one: f64, other: f64) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// Finds records whose value differs from an earlier record with the same key, such as two versions
/// of the same sources. `of` returns the key and the value of a record. `what` names the value in
/// the finding.
pub(super) fn find_conflicting_values(
    subject: &Subject,
    what: &str,
    of: impl Fn(&RunResult) -> (String, String),
    found: &mut Findings,
) {
    let mut known: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (run, record) in subject.records() {
        let place = run.record_place.as_str();
        let (key, value) = of(record);
        let (first, there) = known.entry(key).or_insert((value.clone(), place));
        if *first != value {
            let text = format!(
                "the {what} {value} here and {first} in {there}: take the records as the runs wrote them"
            );
            found.fail(place, text);
        }
    }
}

/// Returns a finding if a machine reported another version of a program than the record has.
/// `named` is the machine's report, such as `sut-node 0.1.0`, and `program` is the part before the
/// version.
pub(super) fn version_mismatch(
    who: &str,
    named: Option<&str>,
    program: &str,
    version: &str,
) -> Option<String> {
    let other = named?.strip_prefix(program).filter(|other| *other != version)?;
    Some(format!("{who} named {program}{other}, and the record has version {version}"))
}
