//! Runs that keep the rules, and changes that break them (`rows.toml`), each with the rule that
//! says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{
    Outcome::{CannotTell, Fail},
    Rule::{N4, N5, N29},
    *,
};
use crate::{
    Scenario,
    fixture::{
        RunSpec,
        edits::{Values, edit_record},
        loadgen_files::{OF_5_0_11, of_release},
        record_of,
    },
    record::Evidence,
};

/// Changes that are permitted, and changes by the outcome and the rule of the findings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpcomingRows {
    permitted: Vec<UpcomingRow>,
    fail: BTreeMap<String, Vec<UpcomingRow>>,
    cannot_tell: BTreeMap<String, Vec<UpcomingRow>>,
}

/// Change of a run that may start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UpcomingRow {
    run: String,
    #[serde(default)]
    set: Values,
    #[serde(default)]
    remove: Vec<String>,
    performance_samples: Option<u64>,
    has_labels: Option<bool>,
    audit_config: Option<String>,
    #[serde(default)]
    loadgen_files: BTreeMap<String, String>,
    /// Words of a finding.
    #[serde(default)]
    says: String,
    /// Number of findings, if it matters.
    count: Option<usize>,
}

impl UpcomingRow {
    fn made(&self) -> UpcomingRun {
        let mut run = valid(&self.run);
        edit_record(&mut run.record, &self.set, &self.remove);
        run.performance_samples = self.performance_samples.unwrap_or(run.performance_samples);
        run.has_labels = self.has_labels.unwrap_or(run.has_labels);
        run.audit_config.clone_from(&self.audit_config);
        run.loadgen_files.extend(self.loadgen_files.clone());
        run
    }
}

fn upcoming(spec: &RunSpec) -> UpcomingRun {
    let release = spec.loadgen.split(' ').next().unwrap();
    UpcomingRun {
        record: record_of(spec),
        performance_samples: spec.performance_samples,
        has_labels: spec.accuracy_txt.is_none(),
        loadgen_changes: String::new(),
        loadgen_files: serde_json::from_str(&of_release(OF_5_0_11, release)).unwrap(),
        audit_config: None,
    }
}

/// Creates the run of a name. A run alone may start, except those of other suites and rounds.
fn valid(name: &str) -> UpcomingRun {
    let of = |benchmark, scenario| RunSpec::new(benchmark, scenario, Mode::Performance);
    let images = of("resnet50", Scenario::Server);
    let tokens = RunSpec::llama(Scenario::Server, Mode::Performance);
    let [offline, chat] = RunSpec::chat();
    upcoming(&match name {
        "images" => images,
        "accuracy" => RunSpec { mode: Mode::Accuracy, ..images },
        "one node" => RunSpec { nodes: vec!["node-a"], ..images },
        "round v5.1" => images.of_round("v5.1"),
        "LoadGen 5.0.22" => RunSpec { loadgen: "5.0.22 @ 75f297d44c", ..images },
        // The rate alone gives too few samples.
        "slow" => RunSpec { target: 1.0, ..of("resnet50", Scenario::Offline) },
        "slow chat" => RunSpec { benchmark: chat.benchmark, target: 1.0, ..offline },
        "edge" => RunSpec { performance_samples: 10_833, ..of("bert-99", Scenario::Offline) },
        "tokens" => tokens,
        "tokens in accuracy mode" => RunSpec { mode: Mode::Accuracy, ..tokens },
        "one language node" => RunSpec { nodes: vec!["node-a"], ..tokens },
        "chat" => chat,
        "speech" => RunSpec {
            benchmark: "whisper",
            dataset_samples: 1633,
            performance_samples: 1633,
            sample_bytes: 960_024,
            ..offline.of_round("v6.1")
        },
        name => panic!("unknown run: {name}"),
    })
}

fn found(run: &UpcomingRun) -> Vec<Finding> {
    before_run(Table::builtin().unwrap(), run)
}

fn set(run: &mut UpcomingRun, pointer: &str, value: impl Into<serde_json::Value>) {
    edit_record(&mut run.record, &Values::from([(pointer.to_owned(), value.into())]), &[]);
}

