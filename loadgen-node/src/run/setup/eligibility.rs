//! Eligibility of a run for its division: the rules that its settings break.

use std::collections::{BTreeMap, BTreeSet};

use loadgen_sys::QuerySampleLibrary as _;
use netdiv_contract::layout::{self, TensorSpec};
use netdiv_node_common::resources::files;
use netdiv_qdl::{NodeInfo, SUT_NAME_PART};
use netdiv_rules::{
    Finding, Outcome,
    policy::{self, NodeEngine, RunChoices, Tensor},
    record::Evidence,
};
use tracing::{info, warn};

use crate::{RunError, own_loadgen, run::setup::loadgen_test::LoadGenTest, settings::Target};

fn tensor(spec: &TensorSpec) -> Tensor<'_> {
    Tensor { name: &spec.name, data_type: layout::type_name(spec.data_type()), shape: &spec.shape }
}

fn engine(node: &NodeInfo) -> NodeEngine<'_> {
    let description = &node.description;
    NodeEngine {
        node: &description.node_name,
        engine: &description.engine,
        model: &description.model_name,
        model_sha256: &description.model_sha256,
        software_version: &description.software_version,
    }
}

/// Returns the rules that the settings of a run for a division break or may break, and those that
/// its division does not require. Nodes and evidence are known once the nodes have replied. Fails
/// for a run that breaks a rule of its division, or with --strict may break one, unless it is a
/// rehearsal.
pub(crate) fn findings(
    test: &LoadGenTest,
    nodes: &[NodeInfo],
    evidence: Option<&Evidence>,
) -> Result<Vec<Finding>, RunError> {
    let config = &test.config;
    let settings: BTreeMap<String, String> = test.settings.fields().into_iter().collect();
    let layout = test.library.layout().unwrap_or_default();
    let tensors: Vec<_> = layout.tensors.iter().map(tensor).collect();
    // An unreadable file was refused with the settings.
    let audit_config = config.audit_config.as_deref().and_then(|path| files::read_text(path).ok());
    let engines: Vec<_> = nodes.iter().map(engine).collect();
    let findings = policy::before_run(
        &config.benchmarks,
        config.division,
        &RunChoices {
            benchmark: &config.benchmark,
            scenario: config.scenario,
            mode: config.mode,
            encoding: config.encoding,
            input: Some(&tensors),
            dataset_samples: test.library.total_samples() as u64,
            prepared: &test.library.prepared(),
            performance_samples: test.library.performance_sample_count() as u64,
            has_labels: test.labels.is_some(),
            test_settings: &settings,
            loadgen: &own_loadgen::built(),
            sut_name_part: SUT_NAME_PART,
            has_digests: config.digests,
            is_in_process: !matches!(config.target, Target::Nodes(_)),
            audit_config: audit_config.as_deref(),
            engines: &engines,
            evidence,
        },
    );
    // The first check has no evidence, and leaves open the rules that need it.
    let is_strict = config.strict && evidence.is_some();
    let is_asked = |f: &&Finding| policy::is_required(config.division, f.rule);
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
    if evidence.is_some() {
        let (asked, waived): (Vec<_>, Vec<_>) = findings.iter().partition(is_asked);
        asked.iter().for_each(|finding| warn!("{finding}"));
        if !waived.is_empty() {
            let rules: BTreeSet<_> = waived.iter().map(|finding| finding.rule).collect();
            let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
            info!(
                "waived in the {} division: {} ({} findings, in result.json)",
                config.division.title(),
                rules.join(", "),
                waived.len()
            );
        }
    }
    Ok(findings)
}
