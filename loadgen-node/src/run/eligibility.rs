//! Eligibility of a run for its division: the rules that its settings break.

use std::collections::BTreeSet;

use loadgen_sys::QuerySampleLibrary as _;
use netdiv_node_common::resources::files;
use netdiv_rules::{
    Finding, Outcome,
    eligibility::{UpcomingRun, before_run, is_required},
};
use tracing::{info, warn};

use crate::{
    RunError,
    record::Node,
    run::{
        outcome::{conclude, record::RunCounters},
        setup::loadgen_test::LoadGenTest,
    },
    settings::usage,
    units::count,
};

/// Returns the rules that the settings of a run for a division break or may break, and those that
/// its division does not require. `counted` has the nodes and the evidence once the nodes have
/// replied. Fails for a run that breaks a rule of its division, or with --strict may break one,
/// unless it is a rehearsal.
pub(super) fn findings(test: &LoadGenTest, counted: RunCounters) -> Result<Vec<Finding>, RunError> {
    let config = &test.config;
    if !config.division.has_rules() {
        return exploratory(test, &counted).map(|()| Vec::new());
    }
    let has_nodes = counted.evidence.is_some();
    // An unreadable file was refused with the settings.
    let audit_config = config.audit_config.as_deref().and_then(|path| files::read_text(path).ok());
    let run = UpcomingRun {
        record: conclude::record_without_outcome(test, counted),
        performance_samples: test.library.performance_sample_count() as u64,
        has_labels: test.labels.is_some(),
        loadgen_changes: loadgen_sys::git_status(),
        loadgen_files: loadgen_sys::file_sha1(),
        audit_config,
    };
    let findings = before_run(&config.benchmarks, &run);
    // The first check has no evidence, and leaves open the rules that need it.
    let is_strict = config.strict && has_nodes;
    let is_asked = |f: &&Finding| is_required(config.division, f.rule);
    let is_against = |f: &&Finding| match f.outcome {
        Outcome::Fail => true,
        Outcome::CannotTell => is_strict,
        Outcome::Pass => false,
    };
    let broken: Vec<_> = findings.iter().filter(is_asked).filter(is_against).collect();
    if !broken.is_empty() && !config.rehearsal {
        let list: Vec<_> = broken.iter().map(|finding| format!("  {finding}")).collect();
        let advice = if is_strict { "leave --strict out, or" } else { "or" };
        return Err(RunError::Usage(format!(
            "this run does not meet the rules of the {} division:\n{}\nChange the settings, {advice} give --rehearsal to run anyway, for \
             practice; without --division a run is exploratory",
            config.division.title(),
            list.join("\n")
        )));
    }
    if has_nodes {
        let (asked, waived): (Vec<_>, Vec<_>) = findings.iter().partition(is_asked);
        for finding in asked {
            match finding.outcome {
                Outcome::Pass => info!("{finding}"),
                Outcome::Fail | Outcome::CannotTell => warn!("{finding}"),
            }
        }
        if !waived.is_empty() {
            let rules: BTreeSet<_> = waived.iter().map(|finding| finding.rule).collect();
            let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
            info!(
                "waived in the {} division: {} ({}, in result.json)",
                config.division.title(),
                rules.join(", "),
                count(waived.len(), "finding")
            );
        }
    }
    Ok(findings)
}

/// Refuses an exploratory run of a benchmark by nodes that choose tokens in another way.
fn exploratory(test: &LoadGenTest, counted: &RunCounters) -> Result<(), RunError> {
    let other = |node: &Node| {
        let why = test.config.check_decoding(node.decoding)?;
        Some(format!("node {}: {why}", node.name))
    };
    let others: Vec<_> = counted.nodes.iter().filter_map(other).collect();
    if others.is_empty() {
        return Ok(());
    }
    usage(format!("{}. For an experiment, give --benchmark a name of your own", others.join("; ")))
}
