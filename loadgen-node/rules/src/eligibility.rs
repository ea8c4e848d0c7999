//! Rules that a run breaks for its division. The rules are judged before the run, because a run of
//! ten minutes that breaks a rule is ten minutes lost, and by its answers when it is over.

#[cfg(test)]
#[path = "../tests/eligibility/mod.rs"]
mod tests;

pub use crate::{
    judge::check_suite as outside_suite,
    subject::{ACCURACY_COUNT, UpcomingRun},
};

use crate::{
    Finding, Outcome,
    Rule::{self, N2, N10, N32, N33},
    book::{Benchmark, Table},
    compliance::audit_config,
    grouping::NEEDS_SUBMISSION,
    judge::{check_one_token_answers, engines::check_reused_prompts, limits::COALESCED},
    record::{Division, Mode, Node},
    rules,
    subject::{AllFindings, NO_BENCHMARK},
};

/// Returns true if the division requires the rule of a run. The Open division prescribes nothing
/// (section 4.1.2), and an exploratory run is not a result.
pub fn is_required(division: Division, rule: Rule) -> bool {
    division.has_rules() && rule.is_required_in(division)
}

/// Returns findings about the rules of the Network division that the run would break, or that
/// cannot be judged; empty for divisions without rules. Judges rules about the nodes once the
/// record has evidence. For another division, the caller selects its findings with
/// [`is_required`].
pub fn before_run(table: &Table, run: &UpcomingRun) -> Vec<Finding> {
    if !run.record.division.has_rules() {
        return Vec::new();
    }
    let mut found = AllFindings::default();
    rules::judge(&run.subject(table), &mut found);
    let mut findings = found.into_list();
    findings.retain(is_told);
    if let Some(benchmark) = table.find(&run.record.benchmark) {
        findings.extend(other_audit_config(benchmark, run));
        findings.extend(other_labels(benchmark, run));
    }
    findings.sort_by_key(|finding| finding.rule);
    findings
}

/// Returns findings about the rules of the division that the answers of a run have broken.
pub fn after_run(division: Division, nodes: &[Node]) -> Vec<Finding> {
    if !division.has_rules() {
        return Vec::new();
    }
    let ones = check_one_token_answers(nodes).map(|why| Finding::fail(N33, "answers", why));
    let reused = |node: &Node| Some(Finding::fail(N10, &node.name, check_reused_prompts(node)?));
    ones.into_iter().chain(nodes.iter().filter_map(reused)).collect()
}

/// Returns true unless a finding about a run that has not begun is a pass, follows from another
/// finding, or waits for the submission.
fn is_told(finding: &Finding) -> bool {
    let text = &finding.text;
    match finding.outcome {
        Outcome::Pass => text.contains(COALESCED),
        Outcome::CannotTell => text != NO_BENCHMARK && !text.starts_with(NEEDS_SUBMISSION),
        Outcome::Fail => true,
    }
}

/// Returns a finding if LoadGen must not read the audit.config: its text is not that of a
/// compliance test of the benchmark.
fn other_audit_config(benchmark: &Benchmark, run: &UpcomingRun) -> Option<Finding> {
    let text = run.audit_config.as_ref()?;
    let is_its = benchmark.compliance.iter().any(|test| audit_config(*test, benchmark) == *text);
    let why = "it is not the file of a compliance test of this benchmark; omit it, and run the tests with loadgen-node audit";
    (!is_its).then(|| Finding::fail(N32, "audit.config", why))
}

/// Official checker's name of top-1 accuracy, the metric that a run computes itself.
const TOP1: &str = "acc";

/// Requires labels for ResNet50, whose accuracy the run computes from them, and refuses labels for
/// benchmarks whose metric is not top-1. An official script computes the accuracy of other
/// benchmarks from the accuracy log.
fn other_labels(benchmark: &Benchmark, run: &UpcomingRun) -> Option<Finding> {
    if !matches!(run.record.mode, Mode::Accuracy | Mode::Submission) {
        return None;
    }
    let name = &benchmark.name;
    let has_top1 = benchmark.quality.iter().all(|quality| quality.metric == TOP1);
    let text = match run.has_labels {
        // The graph network has this metric, too, but its official script computes it.
        false if benchmark.loadgen_model == "resnet50" => format!(
            "the accuracy of {name} is computed from labels, which are missing: pass --labels FILE, a .npy with an int32 or \
             int64 for each sample"
        ),
        true if !has_top1 => format!(
            "the accuracy of {name} is not computed from labels, but by the official script: omit --labels"
        ),
        _ => return None,
    };
    Some(Finding::fail(N2, "labels", text))
}
