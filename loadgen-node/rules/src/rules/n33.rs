//! N33: LoadGen calls every result VALID, and no log has an error (rules, section 5.1).

use netdiv_node_common::words::Mode;
use serde_json::Value;

use super::n12::single_tests;
use crate::{
    Division, Scenario,
    grouping::LOGGED_ERROR,
    judge::check_one_token_answers,
    official_log::DetailLog,
    record::{Carrier, Node, RunResult, Verdict},
    subject::{Findings, PlaceJudgement, RunFiles, RunKind, Subject, list_first},
};

/// Maximum number of characters of a value in a finding.
const LONGEST_VALUE: usize = 60;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    if subject.division != Division::Network {
        single_tests(subject, found);
    }
    for (run, record) in subject.records() {
        if let Some(text) = check_one_token_answers(&record.nodes) {
            found.fail(&run.record_place, text);
        }
    }
    for (_, run) in subject.runs() {
        let mut at = found.at(&run.place);
        let Some(logs) = &run.logs else {
            // A run without logs is the run with digests, of which a submission contains only the
            // record. It may be too short to be valid.
            at.fail_each(run.result().and_then(|record| unlikely(record, Some(record.mode))));
            continue;
        };
        let Ok(detail) = &logs.detail else { continue };
        validity(run, detail, &mut at);
        at.fail_each(repeated(run, detail));
        at.or_pass("LoadGen calls every result VALID, and no log has an error");
    }
}

fn validity(run: &RunFiles, detail: &DetailLog, at: &mut PlaceJudgement) {
    if !detail.begins_with_an_entry {
        at.fail("the detail log does not begin with an entry (:::MLLOG)");
    }
    at.fail_each(detail.unreadable.iter().map(|line| {
        format!(
            "a line of the detail log is not an entry: {line}: submit the log as LoadGen wrote it"
        )
    }));
    at.fail_each(detail.errors.iter().map(|error| format!("{LOGGED_ERROR}{error}")));
    let is_asked = run.is_performance() && detail.mode() != Some(Mode::Accuracy);
    if is_asked && !may_be_invalid(run, detail) {
        let validity = detail.text("result_validity").unwrap_or("missing");
        if validity != "VALID" {
            at.fail(match detail.text("result_invalid_reason").map(str::trim) {
                Some(why) if !why.is_empty() => format!("result_validity is {validity}: {why}"),
                _ => format!("result_validity is {validity}"),
            });
        } else if detail.is_on("early_stopping_met") != Some(true) {
            at.fail("early_stopping_met is not true: run more queries, or reduce the load");
        }
    }
    if let Some(Ok(summary)) = run.logs.as_ref().map(|logs| &logs.summary)
        && detail.errors.is_empty()
        && let Some(count) = summary.errors.first()
    {
        at.fail(format!(
            "the summary counts {count} errors, and the detail log has none: submit the logs as LoadGen wrote them"
        ));
    }
    let Some(record) = run.result() else { return };
    let RunResult { verdict, reasons, .. } = record;
    if *verdict == Verdict::Invalid && may_be_invalid(run, detail) {
        return;
    }
    if !matches!(verdict, Verdict::Valid | Verdict::Complete) {
        let text = format!("the run's verdict is {verdict:?}: {}", reasons.join("; "));
        at.fail_at(&run.record_place, text);
    } else if let Some(text) = unlikely(record, detail.mode().filter(|mode| *mode == record.mode)) {
        at.fail_at(&run.record_place, text);
    } else if let Some(text) = unexplained(record) {
        at.unknown_at(&run.record_place, text);
    }
}

/// Returns a finding if a Valid or Complete verdict has reasons against it that nothing in the
/// record explains, such as a lost node.
fn unexplained(record: &RunResult) -> Option<String> {
    let is_noted = |node: &Node| {
        node.lost.is_some()
            || node.unmatched_replies > 0
            || node.impossible_responses > 0
            || node.cached_prompt_tokens > 0
            || node.tokens.as_ref().is_some_and(|tokens| tokens.one_token_answers > 0)
    };
    let is_explained = matches!(record.transport, Carrier::Process(_))
        || record.nodes.iter().any(is_noted)
        || record.reasons.is_empty();
    (!is_explained).then(|| {
        format!(
            "the verdict is {:?}, and the record has reasons against it that its counts do not show: {}; take the record as the \
             run wrote it",
            record.verdict,
            record.reasons.join("; ")
        )
    })
}

/// Returns true for TEST06 in Server: its 100 queries are too few for early stopping, so that
/// LoadGen always calls it INVALID. Neither the official script nor the checker reads that verdict,
/// nor do those of TEST07 and TEST09, which have no speed to meet.
fn may_be_invalid(run: &RunFiles, detail: &DetailLog) -> bool {
    matches!(run.kind, RunKind::Test(test) if test.needs_script())
        || run.is_token_test()
            && detail.scenario() == Some(Scenario::Server)
            && detail.is_on("early_stopping_met") == Some(false)
}

/// Finds keys that LoadGen writes once in a test, but of which a log has several lines: programs
/// that read the log differ in the line that they use. A log of several tests repeats everything,
/// and is a separate finding.
fn repeated(run: &RunFiles, detail: &DetailLog) -> Vec<String> {
    if detail.tests > 1 {
        return Vec::new();
    }
    let summary = run.logs.as_ref().and_then(|logs| logs.summary.as_ref().ok());
    let in_summary = summary.into_iter().flat_map(|summary| summary.repeated());
    let in_summary = in_summary.map(|(key, values)| format!("{key} ({})", list_first(values)));
    let in_detail = detail.repeated().map(|(key, values)| {
        let values: Vec<_> = values.into_iter().map(short).collect();
        format!("{key} ({})", list_first(&values))
    });
    let all = [("detail log", in_detail.collect::<Vec<_>>()), ("summary", in_summary.collect())];
    let said = all.into_iter().filter(|(_, keys)| !keys.is_empty());
    said.map(|(log, keys)| {
        format!(
            "the {log} has more than one line of {}, and LoadGen writes one: submit the log as LoadGen wrote it",
            list_first(&keys)
        )
    })
    .collect()
}

/// Returns a value as in the log, cut after [`LONGEST_VALUE`] characters.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns a finding if the run failed, or if its verdict contradicts its mode or its counts.
/// `mode` is `None` if unknown.
fn unlikely(record: &RunResult, mode: Option<Mode>) -> Option<String> {
    let RunResult { verdict, reasons, .. } = record;
    let unmatched = record.total(|node| node.unmatched_replies);
    let impossible = record.total(|node| node.impossible_responses);
    match (verdict, mode) {
        (Verdict::Failed, _) => Some(format!("the run failed: {}; run again", reasons.join("; "))),
        (Verdict::Valid, Some(Mode::Accuracy))
        | (Verdict::Complete, Some(Mode::Performance | Mode::Submission)) => Some(format!(
            "the verdict is {verdict:?}, which its mode does not have: take the record as the run wrote it"
        )),
        _ if unmatched > 0 && reasons.is_empty() => Some(format!(
            "{unmatched} replies belonged to no sample, and the verdict's reasons do not mention them: take the record as \
             the run wrote it"
        )),
        _ if impossible > 0 && reasons.is_empty() => Some(format!(
            "{impossible} responses had impossible figures, and the verdict's reasons do not mention them: take the record as \
             the run wrote it"
        )),
        _ => None,
    }
}
