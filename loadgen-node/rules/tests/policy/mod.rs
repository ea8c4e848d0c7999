//! Tests of a valid run, and of every change that makes it invalid.

mod machines;
mod run;
mod tokens;

use netdiv_contract::encoding::Encoding;
use netdiv_contract::v1::{Accelerator, Interface, Machine, Route};
use netdiv_node_common::words::{Mode, Scenario};
use std::collections::BTreeMap;

use super::*;
use crate::{
    Outcome, Rule,
    book::{BuiltLoadGen, Sources},
    fixture::loadgen_files::{OF_5_0_11, of_release},
    record::{Evidence, Prepared},
};

/// Choices of a run: owns all that a [`RunChoices`] borrows.
#[derive(Clone)]
struct PolicyCase {
    benchmark: &'static str,
    scenario: Scenario,
    mode: Mode,
    encoding: Encoding,
    input: Option<Vec<Tensor<'static>>>,
    dataset_samples: u64,
    prepared: Vec<Prepared>,
    performance_samples: u64,
    has_labels: bool,
    settings: BTreeMap<String, String>,
    loadgen: BuiltLoadGen,
    sut_name: &'static str,
    digests: bool,
    in_process: bool,
    audit_config: Option<&'static str>,
    engines: Vec<NodeEngine<'static>>,
    evidence: Option<Evidence>,
}

fn engine(node: &'static str) -> NodeEngine<'static> {
    NodeEngine {
        node,
        engine: "torch",
        model: "resnet50",
        model_sha256: "5ca1ab1e",
        software_version: "0.1.0",
    }
}

/// Returns a LoadGen build with the files of LoadGen's Python package of this version.
fn built(version: &str) -> BuiltLoadGen {
    let files: BTreeMap<String, String> =
        serde_json::from_str(&of_release(OF_5_0_11, version)).unwrap();
    BuiltLoadGen {
        version: format!("{version} @ ef1bd3b95e"),
        changes: String::new(),
        sources: Sources::of(&files),
    }
}

fn tensor(data_type: &'static str, shape: &'static [i64]) -> Tensor<'static> {
    Tensor { name: "input", data_type, shape }
}

fn machine(name: &str, number: u8, peer: &str) -> Machine {
    let text = |text: String| Some(text);
    Machine {
        host_name: text(name.into()),
        machine_id: text(format!("{number:032x}")),
        boot_id: text(format!("b-{name}")),
        board_serial: text(format!("S-{number}")),
        product: text("Acme Server 9".into()),
        virtual_machine: Some(false),
        memory_ecc: Some(true),
        accelerators: vec![Accelerator {
            name: "Acme GPU".into(),
            ecc: Some(true),
            ..Accelerator::default()
        }],
        accelerator_count: Some(1),
        interfaces: vec![Interface {
            name: "eth0".into(),
            kind: "ethernet".into(),
            mac: text(format!("3c:ec:ef:00:00:{number:02x}")),
            ..Interface::default()
        }],
        routes: vec![Route {
            peer: peer.into(),
            local_address: text(format!("10.0.0.{number}")),
            interface: text("eth0".into()),
        }],
        ..Machine::default()
    }
}

