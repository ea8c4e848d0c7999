//! The verdict on a run.

use loadgen_sys::{Mode, StartTestError};

use super::{accuracy, counted::Counted, loadgen_test::LoadGenTest};
use crate::{
    official_log::{self, DetailLog, LogError},
    output,
    result::{Accuracy, Digests, Verdict},
};

/// Most errors of LoadGen's log that are repeated in the result.
const SHOWN_ERRORS: usize = 5;

/// A verdict and what led to it.
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<String>,
    pub(super) accuracy: Option<Accuracy>,
    pub(super) official_accuracy: Option<String>,
}

impl Judgement {
    /// By how LoadGen's test ended, what its detail log says, and what was counted.
    pub(super) fn new(
        test: &LoadGenTest,
        counted: &Counted,
        outcome: Result<(), StartTestError>,
        log: Result<&DetailLog, &LogError>,
    ) -> Self {
        let mut judgement = Self {
            verdict: Verdict::Complete,
            reasons: Vec::new(),
            accuracy: None,
            official_accuracy: None,
        };
        match (outcome, log) {
            (Ok(()), Ok(log)) => judgement.by_log(test, log),
            (Err(error), _) => judgement.fail(counted, error.to_string()),
            (Ok(()), Err(error)) => judgement.fail(counted, error.to_string()),
        }
        judgement.by_counts(counted);
        judgement
    }

    fn fail(&mut self, counted: &Counted, error: String) {
        self.verdict = Verdict::Failed;
        let error = error.strip_prefix(output::FAILED).map_or(error.clone(), Into::into);
        self.reasons.push(counted.failure.clone().unwrap_or(error));
    }

    /// A run that failed stays failed.
    fn fault(&mut self, reason: String) {
        if self.verdict != Verdict::Failed {
            self.verdict = Verdict::Invalid;
        }
        self.reasons.push(reason);
    }

    /// What LoadGen's logs say of a test that ended.
    fn by_log(&mut self, test: &LoadGenTest, log: &DetailLog) {
        let mode = test.config.mode;
        if mode != Mode::Accuracy {
            self.verdict = Verdict::Valid;
            match log.text("result_validity") {
                Some("VALID") => {}
                Some(_) => self.fault(invalid_reason(log)),
                None => self.fault("LoadGen's log has no result".into()),
            }
        }
        let errors = log.errors();
        for error in errors.iter().take(SHOWN_ERRORS) {
            self.fault(format!("LoadGen's log has an error: {error}"));
        }
        if errors.len() > SHOWN_ERRORS {
            self.fault(format!("and {} more errors", errors.len() - SHOWN_ERRORS));
        }
        if matches!(mode, Mode::Accuracy | Mode::Submission) {
            match score(test) {
                Ok(Score::Computed(accuracy)) => self.accuracy = Some(accuracy),
                Ok(Score::By(command)) => self.official_accuracy = Some(command),
                Ok(Score::NoLabels) => {}
                Err(reason) => self.fault(reason),
            }
        }
    }

    /// What was counted on the way to the SUT.
    fn by_counts(&mut self, counted: &Counted) {
        let missing = counted.issued - counted.completed();
        if missing > 0 && self.verdict != Verdict::Failed {
            self.fault(format!("{missing} samples have no answer"));
        }
        for (what, compared) in counted.digests.iter().flat_map(Digests::by_name) {
            if compared.differences > 0 {
                let examples = compared.examples.join("; ");
                self.fault(format!("{what} did not all arrive as they were sent: {examples}"));
            }
        }
        let tokens = counted.nodes.iter().filter_map(|node| node.tokens.as_ref());
        let one_token: u64 = tokens.map(|tokens| tokens.one_token_answers).sum();
        if one_token > 0 {
            self.reasons.push(format!(
                "{one_token} answers have one token: LoadGen has no time for further ones, and its figures of tokens are off"
            ));
        }
        let cached: u64 = counted.nodes.iter().map(|node| node.cached_prompt_tokens).sum();
        if cached > 0 {
            self.reasons.push(format!(
                "{cached} tokens of prompts were not computed: the serving engine had them from other prompts"
            ));
        }
        let unmatched: u64 = counted.nodes.iter().map(|node| node.unmatched_replies).sum();
        if unmatched > 0 {
            self.reasons
                .push(format!("{unmatched} replies belonged to no sample and were dropped"));
        }
        if self.verdict != Verdict::Failed {
            self.reasons.extend(counted.nodes.iter().filter_map(|node| {
                let (why, samples) = (node.lost.as_ref()?, node.redispatched);
                Some(format!(
                    "{why}; the run went on without it, and {samples} of its samples went to other nodes"
                ))
            }));
        }
        self.reasons.extend(counted.remark.clone());
    }
}

fn invalid_reason(log: &DetailLog) -> String {
    let texts = ["result_invalid_reason", "early_stopping_result"].map(|key| log.text(key));
    let reasons: Vec<_> = texts.into_iter().flatten().map(str::trim).collect();
    let reasons = reasons.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    format!("LoadGen calls the result INVALID: {reasons}")
}

/// What is known of the accuracy.
enum Score {
    Computed(Accuracy),
    /// An official script computes it.
    By(String),
    NoLabels,
}

/// Checks that the accuracy log has an answer to each sample, and compares them with the labels.
fn score(test: &LoadGenTest) -> Result<Score, String> {
    let LoadGenTest { config, library, labels, .. } = test;
    let path = config.output.join(output::ACCURACY);
    let responses = official_log::responses(&path).map_err(|error| error.to_string())?;
    if let Some(labels) = labels {
        return accuracy::of_labels(responses, labels, &config.output).map(Score::Computed);
    }
    match accuracy::script(&config.benchmark) {
        Some(script) => {
            script.check(responses, library.total_samples())?;
            Ok(Score::By(script.command(&config.output)))
        }
        None => {
            accuracy::check_complete(responses, library.total_samples())?;
            Ok(Score::NoLabels)
        }
    }
}
