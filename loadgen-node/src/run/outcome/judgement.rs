//! The verdict on a run.

use std::collections::BTreeSet;

use loadgen_sys::{Mode, StartTestError};
use netdiv_rules::book::Benchmark;

use crate::{
    official_log::{self, DetailLog, LogError, LoggedResponse},
    output,
    record::{Accuracy, Digests, Verdict},
    run::{
        outcome::{accuracy, record::RunCounters},
        setup::loadgen_test::LoadGenTest,
    },
    units::count,
};

/// Maximum number of errors in LoadGen's log that the result repeats.
const SHOWN_ERRORS: usize = 5;

/// LoadGen's error for a response of one token. It does not name the sample.
const ONE_TOKEN: &str = "Number of tokens need to be greater than 1";

pub(crate) struct RunJudgement {
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
    pub(crate) accuracy: Option<Accuracy>,
    pub(crate) official_accuracy: Option<String>,
}

impl RunJudgement {
    pub(crate) fn without_reasons(verdict: Verdict) -> Self {
        Self { verdict, reasons: Vec::new(), accuracy: None, official_accuracy: None }
    }

    /// Judges a run by the outcome of LoadGen's test, by LoadGen's detail log, and by the counters.
    pub(crate) fn new(
        test: &LoadGenTest,
        counted: &RunCounters,
        outcome: Result<(), StartTestError>,
        log: Result<&DetailLog, &LogError>,
    ) -> Self {
        let mut judgement = Self::without_reasons(Verdict::Complete);
        match (outcome, log) {
            (Ok(()), Ok(log)) => {
                judgement.reasons.extend(one_token_answers(counted));
                judgement.judge_log(test, log);
            }
            (Err(error), _) => judgement.fail(counted, error.to_string()),
            (Ok(()), Err(error)) => judgement.fail(counted, error.to_string()),
        }
        judgement.judge_counters(counted);
        judgement
    }

    fn fail(&mut self, counted: &RunCounters, error: String) {
        self.verdict = Verdict::Failed;
        let error = error.strip_prefix(netdiv_receivers::FAILED).map_or(error.clone(), Into::into);
        self.reasons.push(counted.failure.clone().unwrap_or(error));
    }

    /// Adds a fault. A failed run stays failed.
    fn fault(&mut self, reason: String) {
        if self.verdict != Verdict::Failed {
            self.verdict = Verdict::Invalid;
        }
        self.reasons.push(reason);
    }

    /// Judges a test that LoadGen has completed, by LoadGen's verdict, errors and accuracy log.
    fn judge_log(&mut self, test: &LoadGenTest, log: &DetailLog) {
        let mode = test.config.mode;
        if mode != Mode::Accuracy {
            self.verdict = Verdict::Valid;
            match log.text("result_validity") {
                Some("VALID") => {}
                Some(_) => {
                    self.fault(invalid_reason(log));
                    let known = test.config.benchmarks.find(&test.config.benchmark);
                    self.reasons.extend(known.and_then(|known| bound_of_the_rules(known, log)));
                }
                None => self.fault("LoadGen's log has no result".into()),
            }
        }
        let unreadable =
            log.unreadable.iter().map(|line| format!("a line that is not an entry: {line}"));
        // The first reason stands for all of them.
        let (short, errors): (Vec<_>, Vec<_>) =
            log.errors.iter().cloned().partition(|error| error == ONE_TOKEN);
        if !short.is_empty() {
            self.verdict = Verdict::Invalid;
        }
        let errors: Vec<_> = errors.into_iter().chain(unreadable).collect();
        for error in errors.iter().take(SHOWN_ERRORS) {
            self.fault(format!("LoadGen's log has an error: {error}"));
        }
        if errors.len() > SHOWN_ERRORS {
            self.fault(format!("and {} more errors", errors.len() - SHOWN_ERRORS));
        }
        if matches!(mode, Mode::Accuracy | Mode::Submission) {
            self.judge_responses(test).unwrap_or_else(|reason| self.fault(reason));
        }
    }

