//! Tests of benchmark, samples and settings.

use super::*;
use netdiv_contract::encoding::Encoding;
use netdiv_node_common::words::{Mode, Scenario};

#[test]
fn a_run_by_the_rules_may_start() {
    let offline = PolicyCase { scenario: Scenario::Offline, ..images() };
    let accuracy = PolicyCase { mode: Mode::Accuracy, ..images() };
    let short = PolicyCase { settings: settings(&[("min_duration_ms", "0")]), ..accuracy.clone() };
    let both = PolicyCase { mode: Mode::Submission, ..images() };
    let floats = PolicyCase { input: Some(vec![tensor("float32", &[3, 224, 224])]), ..images() };
    let checker_name = PolicyCase { benchmark: "resnet", ..images() };
    let three = PolicyCase { input: Some(vec![tensor("int64", &[-1]); 3]), ..tokens() };
    for case in [
        images(),
        tokens(),
        offline,
        accuracy,
        short,
        both,
        floats,
        checker_name,
        of_round(tokens(), "v5.1"),
        three,
    ] {
        assert_eq!(found(Division::Network, &case), [], "{} {}", case.benchmark, case.mode);
    }
}

#[test]
fn accuracy_by_labels_needs_them_and_by_a_script_has_none() {
    for mode in [Mode::Accuracy, Mode::Submission] {
        let of = |case: PolicyCase| PolicyCase { mode, ..case };
        fails(of(images()), Rule::N2, "labels", "pass --labels FILE", |case| {
            case.has_labels = false;
        });
        fails(of(tokens()), Rule::N2, "labels", "by the official script: omit --labels", |case| {
            case.has_labels = true;
        });
        assert_eq!(found(Division::Network, &of(tokens())), []);
    }
    assert_eq!(found(Division::Network, &PolicyCase { has_labels: false, ..images() }), []);
}

#[test]
fn only_the_datacenter_suite() {
    let everything = |name: &'static str| move |case: &mut PolicyCase| case.benchmark = name;
    fails(
        images(),
        Rule::N1,
        "benchmark",
        "no longer a benchmark; the datacenter suite has resnet50, ",
        everything("rnnt"),
    );
    fails(
        images(),
        Rule::N1,
        "benchmark",
        "gptj is not a benchmark (did you mean gptj-99 or gptj-99.9?); the datacenter suite has resnet50",
        everything("gptj"),
    );
    fails(
        images(),
        Rule::N1,
        "benchmark",
        "digits is not a benchmark; the datacenter suite has resnet50, retinanet",
        everything("digits"),
    );
    let mut bert = images();
    (bert.benchmark, bert.scenario) = ("bert-99", Scenario::Offline);
    bert.input = Some(vec![tensor("int64", &[-1]); 3]);
    bert.settings = settings(&[("performance_sample_count_override", "10833")]);
    fails(
        bert,
        Rule::N1,
        "benchmark",
        "edge suite only, which netdiv does not support; the datacenter suite has resnet50",
        |_| {},
    );
}

#[test]
fn modes_and_names() {
    fails(images(), Rule::N32, "mode", "choose performance, accuracy or submission", |case| {
        case.mode = Mode::FindPeak
    });
    fails(images(), Rule::N13, "SUT name", "`netdiv` does not contain `Network SUT`", |case| {
        case.sut_name = "netdiv"
    });
}

#[test]
fn encodings_are_those_of_6_2_4() {
    fails(
        tokens(),
        Rule::N25,
        "encoding",
        "must not be compressed, but zstd compresses them; choose none",
        |c| c.encoding = Encoding::Zstd,
    );
    unclear(images(), Rule::N25, "encoding", "the Working Group must have approved", |c| {
        c.encoding = Encoding::Lz4
    });
}

