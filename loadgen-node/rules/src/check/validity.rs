//! N33: LoadGen calls every result VALID, and no log has an error (rules, section 5.1).

use netdiv_words::Mode;

use super::{
    checked_folder::{Run, Subject},
    findings::{At, Findings},
};
use crate::{
    Rule::N33,
    official_log::DetailLog,
    result::{RunResult, Verdict},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run) in subject.runs() {
        let Some(logs) = &run.logs else { continue };
        let mut at = found.at(N33, &run.place);
        match &logs.detail {
            Ok(detail) => validity(run, detail, &mut at),
            Err(why) => at.fail(why),
        }
        at.or_pass("LoadGen calls every result VALID, and no log has an error");
    }
}

fn validity(run: &Run, detail: &DetailLog, at: &mut At) {
    if !detail.begins_with_an_entry() {
        at.fail("the detail log does not begin with an entry (:::MLLOG)");
    }
    at.fail_each(detail.errors().iter().map(|error| format!("LoadGen logged an error: {error}")));
    if run.measures() && detail.mode() != Some(Mode::Accuracy) {
        let validity = detail.text("result_validity").unwrap_or("missing");
        if validity != "VALID" {
            let why = detail.text("result_invalid_reason").unwrap_or_default();
            at.fail(format!("result_validity is {validity}: {why}"));
        }
        if detail.is_on("early_stopping_met") != Some(true) {
            at.fail("early_stopping_met is not true: ask for more queries, or for less load");
        }
        if validity == "VALID" {
            at.fail_each(contradictions(detail));
        }
    }
    if let Some(Ok(summary)) = run.logs.as_ref().map(|logs| &logs.summary)
        && detail.errors().is_empty()
        && let Some(count) = summary.errors.first()
    {
        at.fail(format!(
            "the summary counts {count} errors, and the detail log has none: submit the logs as LoadGen wrote them"
        ));
    }
    if let Some(RunResult { verdict, reasons, .. }) = run.result()
        && !matches!(verdict, Verdict::Valid | Verdict::Complete)
    {
        let text = format!("the run's verdict is {verdict:?}: {}", reasons.join("; "));
        at.fail_there(&run.record_place, text);
    }
}

/// What LoadGen's verdict is made of says otherwise than the verdict.
fn contradictions(detail: &DetailLog) -> impl Iterator<Item = String> {
    let parts =
        ["result_min_duration_met", "result_min_queries_met", "result_perf_constraints_met"];
    let unmet = parts.into_iter().filter(|key| detail.is_on(key) == Some(false));
    let unmet = unmet.map(|key| format!("result_validity is VALID, and {key} is false: run again"));
    let reason = detail.text("result_invalid_reason");
    unmet.chain(reason.map(|why| {
        format!("result_validity is VALID, and result_invalid_reason says why it is not: {why}")
    }))
}