    /// Checks that the accuracy log has a response to each sample. Compares the responses with the
    /// labels, or names the command of the official script that computes the accuracy.
    fn judge_responses(&mut self, test: &LoadGenTest) -> Result<(), String> {
        let LoadGenTest { config, library, labels, .. } = test;
        let path = config.output.join(output::ACCURACY);
        let responses = official_log::responses(&path).map_err(|error| error.to_string())?;
        // MultiStream issues some samples twice, and two sampled responses differ.
        let known = config.benchmarks.find(&config.benchmark);
        let is_sampled = known.is_some_and(|known| known.sampled);
        let mut seen = BTreeSet::new();
        let responses = responses.filter(|response| {
            let is_first = |response: &LoggedResponse| seen.insert(response.qsl_idx);
            !is_sampled || response.as_ref().map_or(true, is_first)
        });
        let samples = library.total_samples();
        match (labels, accuracy::script(&config.benchmark)) {
            (Some(labels), _) => {
                let accuracy = accuracy::compare_with_labels(responses, labels, &config.output)?;
                self.accuracy = Some(accuracy);
            }
            (None, Some(script)) => {
                script.check(responses, samples)?;
                self.official_accuracy = Some(script.command(&config.output));
            }
            (None, None) => accuracy::check_complete(responses, samples)?,
        }
        Ok(())
    }

    /// Judges a run by the counters on the path to the SUT.
    fn judge_counters(&mut self, counted: &RunCounters) {
        let missing = counted.issued - counted.completed();
        if missing > 0 && self.verdict != Verdict::Failed {
            self.fault(format!("{missing} samples have no response"));
        }
        for (what, compared) in counted.digests.iter().flat_map(Digests::by_name) {
            if compared.differences > 0 {
                let examples = compared.examples.join("; ");
                self.fault(format!("{what} did not all arrive as they were sent: {examples}"));
            }
        }
        let cached: u64 = counted.nodes.iter().map(|node| node.cached_prompt_tokens).sum();
        if cached > 0 {
            self.reasons.push(format!(
                "{cached} prompt tokens were not computed: the serving engine had cached them from other prompts"
            ));
        }
        let unmatched: u64 = counted.nodes.iter().map(|node| node.unmatched_replies).sum();
        if unmatched > 0 {
            self.reasons
                .push(format!("{unmatched} replies belonged to no sample and were dropped"));
        }
        for node in counted.nodes.iter().filter(|node| node.impossible_responses > 0) {
            self.reasons.push(format!(
                "node {} sent {} responses with impossible figures: times that are longer than the sample took, or more reused \
                 tokens than its prompt has. The tables have the sample's own instead; upgrade the node, or check its clock",
                node.name, node.impossible_responses
            ));
        }
        if self.verdict != Verdict::Failed {
            self.reasons.extend(counted.nodes.iter().filter_map(|node| {
                let (why, samples) = (node.lost.as_ref()?, node.redispatched);
                Some(format!(
                    "{why}; the run went on without it, and {samples} of its samples were reassigned to other nodes"
                ))
            }));
        }
        self.reasons.extend(counted.remark.clone());
    }
}

/// Returns the reason for answers of one token, with the first samples that have them.
fn one_token_answers(counted: &RunCounters) -> Option<String> {
    let tokens = || counted.reports.iter().filter_map(|report| report.tokens.as_ref());
    let all: u64 = tokens().map(|tokens| tokens.one_token).sum();
    let samples: BTreeSet<_> = tokens().flat_map(|tokens| &tokens.one_token_samples).collect();
    let samples: Vec<_> = samples.into_iter().take(SHOWN_ERRORS).map(usize::to_string).collect();
    let named = if samples.is_empty() {
        String::new()
    } else {
        format!(" (first samples: {})", samples.join(", "))
    };
    (all > 0).then(|| {
        format!(
            "{} of one token{named}: LoadGen has no time per further token, logs an error for each, and its token figures are wrong",
            count(all as usize, "answer")
        )
    })
}

/// Keys in LoadGen's detail log whose texts give reasons for an INVALID result. A valid result also
/// has the keys of early stopping: their texts then report success.
const TEXTS: [&str; 4] = [
    "result_invalid_reason",
    "early_stopping_result",
    "early_stopping_ttft_result",
    "early_stopping_tpot_result",
];

