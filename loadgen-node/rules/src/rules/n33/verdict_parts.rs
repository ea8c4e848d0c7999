//! Compares the parts of LoadGen's verdict, such as `result_min_duration_met`, with the figures
//! that determine them.

use netdiv_node_common::words::Mode;

use crate::{
    Rule, Scenario,
    official_log::{DetailLog, elapsed},
    statistics::{CONFIDENCE, TOLERANCE, min_queries},
    subject::{Findings, RunFiles, Subject},
};

/// Relative tolerance for the minimum number of queries, which LoadGen computes differently.
const ROUNDING: f64 = 0.01;

/// Percentiles of latency that LoadGen logs, each as a share of the queries and as a key of the
/// log.
const PERCENTILES: [(f64, &str); 6] = [
    (0.50, "result_50.00_percentile_latency_ns"),
    (0.90, "result_90.00_percentile_latency_ns"),
    (0.95, "result_95.00_percentile_latency_ns"),
    (0.97, "result_97.00_percentile_latency_ns"),
    (0.99, "result_99.00_percentile_latency_ns"),
    (0.999, "result_99.90_percentile_latency_ns"),
];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        if detail.repeated().next().is_some() {
            continue;
        }
        // Consequences of a figure that violates another rule are not reported again.
        let [is_late, is_short] =
            [Rule::N2, Rule::N32].map(|rule| found.is_broken(rule, Some(&run.place)));
        let mut at = found.at(&run.place);
        at.fail_each(errors(run, detail).or_else(|| other_mode(detail)));
        if run.is_performance() && detail.mode() == Some(Mode::Performance) {
            let short = Some(detail).filter(|_| !is_short).and_then(duration);
            let wrong = || constraints(detail).or_else(|| late(detail));
            let wrong = short.or_else(|| Some(wrong()).filter(|_| !is_late).flatten());
            let early = || early_stopping(detail).or_else(|| early_text(detail));
            at.fail_each(wrong.or_else(early));
        }
    }
}

/// Compares the numbers of errors and warnings in the log with the numbers that the log and the
/// summary state.
fn errors(run: &RunFiles, detail: &DetailLog) -> Option<String> {
    let logged = detail.errors().len() as u64;
    let counted = detail.integer("num_errors").filter(|counted| *counted != logged);
    if let Some(counted) = counted {
        return Some(format!(
            "num_errors is {counted}, and the log has {logged} entries of errors: submit the log as LoadGen wrote it"
        ));
    }
    let summary = run.logs.as_ref()?.summary.as_ref().ok()?;
    let (warned, said) = (detail.warnings() as u64, summary.warnings()?);
    // LoadGen may still count a warning after it has closed its log.
    (warned > said).then(|| {
        format!(
            "the summary counts {said} warnings, and the detail log has {warned}: submit the logs as LoadGen wrote them"
        )
    })
}

/// Returns a finding if LoadGen started in another mode than the effective mode. Its first message
/// in the log names the mode in which it starts.
fn other_mode(detail: &DetailLog) -> Option<String> {
    let mode = detail.mode()?;
    let said = detail.all("generic_message").filter_map(|message| message.as_str());
    let mut said = said.peekable();
    let first = said.peek().copied()?;
    let begun = said.find_map(|text| text.strip_prefix("Starting ")?.strip_suffix(" mode"));
    let said = begun.unwrap_or(first);
    let wanted: &[&str] = match mode {
        Mode::Performance => &["performance"],
        Mode::Accuracy => &["accuracy"],
        // A run in both modes begins with accuracy.
        Mode::Submission => &["accuracy", "performance"],
        _ => return None,
    };
    (!wanted.contains(&said)).then(|| {
        format!(
            "LoadGen started in mode `{said}`, and effective_test_mode is {}: submit the log as LoadGen wrote it",
            mode.official_name()
        )
    })
}

/// Formats the finding about a part of the verdict that its figures contradict.
fn contradicts(part: &str, is: bool, figures: &str) -> String {
    format!("{part} is {is}, and {figures}: submit the log as LoadGen wrote it")
}

fn duration(detail: &DetailLog) -> Option<String> {
    let part = "result_min_duration_met";
    let is_met = detail.is_on(part)?;
    let took = elapsed::duration(detail.scenario()?, detail)?;
    let least = detail.number("effective_min_duration_ms")? / 1e3;
    (is_met && took < least * (1.0 - 1e-5)).then(|| {
        let figures = format!(
            "the test took {took:.1} s of the {least} s that effective_min_duration_ms requires"
        );
        contradicts(part, is_met, &figures)
    })
}