/// Returns LoadGen's settings after its mlperf.conf and a user.conf with a rate; `more` overrides
/// them.
fn settings(more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let all = [
        ("qsl_rng_seed", "6023615788873153749"),
        ("sample_index_rng_seed", "15036839855038426416"),
        ("schedule_rng_seed", "9933818062894767841"),
        ("test05", "false"),
        ("min_duration_ms", "600000"),
        ("max_duration_ms", "0"),
        ("max_query_count", "0"),
        ("min_query_count", "24576"),
        ("offline_expected_qps", "1000.000000"),
        ("performance_sample_count_override", "1024"),
        ("performance_issue_unique", "false"),
        ("performance_issue_same", "false"),
        ("sample_concatenate_permutation", "false"),
        ("server_target_latency_ns", "15000000"),
        ("server_target_latency_percentile", "0.990000"),
        ("server_coalesce_queries", "false"),
        ("use_token_latencies", "false"),
        ("infer_token_latencies", "false"),
        ("server_ttft_latency", "100000000"),
        ("server_tpot_latency", "100000000"),
    ];
    all.iter().chain(more).map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

fn images() -> PolicyCase {
    let nodes = [("rack-a", machine("a", 2, "10.0.0.1")), ("rack-b", machine("b", 3, "10.0.0.1"))];
    let mut loadgen_node = machine("loadgen", 1, "10.0.0.2:50051");
    loadgen_node
        .routes
        .push(Route { peer: "rack-b:50051".into(), ..loadgen_node.routes[0].clone() });
    let nodes = nodes.map(|(name, machine)| (name.to_owned(), machine)).into();
    PolicyCase {
        benchmark: "resnet50",
        scenario: Scenario::Server,
        mode: Mode::Performance,
        encoding: Encoding::None,
        input: Some(vec![tensor("uint8", &[224, 224, 3])]),
        dataset_samples: 50_000,
        prepared: Vec::new(),
        performance_samples: 50_000,
        has_labels: true,
        settings: settings(&[]),
        loadgen: built("5.0.11"),
        sut_name: "netdiv Network SUT",
        digests: false,
        in_process: false,
        audit_config: None,
        engines: vec![engine("rack-a"), engine("rack-b")],
        evidence: Some(Evidence { loadgen_node, nodes }),
    }
}

fn tokens() -> PolicyCase {
    PolicyCase {
        benchmark: "llama2-70b-99",
        input: Some(vec![tensor("int32", &[-1])]),
        dataset_samples: 24_576,
        prepared: Vec::new(),
        performance_samples: 24_576,
        has_labels: false,
        settings: settings(&[
            ("performance_sample_count_override", "24576"),
            ("sample_concatenate_permutation", "true"),
            ("server_target_latency_ns", "0"),
            ("use_token_latencies", "true"),
            ("server_ttft_latency", "2000000000"),
            ("server_tpot_latency", "200000000"),
        ]),
        ..images()
    }
}

fn found(division: Division, case: &PolicyCase) -> Vec<Finding> {
    let choice = RunChoices {
        benchmark: case.benchmark,
        scenario: case.scenario,
        mode: case.mode,
        encoding: case.encoding,
        input: case.input.as_deref(),
        dataset_samples: case.dataset_samples,
        prepared: &case.prepared,
        performance_samples: case.performance_samples,
        has_labels: case.has_labels,
        test_settings: &case.settings,
        loadgen: &case.loadgen,
        sut_name_part: case.sut_name,
        has_digests: case.digests,
        is_in_process: case.in_process,
        audit_config: case.audit_config,
        engines: &case.engines,
        evidence: case.evidence.as_ref(),
    };
    before_run(Table::builtin().unwrap(), division, &choice)
}

/// Changes a valid case by `spoil`, and requires exactly one finding: with this outcome, rule and
/// place, and with `text` in it. Other divisions must have no finding.
fn spoiled(
    mut case: PolicyCase,
    spoil: impl FnOnce(&mut PolicyCase),
    outcome: Outcome,
    rule: Rule,
    place: &str,
    text: &str,
) {
    spoil(&mut case);
    let findings = found(Division::Network, &case);
    let [only] = &findings[..] else { panic!("{place}: {findings:#?}") };
    assert_eq!((only.outcome, only.rule), (outcome, rule), "{only}");
    assert!(only.place == place && only.text.contains(text), "{only}");
    // Other divisions have no such rule.
    assert_eq!(found(Division::Open, &case), []);
    assert_eq!(found(Division::Exploratory, &case), []);
}

fn fails(
    case: PolicyCase,
    rule: Rule,
    place: &str,
    text: &str,
    spoil: impl FnOnce(&mut PolicyCase),
) {
    spoiled(case, spoil, Outcome::Fail, rule, place, text);
}

fn unclear(
    case: PolicyCase,
    rule: Rule,
    place: &str,
    text: &str,
    spoil: impl FnOnce(&mut PolicyCase),
) {
    spoiled(case, spoil, Outcome::CannotTell, rule, place, text);
}

fn set(name: &'static str, value: &'static str) -> impl FnOnce(&mut PolicyCase) {
    move |case| drop(case.settings.insert(name.into(), value.into()))
}

fn node(case: &mut PolicyCase) -> &mut Machine {
    case.evidence.as_mut().unwrap().nodes.get_mut("rack-a").unwrap()
}

fn loadgen(case: &mut PolicyCase) -> &mut Machine {
    &mut case.evidence.as_mut().unwrap().loadgen_node
}

/// Returns a case with the seeds of a round.
fn of_round(case: PolicyCase, name: &str) -> PolicyCase {
    let seeds = Table::builtin().unwrap().round(name.parse().unwrap()).unwrap().seeds;
    let release = if name == "v5.1" { "5.0.22" } else { "6.0.10" };
    let mut case = PolicyCase { loadgen: built(release), ..case };
    for (setting, seed, _) in seeds.differing(|_| None) {
        case.settings.insert(setting.into(), seed.to_string());
    }
    case
}