#[test]
fn tensors_are_those_of_6_2_4() {
    let input =
        |tensors: Vec<Tensor<'static>>| move |case: &mut PolicyCase| case.input = Some(tensors);
    let text = "a sample contains input uint8[?], but a sample of llama2-70b-99 is token ids + input mask + input lengths, or \
                token ids, as int32 or int64";
    fails(tokens(), Rule::N26, "input", text, input(vec![tensor("uint8", &[-1])]));
    fails(
        tokens(),
        Rule::N26,
        "input",
        "input float32[?, 8192]",
        input(vec![tensor("float32", &[-1, 8192])]),
    );
    fails(tokens(), Rule::N26, "input", "timed", input(vec![tensor("int32", &[-1]); 2]));
    fails(
        images(),
        Rule::N26,
        "input",
        "is image, as uint8",
        input(vec![tensor("uint8", &[3]); 2]),
    );
    unclear(images(), Rule::N26, "input", "or a JPEG file of the data set", input(Vec::new()));
    fails(tokens(), Rule::N26, "input", "bytes of unknown meaning", input(Vec::new()));
    unclear(tokens(), Rule::N26, "input", "the contents of a sample are unknown", |case| {
        case.input = None
    });
}

#[test]
fn a_prepared_data_set_is_the_benchmarks() {
    let prepared = |benchmark: &str, subset: &str, complete| Prepared {
        data_set: "imagenet-uint8.npy".into(),
        benchmark: benchmark.into(),
        subset: subset.into(),
        samples_form: "uint8".into(),
        complete,
        manifest_sha256: "5ca1ab1e".into(),
    };
    let with = |one: Prepared| move |case: &mut PolicyCase| case.prepared = vec![one];
    let good = prepared("resnet50", "validation", true);
    assert_eq!(
        found(Division::Network, &PolicyCase { prepared: vec![good], ..images() }),
        Vec::new()
    );
    let fails = |case, one, text: &str| fails(case, Rule::N2, "dataset", text, with(one));
    fails(images(), prepared("bert", "validation", true), "for bert, not for resnet50");
    fails(images(), prepared("resnet", "validation", true), "for resnet, not for resnet50");
    fails(images(), prepared("resnet50", "calibration", true), "is the calibration subset");
    let accuracy = PolicyCase { mode: Mode::Accuracy, ..images() };
    fails(accuracy, prepared("resnet50", "validation", false), "was prepared for practice");
}

#[test]
fn an_accuracy_run_is_not_shortened() {
    let accuracy = PolicyCase { mode: Mode::Accuracy, ..images() };
    let field = "accuracy_sample_count_override";
    let text = "it leaves 49999 samples, but accuracy is measured over all 50000";
    fails(accuracy.clone(), Rule::N2, field, text, set(field, "49999"));
    for whole in ["0", "50000", "60000"] {
        let mut case = accuracy.clone();
        set(field, whole)(&mut case);
        assert_eq!(found(Division::Network, &case), [], "{whole}");
    }
}

#[test]
fn samples_are_enough() {
    let field = "performance_sample_count_override";
    fails(
        images(),
        Rule::N32,
        field,
        "1023 samples, but the QSL of resnet50 has at least 1024",
        set(field, "1023"),
    );
    fails(images(), Rule::N32, field, "500 samples", |case| case.dataset_samples = 500);
    fails(images(), Rule::N32, "performance samples", "1000 samples", |case| {
        set(field, "0")(case);
        case.performance_samples = 1000;
    });
    let accuracy = PolicyCase { mode: Mode::Accuracy, ..images() };
    fails(
        accuracy,
        Rule::N2,
        "dataset",
        "it has 500 samples, but accuracy is measured over all 50000",
        |case| {
            case.dataset_samples = 500;
        },
    );
    let offline = PolicyCase { scenario: Scenario::Offline, ..images() };
    fails(
        offline,
        Rule::N32,
        "min_query_count",
        "24574 samples, but resnet50 requires at least 24576",
        |case| {
            set("min_query_count", "24574")(case);
            set("offline_expected_qps", "1.000000")(case);
        },
    );
}