/// Returns a finding if the 99th percentiles contradict `result_perf_constraints_met`, the verdict
/// on Server's bounds.
fn constraints(detail: &DetailLog) -> Option<String> {
    let part = "result_perf_constraints_met";
    let is_met = detail.is_on(part)?;
    let share = detail.number("effective_target_latency_percentile")?;
    if detail.scenario() != Some(Scenario::Server) || (share - 0.99).abs() > 1e-6 {
        return None;
    }
    let pairs: &[(&str, &str)] = match detail.is_on("requested_use_token_latencies") {
        Some(true) => &[
            ("result_first_token_99.00_percentile_latency_ns", "requested_server_ttft_latency"),
            ("result_time_per_output_token_99.00_percentile_ns", "requested_server_tpot_latency"),
        ],
        _ => &[("result_99.00_percentile_latency_ns", "effective_target_latency_ns")],
    };
    let mut met = true;
    for (measured, bound) in pairs {
        met &= detail.number(measured)? <= detail.number(bound)?;
    }
    (met != is_met).then(|| {
        let (measured, bound) = pairs.first().copied().unwrap_or_default();
        let figures = format!(
            "{measured} is {}, {bound} {}",
            detail.number(measured).unwrap_or_default(),
            detail.number(bound).unwrap_or_default()
        );
        contradicts(part, is_met, &figures)
    })
}

/// Compares percentiles with the number of late queries. A percentile of latency exceeds the bound
/// if more queries are late than are beyond the percentile.
fn late(detail: &DetailLog) -> Option<String> {
    let bound = detail.number("effective_target_latency_ns").filter(|bound| *bound > 0.0)?;
    let late = detail.number("result_overlatency_query_count")?;
    let queries = detail.number("result_query_count")?;
    let wrong = PERCENTILES.iter().find(|(share, key)| {
        let after = queries - (queries * share).floor();
        let Some(latency) = detail.number(key) else { return false };
        // Rounding may move a percentile by one query.
        (latency > bound && late < after - 1.0) || (latency <= bound && late > after + 1.0)
    });
    wrong.map(|(_, key)| {
        format!(
            "result_overlatency_query_count is {late} of {queries} queries, and {key} is {} with a bound of {bound}: submit \
             the log as LoadGen wrote it",
            detail.number(key).unwrap_or_default()
        )
    })
}

/// Returns a finding if the number of queries contradicts `early_stopping_met`, the verdict on
/// early stopping. The number of late queries determines the minimum number of queries.
fn early_stopping(detail: &DetailLog) -> Option<String> {
    let part = "early_stopping_met";
    let is_met = detail.is_on(part)?;
    let counts_tokens = detail.is_on("requested_use_token_latencies") == Some(true);
    if detail.scenario() != Some(Scenario::Server) || counts_tokens {
        return None;
    }
    let share = detail.number("effective_target_latency_percentile")?;
    let late = detail.integer("result_overlatency_query_count")?;
    let queries = detail.number("result_query_count")?;
    let needed = min_queries(late, share, TOLERANCE, CONFIDENCE) as f64;
    let is_close = (queries - needed).abs() <= needed * ROUNDING + 1.0;
    ((queries >= needed) != is_met && !is_close).then(|| {
        let figures =
            format!("{late} late queries require {needed} queries, and there are {queries}");
        contradicts(part, is_met, &figures)
    })
}

/// Returns a finding if Server's texts about early stopping contradict the verdict. Each text
/// states for one bound that enough queries met it, or that some did not.
fn early_text(detail: &DetailLog) -> Option<String> {
    let part = "early_stopping_met";
    let is_met = detail.is_on(part)?;
    if detail.scenario() != Some(Scenario::Server) {
        return None;
    }
    let keys =
        ["early_stopping_result", "early_stopping_ttft_result", "early_stopping_tpot_result"];
    let said = keys.into_iter().filter_map(|key| Some((key, detail.text(key)?.trim())));
    let said: Vec<_> = said.filter(|(_, text)| !text.is_empty()).collect();
    let failed = said.iter().find(|(_, text)| !text.starts_with("* Run successful"));
    match (is_met, failed, said.first()) {
        (true, Some((key, text)), _) | (false, None, Some((key, text))) => {
            Some(contradicts(part, is_met, &format!("{key} is `{text}`")))
        }
        _ => None,
    }
}
