//! Runs that keep the rules, and changes that break them, each with the rule that says so.

use netdiv_contract::{
    encoding::Encoding,
    v1::{Interface, Machine, ServingEngine},
};

use super::{
    Outcome::{CannotTell, Fail},
    Rule::{N1, N3, N4, N5, N25, N26, N29, N31},
    *,
};
use crate::{
    Scenario,
    fixture::{
        RunSpec,
        loadgen_files::{OF_5_0_11, of_release},
        record_of,
    },
    record::{Evidence, Prepared},
};

type Spoil = fn(&mut UpcomingRun);

/// Row of a table: a valid run, the outcome and the rule of the findings after the change, words
/// of one of them, and the change.
type Case = (fn() -> UpcomingRun, Outcome, Rule, &'static str, Spoil);

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

fn spec(scenario: Scenario, mode: Mode) -> RunSpec {
    RunSpec::new("resnet50", scenario, mode)
}

fn images() -> UpcomingRun {
    upcoming(&spec(Scenario::Server, Mode::Performance))
}

fn accuracy() -> UpcomingRun {
    upcoming(&spec(Scenario::Server, Mode::Accuracy))
}

/// Returns a run in Offline whose rate alone gives too few samples.
fn slow() -> UpcomingRun {
    upcoming(&RunSpec { target: 1.0, ..spec(Scenario::Offline, Mode::Performance) })
}

fn one_node() -> UpcomingRun {
    upcoming(&RunSpec { nodes: vec!["node-a"], ..spec(Scenario::Server, Mode::Performance) })
}

fn edge() -> UpcomingRun {
    let bert = RunSpec::new("bert-99", Scenario::Offline, Mode::Performance);
    let mut run = upcoming(&RunSpec { performance_samples: 10_833, ..bert });
    run.record.input = vec!["input int64 [?]".into(); 3];
    run
}

fn tokens() -> UpcomingRun {
    upcoming(&RunSpec::llama(Scenario::Server, Mode::Performance))
}

fn found(run: &UpcomingRun) -> Vec<Finding> {
    before_run(Table::builtin().unwrap(), run)
}

/// Requires for each case that only the findings of its rule appear, and that other divisions have
/// none.
fn check(cases: &[Case]) {
    for (valid, outcome, rule, words, change) in cases {
        let mut run = valid();
        change(&mut run);
        let findings = found(&run);
        let is_it = |one: &Finding| one.outcome == *outcome && one.text.contains(words);
        assert!(findings.iter().any(is_it), "{rule} {words}: {findings:#?}");
        assert!(findings.iter().all(|one| one.rule == *rule), "{words}: {findings:#?}");
        for division in [Division::Open, Division::Exploratory] {
            run.record.division = division;
            assert_eq!(found(&run), []);
        }
    }
}

fn set(run: &mut UpcomingRun, name: &str, value: &str) {
    run.record.test_settings.insert(name.into(), value.into());
}

fn evidence(run: &mut UpcomingRun) -> &mut Evidence {
    run.record.evidence.as_mut().unwrap()
}

fn node(run: &mut UpcomingRun) -> &mut Machine {
    evidence(run).nodes.get_mut("node-a").unwrap()
}

fn prepare(run: &mut UpcomingRun, benchmark: &str, subset: &str, complete: bool) {
    run.record.prepared = vec![Prepared {
        data_set: "imagenet.npy".into(),
        benchmark: benchmark.into(),
        subset: subset.into(),
        samples_form: "uint8".into(),
        complete,
        manifest_sha256: "5ca1ab1e".into(),
    }];
}

#[test]
fn a_run_by_the_rules_may_start() {
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
    let harmless: [Spoil; 7] = [
        |run| run.record.input = vec!["image float32 [3, 224, 224]".into()],
        |run| run.has_labels = false,
        |run| run.record.evidence = None,
        |run| prepare(run, "resnet50", "validation", true),
        |run| run.record.versions.loadgen = "5.0.11 @ 0123456789".into(),
        |run| {
            let benchmark = Table::builtin().unwrap().find("resnet50").unwrap();
            run.audit_config = Some(audit_config(benchmark.compliance[0], benchmark));
        },
        |run| run.record.mode = Mode::Submission,
    ];
    for change in harmless {
        let mut run = images();
        change(&mut run);
        assert_eq!(found(&run), []);
    }
    for whole in ["0", "50000", "60000"] {
        let mut run = accuracy();
        set(&mut run, ACCURACY_COUNT, whole);
        assert_eq!(found(&run), [], "{whole}");
    }
}

#[test]
fn benchmark_samples_and_labels_are_those_of_the_rules() {
    check(&[
        (images, Fail, N1, "no longer a benchmark; the datacenter suite has resnet50, ", |run| {
            run.record.benchmark = "rnnt".into();
        }),
        (images, Fail, N1, "gptj is not a benchmark (did you mean gptj-99 or gptj-99.9?)", |run| {
            run.record.benchmark = "gptj".into();
        }),
        (edge, Fail, N1, "edge suite only, which netdiv does not support", |_| {}),
        (
            || upcoming(&spec(Scenario::Server, Mode::Performance).of_round("v5.1")),
            Fail,
            N1,
            "resnet50 is not a benchmark of round v5.1, but of v5.0: build one for round v5.0 with",
            |_| {},
        ),
        (tokens, Fail, N25, "samples are sent with zstd", |run| {
            run.record.encoding = Encoding::Zstd;
        }),
        (images, CannotTell, N25, "only a submission contains the approval", |run| {
            run.record.encoding = Encoding::Lz4;
        }),
        (tokens, Fail, N26, "a sample contains input uint8[?]; expected token ids", |run| {
            run.record.input = vec!["input uint8[?]".into()];
        }),
        (tokens, Fail, N26, "a sample contains bytes", |run| {
            run.record.input = vec!["bytes".into()];
        }),
        (images, CannotTell, N26, "the tensors of a sample are unknown", |run| {
            run.record.input = vec!["bytes".into()];
        }),
        (images, Fail, N2, "for bert, not for resnet50", |run| {
            prepare(run, "bert", "validation", true);
        }),
        (images, Fail, N2, "is the calibration subset", |run| {
            prepare(run, "resnet50", "calibration", true);
        }),
        (accuracy, Fail, N2, "was prepared for practice", |run| {
            prepare(run, "resnet50", "validation", false);
        }),
        (accuracy, Fail, N2, "500 samples, but accuracy is measured over all 50000", |run| {
            (run.record.dataset_samples, run.performance_samples) = (500, 500);
        }),
        (accuracy, Fail, N2, "49999 samples, but accuracy is measured over all 50000", |run| {
            set(run, ACCURACY_COUNT, "49999");
        }),
        (accuracy, Fail, N2, "pass --labels FILE", |run| run.has_labels = false),
        (
            || upcoming(&RunSpec::llama(Scenario::Server, Mode::Accuracy)),
            Fail,
            N2,
            "by the official script: omit --labels",
            |run| run.has_labels = true,
        ),
    ]);
}

#[test]
fn settings_are_those_of_the_rules() {
    check(&[
        (images, Fail, N32, "_sample_count is 1023, less than the minimum 1024", |run| {
            set(run, "performance_sample_count_override", "1023");
        }),
        (images, Fail, N32, "the minimum 1024: the data set has only 500 samples;", |run| {
            (run.record.dataset_samples, run.performance_samples) = (500, 500);
        }),
        (slow, Fail, N32, "_samples_per_query is 24575, less than the minimum 24576", |run| {
            set(run, "min_query_count", "24575");
        }),
        (images, Fail, N32, "resnet50 has no such scenario, but server and offline", |run| {
            run.record.scenario = Scenario::SingleStream;
        }),
        (images, Fail, N32, "is 599999, less than the minimum 600000: leave it to", |run| {
            set(run, "min_duration_ms", "599999");
        }),
        (images, Fail, N32, "it would end the run after 60000 ms", |run| {
            set(run, "max_duration_ms", "60000");
        }),
        (images, Fail, N32, "it would end the run after 30000 queries", |run| {
            set(run, "max_query_count", "30000");
        }),
        (images, Fail, N32, "is 0.97, less than 0.99", |run| {
            set(run, "server_target_latency_percentile", "0.970000");
        }),
        (images, Fail, N32, "performance_issue_unique must be false", |run| {
            set(run, "performance_issue_unique", "true");
        }),
        (tokens, Fail, N32, "sample_concatenate_permutation must be true", |run| {
            set(run, "sample_concatenate_permutation", "false");
        }),
        (images, Fail, N32, "not the file of a compliance test", |run| {
            run.audit_config = Some("*.*.min_duration = 0\n".into());
        }),
        (images, Fail, N31, "qsl_rng_seed is 1: the seeds announced for v5.0 are", |run| {
            set(run, "qsl_rng_seed", "1");
        }),
        (images, Fail, N31, "qsl_rng_seed is 7975553102935885558", |run| {
            set(run, "test05", "true");
        }),
    ]);
}

#[test]
fn programs_are_listed_unaltered_and_alike() {
    check(&[
        (images, Fail, N3, "its files are those of tag v5.0 (commit ef1bd3b95e of 202", |run| {
            run.record.versions.loadgen = "6.0.17 @ NA".into();
        }),
        (images, CannotTell, N3, "match no commit in the table", |run| {
            run.loadgen_files.insert("/results.cc".into(), "0".repeat(40));
        }),
        (
            || {
                let loadgen = "5.0.22 @ 75f297d44c";
                upcoming(&RunSpec { loadgen, ..spec(Scenario::Server, Mode::Performance) })
            },
            Fail,
            N3,
            "with the seeds of round v5.1, not of round v5.0: build one for round v5.0",
            |_| {},
        ),
        (images, Fail, N2, "its model's file states no `sha256`; run again with", |run| {
            run.record.nodes[0].model_sha256 = String::new();
        }),
        (images, Fail, N2, "differ in their engine: onnx at node-b, and plugin:torch", |run| {
            run.record.nodes[1].engine = "onnx".into();
        }),
    ]);
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let mut run = images();
    run.record.benchmark = "digits".into();
    set(&mut run, "qsl_rng_seed", "1");
    node(&mut run).memory_ecc = Some(false);
    let rules: Vec<_> = found(&run).iter().map(|one| one.rule).collect();
    assert_eq!(rules, [Rule::N1, Rule::N29, Rule::N31]);
}

/// Only the Network division has the rules of section 6.2.
#[test]
fn the_closed_division_asks_for_the_suite_and_not_for_a_network() {
    let mut run = edge();
    run.record.division = Division::Closed;
    let findings = found(&run);
    let is_edge = |one: &Finding| one.rule == Rule::N2 && one.text.contains("edge suite only");
    assert!(findings.iter().any(is_edge), "{findings:#?}");
    let mut run = images();
    run.record.division = Division::Closed;
    node(&mut run).virtual_machine = Some(true);
    let is_required = |one: &Finding| is_required(Division::Closed, one.rule);
    let findings = found(&run);
    assert!(!findings.is_empty() && !findings.iter().any(is_required), "{findings:#?}");
}

fn loadgen(run: &mut UpcomingRun) -> &mut Machine {
    &mut evidence(run).loadgen_node
}

fn serve(run: &mut UpcomingRun, address: &str, here: Option<bool>) {
    let (address, interface) = (address.to_owned(), Some("eth0".to_owned()));
    node(run).serving_engines = vec![ServingEngine { address, here, interface }];
}

/// Lets the route to the second node use another interface, of this kind.
fn use_interface(run: &mut UpcomingRun, kind: &str) {
    let machine = loadgen(run);
    let (name, kind) = ("other0".to_owned(), kind.to_owned());
    machine.routes[1].interface = Some(name.clone());
    machine.interfaces.push(Interface { name, kind, ..Interface::default() });
}

#[test]
fn machines_are_separate_and_correct_errors() {
    check(&[
        (images, Fail, N4, "node-a: it has the same boot id", |run| {
            node(run).boot_id = loadgen(run).boot_id.clone();
        }),
        (images, CannotTell, N4, "no measurement at both ends", |run| {
            node(run).boot_id = None;
            node(run).board_serial = None;
        }),
        (images, CannotTell, N4, "statements prove nothing", |run| {
            loadgen(run).boot_id = None;
            node(run).supplied = vec!["board_serial".into()];
        }),
        (images, CannotTell, N4, "its product was not measured", |run| {
            node(run).supplied = vec!["product".into()];
        }),
        (images, CannotTell, N4, "LoadGen node: it may be a virtual machine", |run| {
            loadgen(run).virtual_machine = None;
        }),
        (images, CannotTell, N4, "QEMU Standard PC is a virtual machine", |run| {
            node(run).product = Some("QEMU Standard PC".into());
        }),
        (images, CannotTell, N4, "engine, 10.0.0.77:8000, over eth0, is on another", |run| {
            serve(run, "10.0.0.77:8000", Some(false));
        }),
        (images, CannotTell, N4, "of its serving engine, engine:8000, is unknown", |run| {
            serve(run, "engine:8000", None);
        }),
        (images, Fail, N4, "is at the LoadGen node; run the node on the machine", |run| {
            serve(run, "10.0.0.1:8000", Some(false));
        }),
        (images, Fail, N29, "the LoadGen node: ECC is off in its main memory", |run| {
            loadgen(run).memory_ecc = Some(false);
        }),
        (images, CannotTell, N29, "whether ECC is on in its main memory is not known", |run| {
            loadgen(run).memory_ecc = None;
        }),
    ]);
    let separate: [Spoil; 4] = [
        |run| {
            for machine in ["node-a", "node-b"] {
                evidence(run).nodes.get_mut(machine).unwrap().board_serial = None;
            }
            loadgen(run).board_serial = None;
            loadgen(run).machine_id = Some(String::new());
        },
        |run| loadgen(run).boot_id = None,
        |run| loadgen(run).product = Some("Amazon EC2 c7g.metal".into()),
        |run| serve(run, "127.0.0.1:8000", Some(true)),
    ];
    for change in separate {
        let mut run = images();
        change(&mut run);
        assert_eq!(found(&run), []);
    }
}

#[test]
fn routes_use_a_permitted_fabric() {
    check(&[
        (images, Fail, N5, "LoadGen node: other0 is a virtual interface", |run| {
            use_interface(run, "virtual");
        }),
        (images, CannotTell, N5, "has the kind `519`; permitted are Ethernet", |run| {
            use_interface(run, "519");
        }),
        (images, CannotTell, N5, "other0, ethernet, was stated, not measured", |run| {
            use_interface(run, "ethernet");
            loadgen(run).supplied = vec!["interfaces.other0.kind".into()];
        }),
        (images, CannotTell, N5, "the interface ib7 is unknown", |run| {
            loadgen(run).routes[1].interface = Some("ib7".into());
        }),
        (images, CannotTell, N5, "the interface is unknown", |run| {
            loadgen(run).routes[1].interface = None;
        }),
        (images, CannotTell, N5, "names no route", |run| loadgen(run).routes.clear()),
    ]);
    for kind in ["wifi", "infiniband"] {
        let mut run = images();
        use_interface(&mut run, kind);
        assert_eq!(found(&run), []);
    }
}

#[test]
fn routes_that_end_at_home_are_seen() {
    let routes: [Spoil; 5] = [
        |run| loadgen(run).routes[0].peer = "127.0.0.1:50051".into(),
        |run| loadgen(run).routes[0].peer = "[::1]:50051".into(),
        |run| loadgen(run).routes[0].peer = "localhost:50051".into(),
        |run| loadgen(run).routes[0].peer = "10.0.0.1:50051".into(),
        |run| loadgen(run).routes[0].interface = Some("lo".into()),
    ];
    for spoil in routes {
        let mut run = images();
        spoil(&mut run);
        let findings = found(&run);
        let has = |rule| findings.iter().any(|one| one.rule == rule && one.outcome == Fail);
        assert!(has(N4) && has(N5), "{findings:#?}");
        let is_at_home = |one: &Finding| one.text.contains("both ends are on this machine");
        assert!(findings.iter().any(is_at_home), "{findings:#?}");
    }
}

#[test]
fn nodes_without_evidence_are_seen() {
    let mut run = images();
    run.record.evidence = Some(Evidence::default());
    let findings = found(&run);
    assert!(findings.iter().all(|one| one.outcome == CannotTell), "{findings:#?}");
    let rules: std::collections::BTreeSet<_> = findings.iter().map(|one| one.rule).collect();
    assert!(rules.into_iter().eq([N4, N5, N29]), "{findings:#?}");
}

fn one_language_node() -> UpcomingRun {
    let llama = RunSpec::llama(Scenario::Server, Mode::Performance);
    upcoming(&RunSpec { nodes: vec!["node-a"], ..llama })
}

fn chat() -> UpcomingRun {
    let [_, chat] = RunSpec::chat();
    upcoming(&chat)
}

#[test]
fn bounds_and_counts_of_tokens_are_those_of_the_benchmark() {
    check(&[
        (tokens, Fail, N2, "is 2000000001, more than the maximum 2000000000", |run| {
            set(run, "server_ttft_latency", "2000000001");
        }),
        (tokens, Fail, N2, "is 200000001, more than the maximum 200000000", |run| {
            set(run, "server_tpot_latency", "200000001");
        }),
        (tokens, Fail, N2, "is 20000000001, more than the maximum 20000000000", |run| {
            set(run, "server_target_latency_ns", "20000000001");
        }),
        (chat, Fail, N2, "is 2000000000, more than the maximum 450000000", |run| {
            set(run, "server_ttft_latency", "2000000000");
        }),
        (tokens, Fail, N2, "token_latencies false, and llama2-70b-99 requires true", |run| {
            set(run, "use_token_latencies", "false");
        }),
        (
            || {
                let [offline, RunSpec { benchmark, .. }] = RunSpec::chat();
                upcoming(&RunSpec { benchmark, target: 1.0, ..offline })
            },
            Fail,
            N32,
            "set `llama2-70b-interactive.Offline.min_query_count = 24576` in user.conf",
            |run| set(run, "min_query_count", "1000"),
        ),
    ]);
}

#[test]
fn no_engine_reuses_prompts() {
    const TOKENS: &str = "[engine.model]\nvocabulary = 100\n";
    let with = |engine: &str, settings: String| {
        let mut run = one_node();
        run.record.nodes[0].engine = engine.into();
        node(&mut run).settings = Some(settings);
        found(&run)
    };
    let facts = |word| format!("\n[found]\nprefix_caching = \"{word}\"\n");
    for (engine, settings, words) in [
        ("openai", String::new(), "it did not report whether its serving engine reuses"),
        ("vllm-grpc", String::new(), "it did not report whether its serving engine reuses"),
        ("openai", facts("on"), "its serving engine reuses what it computed for other prompts"),
        ("kserve", facts("cannot-tell"), "it cannot tell whether its serving engine reuses"),
        ("kserve", TOKENS.into(), "it did not report whether its serving engine reuses"),
        ("kserve", format!("{TOKENS}{}", facts("no")), "it did not report whether"),
    ] {
        let findings = with(engine, settings);
        let [one] = &findings[..] else { panic!("{engine} {words}: {findings:#?}") };
        assert!((one.rule, one.outcome) == (N10, Fail) && one.text.contains(words), "{one}");
    }
    for (engine, settings) in [
        ("openai", facts("off")),
        ("kserve", format!("{TOKENS}{}", facts("off"))),
        ("kserve", "[engine.model]\nworkload = \"tensors\"\n".into()),
    ] {
        assert_eq!(with(engine, settings), []);
    }
}

#[test]
fn outputs_end_as_the_benchmark_requires() {
    let with = |keys: &str| {
        let mut run = one_language_node();
        node(&mut run).settings = Some(format!("[engine.model]\nvocabulary = 32000\n{keys}\n"));
        found(&run)
    };
    let room = |tokens| {
        format!(
            "max_tokens = 1024\neos = [2]\n[found]\nprefix_caching = \"off\"\ncontext_tokens = {tokens}"
        )
    };
    for (keys, words) in [
        ("max_tokens = 1024\nmin_tokens = 3\neos = [2]", "min_tokens is 3, but llama2-70b-99"),
        (room(2047).as_str(), "a context of 2047 tokens, but prompts of llama2-70b-99 have"),
    ] {
        let findings = with(keys);
        let [one] = &findings[..] else { panic!("{words}: {findings:#?}") };
        assert!((one.rule, one.outcome) == (N2, Fail) && one.text.contains(words), "{one}");
    }
    assert_eq!(with("max_tokens = 1024\nmin_tokens = 2\neos = [2]"), []);
    assert_eq!(with(&room(2048)), []);
}

#[test]
fn outputs_are_drafted_only_where_the_rules_allow_it() {
    const HEAD: &str = "deepseek-ai/DeepSeek-R1";
    let of = |benchmark, round, head: &str, steps| {
        let llama = RunSpec::llama(Scenario::Server, Mode::Performance).of_round(round);
        let mut run = upcoming(&RunSpec { benchmark, nodes: vec!["node-a"], ..llama });
        node(&mut run).settings = Some(format!(
            "[engine.model]\nvocabulary = 100\nmax_tokens = 20000\neos = [1]\n\
             [engine.model.speculative_decoding]\nhead = \"{head}\"\nsteps = {steps}\ntop_k = 1\n"
        ));
        let about = |one: &Finding| one.rule == N2 && one.text.contains("speculative");
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