#[test]
fn scenarios_are_those_of_4_1_1() {
    fails(
        images(),
        Rule::N32,
        "scenario",
        "resnet50 has server and offline, not single-stream",
        |case| {
            case.scenario = Scenario::SingleStream;
        },
    );
}

#[test]
fn durations_and_bounds_are_the_rules() {
    for (name, value, text) in [
        ("min_duration_ms", "599999", "the minimum is 600000 ms"),
        ("max_duration_ms", "60000", "it would end the run after 60000 ms"),
        ("max_query_count", "30000", "it would end the run after 30000 queries"),
        (
            "server_target_latency_percentile",
            "0.970000",
            "99 % of queries must meet the bound, not 97 %",
        ),
        ("performance_issue_unique", "true", "only an audit.config"),
        ("performance_issue_same", "true", "only an audit.config"),
    ] {
        fails(images(), Rule::N32, name, text, set(name, value));
    }
    let (name, text) = ("server_target_latency_ns", "of resnet50 is 15 ms, not 15.000001 ms");
    fails(images(), Rule::N2, name, text, set(name, "15000001"));
    for (name, value, text) in [
        (
            "server_ttft_latency",
            "2000000001",
            "the bound for the first token of llama2-70b-99 is 2000 ms",
        ),
        (
            "server_tpot_latency",
            "200000001",
            "the bound for each further token of llama2-70b-99 is 200 ms",
        ),
        ("server_target_latency_ns", "20000000001", "is 20000 ms"),
    ] {
        fails(tokens(), Rule::N2, name, text, set(name, value));
    }
    let (name, text) = ("sample_concatenate_permutation", "it must be true: every sample");
    fails(tokens(), Rule::N32, name, text, set(name, "false"));
    let text = "it must be true: this benchmark is judged by";
    fails(tokens(), Rule::N2, "use_token_latencies", text, set("use_token_latencies", "false"));
    let mut gptj = tokens();
    gptj.benchmark = "gptj-99";
    (gptj.dataset_samples, gptj.performance_samples) = (13_368, 13_368);
    set("performance_sample_count_override", "13368")(&mut gptj);
    fails(gptj, Rule::N2, "infer_token_latencies", "it must be true: the result", |_| {});
    unclear(images(), Rule::N32, "min_duration_ms", "settings lack it", |case| {
        case.settings.remove("min_duration_ms");
    });
}

#[test]
fn every_node_runs_a_model() {
    for (engine, text) in [("echo", "its engine is `echo`"), ("none", "its engine is `none`")] {
        fails(images(), Rule::N2, "rack-a", text, |case| case.engines[0].engine = engine);
    }
    let text = "it named no model file; run again with the benchmark's model";
    fails(images(), Rule::N2, "rack-a", text, |case| case.engines[0].model_sha256 = "");
}

#[test]
fn all_nodes_run_the_same() {
    let differ = |what: &'static str, change: fn(&mut PolicyCase)| {
        fails(images(), Rule::N2, "nodes", what, change);
    };
    differ(
        "differ in their engine: onnx at rack-b, and torch at rack-a; a result requires the same",
        |case| {
            case.engines[1].engine = "onnx";
        },
    );
    differ("model: resnet50 0a1 at rack-b", |case| case.engines[1].model_sha256 = "0a1");
    differ("program's version: 0.0.9 at rack-b", |case| case.engines[1].software_version = "0.0.9");
    differ("framework: libtorch 2.11 at rack-b, and rten 0.27 at rack-a", |case| {
        node(case).framework = Some("rten 0.27".into());
        let evidence = case.evidence.as_mut().unwrap();
        evidence.nodes.get_mut("rack-b").unwrap().framework = Some("libtorch 2.11 (CPU)".into());
    });
}

