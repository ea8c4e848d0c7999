//! N33: LoadGen calls every result VALID, and no log has an error (rules, section 5.1).

use super::{
    checked_folder::{Run, Subject},
    findings::Findings,
};
use crate::{
    Rule,
    result::{RunResult, Verdict},
};

const N33: Rule = Rule::new(33);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run) in subject.runs() {
        let before = found.problems(N33);
        validity(run, found);
        if run.detail().is_some() {
            let text = "LoadGen calls every result VALID, and no log has an error";
            found.pass_unless_more(N33, before, &run.place, text);
        }
    }
}

fn validity(run: &Run, found: &mut Findings) {
    let Some(logs) = &run.logs else { return };
    let detail = match &logs.detail {
        Ok(detail) => detail,
        Err(why) => return found.fail(N33, &run.place, why),
    };
    if !detail.begins_with_an_entry() {
        let text = "the detail log does not begin with an entry (:::MLLOG)";
        found.fail(N33, &run.place, text);
    }
    for error in detail.errors() {
        found.fail(N33, &run.place, format!("LoadGen logged an error: {error}"));
    }
    let mode = detail.text("effective_test_mode");
    if run.measures() && mode != Some("AccuracyOnly") {
        match detail.text("result_validity") {
            Some("VALID") => {}
            other => {
                let why = detail.text("result_invalid_reason").unwrap_or_default();
                let text = format!("result_validity is {}: {why}", other.unwrap_or("missing"));
                found.fail(N33, &run.place, text);
            }
        }
        let stopped = detail.value("early_stopping_met").and_then(|value| value.as_bool());
        if stopped != Some(true) {
            let text = "early_stopping_met is not true: ask for more queries, or for less load";
            found.fail(N33, &run.place, text);
        }
    }
    if let Some(record) = run.result() {
        recorded(run, record, found);
    }
}

fn recorded(run: &Run, record: &RunResult, found: &mut Findings) {
    if !matches!(record.verdict, Verdict::Valid | Verdict::Complete) {
        let text =
            format!("the run's verdict is {:?}: {}", record.verdict, record.reasons.join("; "));
        found.fail(N33, &run.record_place, text);
    }
}
