//! N21: everything outside the LoadGen node is the SUT, and the figures are LoadGen's: summary,
//! detail log and record belong to one test (rules, section 6.2.3).

use super::n16::judge_by_construction;
use crate::subject::{Findings, Subject, logs::disagreements};

mod clocks;
mod issued;
mod latencies;
mod record_figures;
mod required_figures;
mod response_counts;
mod tallies;
mod throughput;
mod times;
mod token_counts;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    record_figures::judge(subject, found);
    tallies::judge(subject, found);
    response_counts::judge(subject, found);
    let claim = "times and verdicts are LoadGen's, taken from its log (facts/official_log)";
    judge_by_construction(claim, subject, found);
    figures(subject, found);
    required_figures::judge(subject, found);
    clocks::judge(subject, found);
    times::judge(subject, found);
    issued::judge(subject, found);
    throughput::judge(subject, found);
    token_counts::judge(subject, found);
    latencies::judge(subject, found);
}

/// Compares LoadGen's figures in the detail log with the summary.
fn figures(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        let Some(Ok(summary)) = run.logs.as_ref().map(|logs| &logs.summary) else { continue };
        let mut at = found.at(&run.place);
        let differ = disagreements(summary, detail);
        if !differ.is_empty() {
            at.fail(format!("the summary does not belong to this log: {}", differ.join("; ")));
        }
        at.or_pass("the detail log and the summary have the same figures");
    }
}
