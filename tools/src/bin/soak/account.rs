//! Invariants of every run, whatever its fault.

use e2e::Outcome;
use netdiv_rules::record::{RunResult, Verdict};

use crate::plan::{Fault, Load, Plan};

/// Fate of a run's samples, and violated invariants.
#[derive(Debug, Default)]
pub struct RunAccount {
    /// Verdict; `None` for a run that was killed.
    pub verdict: Option<Verdict>,
    /// Number of samples that LoadGen issued.
    pub issued: u64,
    /// Number of samples with a response.
    pub completed: u64,
    /// Number of samples that the run declares lost.
    pub lost: u64,
    /// Set if the run continued without a node.
    pub has_continued: bool,
    /// Number of samples that were reassigned from a lost node to other nodes.
    pub reassigned: u64,
    /// Number of samples with an unknown fate.
    pub unaccounted: u64,
    /// Peak memory of the LoadGen node, in bytes.
    pub peak_resident_bytes: u64,
    /// Violated invariants.
    pub violations: Vec<String>,
}

impl RunAccount {
    /// Checks a run that has ended.
    pub fn of(plan: &Plan, outcome: &Outcome) -> Self {
        let mut account = Self::default();
        account.check(plan, outcome);
        account
    }

    fn check(&mut self, plan: &Plan, outcome: &Outcome) {
        for text in [&outcome.stdout, &outcome.stderr] {
            self.must(!text.contains("panicked"), "the LoadGen node panicked");
        }
        let Some(code) = outcome.code else {
            // Running::wait kills a run that hangs for two minutes; such a run has no exit code
            // either.
            let killed = plan.fault == Fault::LoadGenKilled && outcome.time.as_secs() < 60;
            self.must(killed, "the LoadGen node hung, or an unexpected signal ended it");
            return;
        };
        self.must(code != 2, "the run was refused although the nodes were ready");
        let harmless = plan.fault.is_harmless();
        self.must(!harmless || code <= 1, "a harmless fault ended the run");
        match serde_json::from_str::<RunResult>(&outcome.read("result.json")) {
            Ok(result) => self.check_result(plan, outcome, code, &result),
            Err(error) => self.violations.push(format!("result.json: {error}")),
        }
    }

    fn check_result(&mut self, plan: &Plan, outcome: &Outcome, code: i32, result: &RunResult) {
        let harmless = plan.fault.is_harmless();
        let samples = &result.samples;
        let answered: u64 = result.nodes.iter().map(|node| node.answered).sum();
        self.verdict = Some(result.verdict);
        (self.issued, self.completed, self.lost) =
            (samples.issued, samples.completed, samples.lost);
        self.peak_resident_bytes = result.process.peak_resident_bytes;
        self.unaccounted = samples.issued.abs_diff(samples.completed + samples.lost)
            + samples.completed.abs_diff(answered);
        self.must(self.unaccounted == 0, "the counts do not add up");
        self.must(
            i32::from(loadgen_node::exit_code(result.verdict)) == code,
            "the exit code does not match the verdict",
        );
        let sends = result.nodes.iter().all(|node| node.sent >= node.answered);
        self.must(sends, "a node sent more responses than it received samples");
        let left = || result.nodes.iter().filter(|node| node.lost.is_none());
        self.reassigned = result.nodes.iter().map(|node| node.redispatched).sum();
        let reason = result.reasons.first();
        let log = outcome.read("mlperf_log_detail.txt");
        if result.verdict == Verdict::Failed {
            let told = reason.is_some_and(|reason| outcome.stdout.contains(reason.as_str()));
            self.must(told, "the run failed without a reason");
            self.must(
                log.contains("netdiv: the run failed"),
                "LoadGen's log does not report the failure",
            );
            self.must(!log.contains("result_validity"), "a failed run has a result");
            let goes_on = plan.redispatch && plan.fault.costs_a_node();
            let cut = reason.is_some_and(|reason| reason.contains("in the middle of an answer"));
            self.must(!goes_on || cut, "the run did not continue without a node");
            return;
        }
        self.must(samples.lost == 0, "samples are lost, but the run did not fail");
        self.must(left().count() > 0, "no node is left, but the run did not fail");
        self.has_continued = left().count() < result.nodes.len();
        self.must(
            plan.redispatch || !self.has_continued,
            "the run continued without a node, but --on-node-loss was not set",
        );
        self.must(!(self.has_continued && harmless), "a harmless fault cost a node");
        let counted = left().all(|node| node.acknowledged == node.sent);
        self.must(counted, "a node's count of samples differs from the samples sent to it");
        let unmatched: u64 = result.nodes.iter().map(|node| node.unmatched_replies).sum();
        self.must(unmatched == 0, "replies belonged to no sample");
        let good = matches!(result.verdict, Verdict::Valid | Verdict::Complete);
        self.must(good || reason.is_some(), "the run is INVALID without a reason");
        let differences =
            result.digests.iter().flat_map(|d| d.by_name()).any(|(_, c)| c.differences > 0);
        self.must(!differences, "bytes did not arrive as they were sent");
        let proven = plan.load != Load::Accuracy || result.digests.is_some();
        self.must(proven, "the digests were not compared");
    }

    fn must(&mut self, condition: bool, complaint: &str) {
        if !condition {
            self.violations.push(complaint.into());
        }
    }
}