/// Conditions of LoadGen's verdict: the key of each in the detail log, and the reason to report if
/// the condition is not met and LoadGen gives no reason.
const PARTS: [(&str, &str); 4] = [
    ("result_min_duration_met", "the test was shorter than the minimum duration"),
    ("result_min_queries_met", "fewer queries were issued than the minimum"),
    ("result_perf_constraints_met", "latencies exceed their bounds"),
    ("early_stopping_met", "too few queries were processed for early stopping"),
];

/// Returns every reason that LoadGen gives.
fn invalid_reason(log: &DetailLog) -> String {
    let said = TEXTS.into_iter().filter_map(|key| log.text(key));
    let said = said.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut reasons: Vec<_> =
        said.filter(|text| !text.is_empty() && !text.starts_with("* Run successful")).collect();
    if reasons.is_empty() {
        let unmet = PARTS.into_iter().filter(|(key, _)| log.is_on(key) == Some(false));
        reasons = unmet.map(|(_, reason)| reason.to_owned()).collect();
    }
    format!("LoadGen calls the result INVALID: {}", reasons.join(" "))
}

/// Returns a remark if the times per token of an invalid result exceed LoadGen's bound, and not that
/// of the rules.
fn bound_of_the_rules(benchmark: &Benchmark, log: &DetailLog) -> Option<String> {
    let (bound, of_rules) = (benchmark.tpot_ms?, benchmark.rules("tpot_ms")?);
    let took = log.number("result_time_per_output_token_99.00_percentile_ns")? / 1e6;
    (bound..of_rules).contains(&took).then(|| {
        format!(
            "the time per further token was {took:.3} ms (99th percentile): LoadGen's bound is {bound} ms, the rules' is {of_rules} ms"
        )
    })
}

#[cfg(test)]
mod tests {
    use netdiv_rules::book::Table;

    use super::*;

    fn log(entries: &[(&str, &str)]) -> DetailLog {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlperf_log_detail.txt");
        let line = |(key, value): &(&str, &str)| {
            format!(
                ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"time_ms\": 1.0, \"metadata\": {{\"is_error\": false}}}}\n"
            )
        };
        std::fs::write(&path, entries.iter().map(line).collect::<String>()).unwrap();
        DetailLog::read(&path).unwrap()
    }

    #[test]
    fn a_time_per_token_between_two_bounds_names_both() {
        let of = |name: &str, ns: &str| {
            let log = log(&[("result_time_per_output_token_99.00_percentile_ns", ns)]);
            bound_of_the_rules(Table::builtin().unwrap().find(name).unwrap(), &log)
        };
        let said = of("gpt-oss-120b-interactive", "17250000").unwrap();
        let want = "17.250 ms (99th percentile): LoadGen's bound is 15 ms, the rules' is 20 ms";
        assert!(said.ends_with(want), "{said}");
        for (name, ns) in [
            ("gpt-oss-120b-interactive", "14000000"),
            ("gpt-oss-120b-interactive", "21000000"),
            ("gpt-oss-120b", "90000000"),
        ] {
            assert_eq!(of(name, ns), None);
        }
    }

    #[test]
    fn every_reason_of_loadgen_is_reported() {
        let few = "\" * Only processed 100 queries.  * Need to process at least 662.\"";
        let good = "\" * Run successful.\"";
        for (entries, want) in [
            (vec![("early_stopping_result", few)], "* Only processed 100 queries. * Need to"),
            (
                vec![("early_stopping_ttft_result", few), ("early_stopping_tpot_result", good)],
                "* Only processed 100 queries. * Need to",
            ),
            (
                vec![
                    ("result_invalid_reason", "\"Reduce target QPS. \""),
                    ("early_stopping_result", good),
                ],
                "Reduce target QPS.",
            ),
            (vec![("result_min_duration_met", "false")], "the test was shorter"),
            (
                vec![("early_stopping_met", "false"), ("early_stopping_tpot_result", "\"\"")],
                "too few queries were processed",
            ),
        ] {
            let reason = invalid_reason(&log(&entries));
            let text = reason.strip_prefix("LoadGen calls the result INVALID: ").unwrap();
            assert!(text.starts_with(want) && !text.contains("successful"), "{reason}");
        }
    }
}