#[test]
fn a_run_by_the_rules_may_start() {
    let spec = |scenario, mode| RunSpec::new("resnet50", scenario, mode);
    let short = |spec| RunSpec { min_duration_ms: 0, ..spec };
    let [offline, chat] = RunSpec::chat();
    for spec in [
        spec(Scenario::Offline, Mode::Performance),
        spec(Scenario::Server, Mode::Performance),
        short(spec(Scenario::Server, Mode::Accuracy)),
        short(RunSpec { digests: true, ..spec(Scenario::Server, Mode::Performance) }),
        RunSpec { benchmark: "resnet", ..spec(Scenario::Server, Mode::Performance) },
        RunSpec::llama(Scenario::Server, Mode::Performance),
        RunSpec::llama(Scenario::Offline, Mode::Accuracy),
        offline,
        chat,
    ] {
        assert_eq!(found(&upcoming(&spec)), [], "{spec:?}");
    }
    let benchmark = Table::builtin().unwrap().find("resnet50").unwrap();
    let text = audit_config(benchmark.compliance[0], benchmark);
    assert_eq!(found(&UpcomingRun { audit_config: Some(text), ..valid("images") }), []);
}

/// Requires that only the findings of its rule appear after a change, and that other divisions have
/// none.
#[test]
fn each_change_is_found_by_its_rule() {
    let rows: UpcomingRows = toml::from_str(include_str!("rows.toml")).unwrap();
    for row in &rows.permitted {
        assert_eq!(found(&row.made()), [], "{row:?}");
    }
    let fail = rows.fail.iter().map(|rows| (Fail, rows));
    for (outcome, (rule, rows)) in fail.chain(rows.cannot_tell.iter().map(|r| (CannotTell, r))) {
        for row in rows {
            let mut run = row.made();
            let findings = found(&run);
            let is_it = |one: &Finding| one.outcome == outcome && one.text.contains(&row.says);
            assert!(findings.iter().any(is_it), "{rule} {}: {findings:#?}", row.says);
            let is_of_rule = |one: &Finding| one.rule.to_string() == *rule;
            assert!(findings.iter().all(is_of_rule), "{}: {findings:#?}", row.says);
            assert!(row.count.is_none_or(|count| findings.len() == count), "{findings:#?}");
            for division in [Division::Open, Division::Exploratory] {
                run.record.division = division;
                assert_eq!(found(&run), []);
            }
        }
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let mut run = valid("images");
    set(&mut run, "/benchmark", "digits");
    set(&mut run, "/test_settings/qsl_rng_seed", "1");
    set(&mut run, "/evidence/nodes/node-a/memory_ecc", false);
    let rules: Vec<_> = found(&run).iter().map(|one| one.rule).collect();
    assert_eq!(rules, [Rule::N1, Rule::N29, Rule::N31]);
}

/// Only the Network division has the rules of section 6.2.
#[test]
fn the_closed_division_asks_for_the_suite_and_not_for_a_network() {
    let mut run = valid("edge");
    run.record.division = Division::Closed;
    let findings = found(&run);
    let is_edge = |one: &Finding| one.rule == Rule::N2 && one.text.contains("edge suite only");
    assert!(findings.iter().any(is_edge), "{findings:#?}");
    let mut run = valid("images");
    run.record.division = Division::Closed;
    set(&mut run, "/evidence/nodes/node-a/virtual_machine", true);
    let is_required = |one: &Finding| is_required(Division::Closed, one.rule);
    let findings = found(&run);
    assert!(!findings.is_empty() && !findings.iter().any(is_required), "{findings:#?}");
}

#[test]
fn routes_that_end_at_home_are_seen() {
    for (key, value) in [
        ("peer", "127.0.0.1:50051"),
        ("peer", "[::1]:50051"),
        ("peer", "localhost:50051"),
        ("peer", "10.0.0.1:50051"),
        ("interface", "lo"),
    ] {
        let mut run = valid("images");
        set(&mut run, &format!("/evidence/loadgen_node/routes/0/{key}"), value);
        let findings = found(&run);
        let has = |rule| findings.iter().any(|one| one.rule == rule && one.outcome == Fail);
        assert!(has(N4) && has(N5), "{findings:#?}");
        let is_at_home = |one: &Finding| one.text.contains("both ends are on this machine");
        assert!(findings.iter().any(is_at_home), "{findings:#?}");
    }
}

#[test]
fn nodes_without_evidence_are_seen() {
    let mut run = valid("images");
    run.record.evidence = Some(Evidence::default());
    let findings = found(&run);
    assert!(findings.iter().all(|one| one.outcome == CannotTell), "{findings:#?}");
    let rules: BTreeSet<_> = findings.iter().map(|one| one.rule).collect();
    assert!(rules.into_iter().eq([N4, N5, N29]), "{findings:#?}");
}

#[test]
fn outputs_are_drafted_only_where_the_rules_allow_it() {
    const HEAD: &str = "deepseek-ai/DeepSeek-R1";
    let of = |benchmark, round, head: &str, steps| {
        let llama = RunSpec::llama(Scenario::Server, Mode::Performance).of_round(round);
        let mut run = upcoming(&RunSpec { benchmark, nodes: vec!["node-a"], ..llama });
        let settings = format!(
            "[engine.model]\nvocabulary = 100\nmax_tokens = 20000\neos = [1]\n\
             [engine.model.speculative_decoding]\nhead = \"{head}\"\nsteps = {steps}\ntop_k = 1\n"
        );
        set(&mut run, "/evidence/nodes/node-a/settings", settings);
        let about = |one: &Finding| one.rule == Rule::N2 && one.text.contains("speculative");
        found(&run).into_iter().filter(about).map(|one| one.text).collect::<Vec<_>>()
    };
    let interactive = "deepseek-r1-interactive";
    for (round, head, steps, words) in [
        (
            "v6.1",
            "my/head",
            3,
            "with the head my/head, 3 steps and a top-k of 1, but deepseek-r1-interactive permits only the head",
        ),
        ("v6.1", HEAD, 4, "4 steps and a top-k of 1, but deepseek-r1-interactive permits only"),
        ("v5.1", HEAD, 3, "which round v5.1 does not allow for deepseek-r1-interactive"),
    ] {
        let texts = of(interactive, round, head, steps);
        assert!(matches!(&texts[..], [text] if text.contains(words)), "{words}: {texts:?}");
    }
    assert!(of(interactive, "v6.1", HEAD, 3).is_empty());
    assert_eq!(of("deepseek-r1", "v6.1", HEAD, 3).len(), 1);
}

#[test]
fn no_answer_is_longer_than_the_benchmark_allows() {
    // Answers of the fixture have 294 tokens.
    let nodes = valid("speech").record.nodes;
    let of = |name: &str, part, division| {
        let benchmark = Table::builtin().unwrap().find(name);
        let found = after_run(division, benchmark, part, &nodes);
        found.into_iter().map(|one| format!("{} {}", one.rule, one.text)).collect::<Vec<_>>()
    };
    let part = |most| {
        let max_output_tokens = std::num::NonZero::new(most).unwrap();
        Some(DatasetPart { name: crate::record::PartName::Performance, max_output_tokens })
    };
    let too_long = |most: u32| format!("N2 an answer has 294 tokens, and max_new_tokens is {most}");
    for (name, part, most) in [("whisper", None, 200), ("gpt-oss-120b", part(293), 293)] {
        let found = of(name, part, Division::Closed);
        assert!(matches!(&found[..], [one] if one.starts_with(&too_long(most))), "{found:?}");
        assert!(of(name, part, Division::Exploratory).is_empty());
    }
    for (name, part) in [("llama2-70b-99", None), ("gpt-oss-120b", part(294)), ("x", None)] {
        assert_eq!(of(name, part, Division::Network), [""; 0], "{name}");
    }
}

/// The rules have no row for these samples (N25), so that no such run is without a finding.
#[test]
fn runs_of_two_data_sets_have_their_own_samples_limits_and_decoding() {
    let spec = RunSpec {
        benchmark: "gpt-oss-120b",
        nodes: vec!["node-a"],
        dataset_samples: 6396,
        performance_samples: 6396,
        token_bounds_ns: [3_000_000_000, 80_000_000],
        ..RunSpec::llama(Scenario::Server, Mode::Performance).of_round("v6.1")
    };
    let part = |name: &str, most: u32| json!({"name": name, "max_output_tokens": most});
    let texts = |run: &UpcomingRun| {
        let is_it = |one: &Finding| [Rule::N2, Rule::N32].contains(&one.rule);
        let about = found(run).into_iter().filter(is_it);
        about.map(|one| format!("{:?}: {}", one.outcome, one.text)).collect::<Vec<_>>()
    };
    let of = |changes: &[(&str, Value)]| {
        let mut run = upcoming(&spec);
        set(&mut run, "/dataset_part", part("performance", 10_000));
        changes.iter().for_each(|(pointer, value)| set(&mut run, pointer, value.clone()));
        texts(&run)
    };
    let accuracy = [
        ("/mode", json!("accuracy")),
        ("/dataset_samples", json!(4395)),
        ("/dataset_part", part("accuracy", 32_768)),
    ];
    let of_test = [
        ("/dataset_part", part("TEST07", 10_000)),
        ("/settings/audit_config", json!("audit.config")),
    ];
    let decoding = |word: &str| [("/nodes/0/decoding", json!(word))];
    let (sampled, unknown) = (decoding("sampled"), decoding("unknown"));
    let permitted: [&[(&str, Value)]; 5] = [&[], &accuracy, &of_test, &sampled, &unknown];
    for changes in permitted {
        assert_eq!(of(changes), [""; 0], "{changes:?}");
    }
    // TEST07 as `audit` runs it, and the same run without its audit.config.
    let few = RunSpec { dataset_samples: 990, performance_samples: 990, ..spec.clone() };
    let mut run = upcoming(&few);
    of_test.iter().for_each(|(pointer, value)| set(&mut run, pointer, value.clone()));
    let few = "effective_performance_sample_count is 990, less than the minimum 6396";
    assert!(texts(&run).iter().any(|text| text.contains(few)), "{:?}", texts(&run));
    let benchmark = Table::builtin().unwrap().find("gpt-oss-120b").unwrap();
    run.audit_config = Some(audit_config(Test::Test07, benchmark));
    assert_eq!(texts(&run), [""; 0]);
    let published = "[engine.model]\nvocabulary = 201088\nmax_tokens = 32768\neos = [200002]\n";
    for (changes, words) in [
        (
            vec![("/dataset_part", part("performance", 10_240))],
            "Pass: outputs have at most 10240 tokens; the rules state 10000, and published results",
        ),
        (
            vec![("/dataset_part", part("performance", 4096))],
            "Fail: outputs had a maximum of 4096 tokens, and runs of gpt-oss-120b with the part \
             performance have 10000 or 10240",
        ),
        (
            vec![("/mode", json!("accuracy")), ("/dataset_samples", json!(4395))],
            "Fail: the run in mode accuracy used the part performance of the data set, 4395 samples, \
             and needs accuracy, 4395 samples: omit --dataset-part",
        ),
        (of_test[..1].to_vec(), "used the part TEST07 of the data set, 6396 samples, and needs"),
        (
            vec![("/dataset_part", Value::Null)],
            "Fail: runs of gpt-oss-120b have a maximum of output tokens for each part of its data set, \
             and `imagenet` has no parts: give the .toml file",
        ),
        (
            [&accuracy[..2], &[("/dataset_part", Value::Null)]].concat(),
            "and `imagenet` has no parts: give the .toml file",
        ),
        (
            vec![("/dataset_part", Value::Null), ("/dataset_samples", json!(4395))],
            "effective_performance_sample_count is 4395, less than the minimum 6396: the data set",
        ),
        (
            vec![("/nodes/0/decoding", json!("greedy"))],
            "node node-a: it takes the likeliest token, but outputs of gpt-oss-120b are sampled",
        ),
        (
            vec![("/nodes/0/sampling_seed", json!(7))],
            "node node-a: it samples with the seed 7, which is for tests only: start it without",
        ),
        (
            vec![
                ("/nodes/0/decoding", json!("sampled")),
                ("/evidence/nodes/node-a/settings", json!(published)),
            ],
            "its published settings have another decoding or sampling_seed than its record",
        ),
    ] {
        let texts = of(&changes);
        assert!(texts.iter().any(|text| text.contains(words)), "{words}: {texts:#?}");
    }
}
