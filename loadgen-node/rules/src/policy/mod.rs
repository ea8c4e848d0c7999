//! Rules about the choices of a run, checked before it starts: a run of ten minutes that breaks a
//! rule is ten minutes lost. Violations that only its answers show are noted when it is over.
//!
//! `choice.rs` contains the choices of a run. `samples.rs` judges the samples, `settings.rs`
//! LoadGen's settings, and `machines.rs` the evidence. Judgements that also apply after a run are
//! in `judge/`.

#[cfg(test)]
#[path = "../../tests/policy/mod.rs"]
mod cases;
mod choice;
mod machines;
mod samples;
mod settings;

use netdiv_node_common::words::Mode;

pub use crate::judge::suite::check_suite as outside_suite;
pub use choice::{ACCURACY_COUNT, NodeEngine, RunChoices, Tensor};

use crate::{
    Finding,
    Rule::{self, N1, N2, N3, N10, N13, N32, N33},
    book::{Benchmark, Round, Suite, Table},
    compliance::audit_config,
    facts::node_software::missing_model_reason,
    judge::{
        check_one_token_answers, check_sut_name,
        engines::{check_outputs, check_prefix_caching, check_reused_prompts},
        loadgen::{LoadGenMatch, check_round, look_up},
        suite,
        uniform_nodes::node_differences,
    },
    record::{Division, Node},
};

/// Returns true if the division requires the rule before a run. The Open division prescribes
/// nothing (section 4.1.2), and an exploratory run is not a result.
pub fn is_required(division: Division, rule: Rule) -> bool {
    match division {
        Division::Network => true,
        Division::Closed => rule.is_in_closed(),
        Division::Open | Division::Exploratory => false,
    }
}

/// Returns findings about the rules of the Network division that the run would break, or that
/// cannot be judged; empty for divisions without rules. For another division, the caller selects
/// its findings with [`is_required`].
pub fn before_run(table: &Table, division: Division, choice: &RunChoices<'_>) -> Vec<Finding> {
    if !division.has_rules() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if choice.mode == Mode::FindPeak {
        let text = format!(
            "{} is not a mode of a submission; choose performance, accuracy or submission",
            choice.mode
        );
        findings.push(Finding::fail(N32, "mode", text));
    }
    if let Some(what) = check_sut_name(choice.sut_name_part) {
        findings.push(Finding::fail(N13, "SUT name", format!("{what}; rename it")));
    }
    if let Some(text) = suite::check_suite(table, choice.benchmark) {
        findings.push(Finding::fail(N1, "benchmark", text));
    }
    let seed = |setting: &str| choice.test_settings.get(setting)?.parse().ok();
    let round = table.round_of_seeds(seed);
    match table.find(choice.benchmark) {
        Some(benchmark) if benchmark.suite != Suite::Retired => {
            findings.extend(samples::check(benchmark, choice));
            findings.extend(settings::check(table, benchmark, choice));
            findings.extend(choice.engines.iter().flat_map(|NodeEngine { node, .. }| {
                let machine = choice.evidence.and_then(|evidence| evidence.nodes.get(*node));
                let why = machine.map(|machine| check_outputs(benchmark, round, machine));
                why.into_iter().flatten().map(|why| Finding::fail(N2, *node, why))
            }));
            let audit = choice.audit_config;
            let audit = audit.and_then(|text| check_audit_config(benchmark, text));
            findings.extend(audit.map(|why| Finding::fail(N32, "audit.config", why)));
        }
        _ => {}
    }
    findings.extend(loadgen(table, choice, round));
    findings.extend(settings::seeds(table, choice));
    findings.extend(engines(choice));
    findings.extend(choice.engines.iter().filter_map(|NodeEngine { node, engine, .. }| {
        let machine = choice.evidence?.nodes.get(*node)?;
        Some(Finding::fail(N10, *node, check_prefix_caching(engine, machine)?))
    }));
    findings.extend(machines::check(choice));
    if division == Division::Closed {
        // N1, about the suite and its rounds, is a rule of the Network division. In the Closed
        // division the same requirements belong to N2.
        let of_suite = findings.iter_mut().filter(|finding| finding.rule == N1);
        of_suite.for_each(|finding| finding.rule = N2);
    }
    findings
}

/// Returns a finding unless LoadGen's source files are those of a commit that the round accepts
/// (N3).
fn loadgen(table: &Table, choice: &RunChoices<'_>, round: Option<&Round>) -> Option<Finding> {
    let place = "LoadGen";
    let seed = |setting: &str| choice.test_settings.get(setting)?.parse().ok();
    match look_up(table, choice.loadgen, seed("schedule_rng_seed")) {
        LoadGenMatch::Listed(row) => {
            Some(Finding::fail(N3, place, check_round(table, row, round?)?))
        }
        LoadGenMatch::Unlisted(why) => Some(Finding::cannot_tell(N3, place, why)),
        LoadGenMatch::Altered(why) => Some(Finding::fail(N3, place, why)),
    }
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

/// Requires every node to run a model, and all nodes the same model, program and framework.
fn engines(choice: &RunChoices<'_>) -> Vec<Finding> {
    let missing =
        choice.engines.iter().filter_map(|NodeEngine { node, engine, model_sha256, .. }| {
            let why = missing_model_reason(engine, model_sha256)?;
            Some(Finding::fail(N2, *node, format!("no model runs there: {why}")))
        });
    let differ = node_differences(&choice.running());
    missing.chain(differ.into_iter().map(|why| Finding::fail(N2, "nodes", why))).collect()
}

/// Returns the reason why LoadGen must not read an audit.config: its text is not that of a
/// compliance test of the benchmark.
fn check_audit_config(benchmark: &Benchmark, text: &str) -> Option<&'static str> {
    let is_its = benchmark.compliance.iter().any(|test| audit_config(*test, benchmark) == text);
    (!is_its).then_some(
        "it is not the file of a compliance test of this benchmark; omit it, and run the tests with loadgen-node audit",
    )
}