#[test]
fn an_audit_config_is_of_a_compliance_test() {
    let file = |text| move |case: &mut PolicyCase| case.audit_config = Some(text);
    let place = "audit.config";
    let text = "*.*.min_duration = 0\n";
    fails(images(), Rule::N32, place, "not the file of a compliance test", file(text));
    let benchmark = Table::builtin().unwrap().find("resnet50").unwrap();
    let mut case = images();
    let text = crate::compliance::audit_config(benchmark.compliance[0], benchmark);
    file(text.leak())(&mut case);
    assert_eq!(found(Division::Network, &case), []);
}

#[test]
fn seeds_are_those_of_a_round() {
    let text = "are not the seeds of v5.0, v5.1, v6.0, v6.1; leave them to LoadGen's mlperf.conf";
    for name in ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"] {
        fails(images(), Rule::N31, "seeds", text, set(name, "1"));
    }
    // Mixed seeds of two rounds are invalid.
    fails(images(), Rule::N31, "seeds", text, set("qsl_rng_seed", "1780908523862526354"));
    fails(images(), Rule::N31, "test05", "it must be false", set("test05", "true"));
}

#[test]
fn a_benchmark_is_one_of_the_round() {
    let text = "resnet50 is not a benchmark of round v5.1, but of v5.0: build one for round v5.0 with `make LOADGEN=5.0.13`";
    fails(of_round(images(), "v5.1"), Rule::N1, "benchmark", text, |_| {});
}

#[test]
fn loadgen_is_of_a_listed_commit_and_unaltered() {
    let text = "its files are those of tag v5.0 (commit ef1bd3b95e of 2025-01-15), version 5.0.11";
    fails(images(), Rule::N3, "LoadGen", text, |case| case.loadgen.version = "6.0.17 @ NA".into());
    let text = "it was built with uncommitted changes: M loadgen.cc";
    fails(images(), Rule::N3, "LoadGen", text, |case| case.loadgen.changes = "M loadgen.cc".into());
    let text = "the files of LoadGen 5.0.11 @ ef1bd3b95e match no commit in the table";
    unclear(images(), Rule::N3, "LoadGen", text, |case| {
        case.loadgen.sources.sha256 = "5ca1ab1e".into()
    });
    let text = "with the seeds of round v5.1, not of round v5.0: build one for round v5.0";
    fails(images(), Rule::N3, "LoadGen", text, |case| case.loadgen = built("5.0.22"));
    let mut elsewhere = images();
    elsewhere.loadgen.version = "5.0.11 @ 0123456789".into();
    assert_eq!(found(Division::Network, &elsewhere), []);
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let mut case =
        PolicyCase { benchmark: "digits", mode: Mode::FindPeak, sut_name: "", ..images() };
    set("qsl_rng_seed", "1")(&mut case);
    node(&mut case).memory_ecc = Some(false);
    let rules: Vec<_> = found(Division::Network, &case).iter().map(|f| f.rule).collect();
    assert_eq!(rules, [Rule::N32, Rule::N13, Rule::N1, Rule::N31, Rule::N29]);
}

/// Only the Network division has the rules of section 6.2.
#[test]
fn the_closed_division_asks_for_the_suite_and_not_for_a_network() {
    let case = PolicyCase { benchmark: "bert-99", ..images() };
    let findings = found(Division::Closed, &case);
    let texts: Vec<_> = findings.iter().map(|finding| (finding.rule, &finding.text[..])).collect();
    let is_edge = |(rule, text): &(Rule, &str)| {
        *rule == Rule::N2
            && text.contains("belongs to the edge suite only, which netdiv does not support")
    };
    assert!(texts.iter().any(is_edge), "{texts:?}");
    let mut case = images();
    case.evidence = None;
    let findings = found(Division::Closed, &case);
    let is_required = |rule| crate::policy::is_required(Division::Closed, rule);
    let [of_network, asked] = [false, true]
        .map(|asked| findings.iter().filter(|finding| is_required(finding.rule) == asked).count());
    assert_eq!((of_network, asked), (2, 0), "{findings:?}");
}
