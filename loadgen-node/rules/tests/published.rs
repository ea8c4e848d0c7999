//! Tests with results that MLCommons published and accepted, and with variants of them: `check`
//! agrees with the official checkers.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![allow(clippy::unwrap_used, reason = "what tests stand on is a test, too")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use netdiv_rules::{
    Division, Outcome, Rule,
    book::Table,
    check::{Options, Report, RoundSource, check},
    tree::list_files,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Copy of a published tree that a test changes.
struct PublishedTree(TempDir);

impl PublishedTree {
    fn of(name: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published").join(name), "");
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn copy(&self, from: &Path, to: &str) {
        for file in list_files(from).unwrap() {
            let to = self.path(to).join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from.join(&file), to).unwrap();
        }
    }

    /// Copies a folder of the tree to another name.
    fn also(&self, from: &str, to: &str) {
        self.copy(&self.path(from), to);
    }

    fn rename(&self, from: &str, to: &str) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path(from), to).unwrap();
    }

    fn edit(&self, path: &str, change: impl FnOnce(String) -> String) {
        let path = self.path(path);
        let text = change(fs::read_to_string(&path).unwrap());
        fs::write(path, text).unwrap();
    }

    /// Changes every detail log.
    fn edit_logs(&self, change: impl Fn(String) -> String) {
        for file in list_files(self.0.path()).unwrap() {
            let path = file.to_str().unwrap();
            if path.ends_with("mlperf_log_detail.txt") {
                self.edit(path, &change);
            }
        }
    }

    fn check(&self) -> Report {
        self.check_with(&Options::default())
    }

    fn check_with(&self, options: &Options) -> Report {
        check(self.0.path(), Table::builtin().unwrap(), options).unwrap()
    }
}

/// Returns the texts of the failures of a rule.
fn broken(report: &Report, rule: Rule) -> Vec<&str> {
    let of_rule = report.findings().filter(|finding| finding.rule == rule);
    let broken = of_rule.filter(|finding| finding.outcome == Outcome::Fail);
    broken.map(|finding| finding.text.as_str()).collect()
}

fn says(texts: &[&str], part: &str) -> bool {
    texts.iter().any(|text| text.contains(part))
}

const LLAMA_8B: &str = "closed/X/results/S/llama3.1-8b/Offline";
const SDXL: &str = "closed/X/results/S/stable-diffusion-xl/Offline";
const LLAMA: &str = "closed/X/results/S/llama2-70b-99";
const TEST06: &str = "closed/X/compliance/S/llama2-70b-99";

#[test]
fn quoted_figures_are_read_in_the_format_of_the_round() {
    for (tree, accuracy) in [
        ("llama3.1-8b", format!("{LLAMA_8B}/accuracy/accuracy.txt")),
        ("stable-diffusion-xl", format!("{SDXL}/accuracy/accuracy.txt")),
    ] {
        let tree = PublishedTree::of(tree);
        let read = |tree: &PublishedTree| {
            let report = tree.check();
            let wrong = broken(&report, Rule::N2).into_iter().map(str::to_owned);
            // The reduced trees have no calibration document.
            wrong.filter(|text| !text.contains("quantization")).collect::<Vec<_>>()
        };
        assert_eq!(read(&tree), [""; 0]);
        // Bare figures, and more white space, are valid, too.
        tree.edit(&accuracy, |text| text.replace("': '", "':  '"));
        assert_eq!(read(&tree), [""; 0]);
        tree.edit(&accuracy, |text| {
            text.replace("':  '", "': ").replace("',", ",").replace("'}", "}")
        });
        assert_eq!(read(&tree), [""; 0]);
        // A figure in a form that no checker reads is not reported as missing.
        let wrapped = |text: String| {
            text.replace("'rouge1': ", "'rouge1': np.float64(").replace(", 'rouge2'", "), 'rouge2'")
        };
        tree.edit(&accuracy, wrapped);
        let wrong = read(&tree);
        assert!(wrong.iter().all(|text| !text.contains("ROUGE1 is missing")), "{wrong:?}");
        tree.edit(&accuracy, |text| text.replace("rouge", "route").replace("FID_SCORE", "FID"));
        assert!(says(
            &read(&tree).iter().map(String::as_str).collect::<Vec<_>>(),
            "is missing: the official"
        ));
    }
}

#[test]
fn a_figure_that_misses_its_target_is_still_found() {
    let tree = PublishedTree::of("llama3.1-8b");
    tree.edit(&format!("{LLAMA_8B}/accuracy/accuracy.txt"), |text| {
        text.replace("'38.7898'", "'12.5'")
    });
    assert!(says(&broken(&tree.check(), Rule::N2), "ROUGE1"), "{}", tree.check().text());
}

/// Counts the findings that report a run with several purposes.
fn shared(tree: &PublishedTree) -> usize {
    let report = tree.check();
    let of = |rule| {
        broken(&report, rule).into_iter().filter(|text| text.contains("one purpose")).count()
    };
    of(Rule::N34) + of(Rule::N35)
}

#[test]
fn two_targets_of_a_model_may_share_their_runs() {
    let tree = PublishedTree::of("llama2-70b");
    tree.also(LLAMA, &format!("{LLAMA}.9"));
    tree.also(TEST06, &format!("{TEST06}.9"));
    assert_eq!(shared(&tree), 0, "{}", tree.check().text());
    for (from, to) in [
        // The copy belongs to another system, another variant or another model.
        (LLAMA, "closed/X/results/T/llama2-70b-99"),
        (&format!("{LLAMA}/Server"), &format!("{LLAMA}.9/Interactive")),
        (LLAMA, "closed/X/results/S/gptj-99.9"),
    ] {
        let tree = PublishedTree::of("llama2-70b");
        tree.also(from, to);
        assert!(shared(&tree) > 0, "{to}: {}", tree.check().text());
    }
    let tree = PublishedTree::of("llama2-70b");
    tree.also(LLAMA, &format!("{LLAMA}.9"));
    tree.also(&format!("{LLAMA}/Server/accuracy"), &format!("{LLAMA}.9/Server/performance/run_1"));
    assert!(!broken(&tree.check(), Rule::N32).is_empty());
    // Logs in the folder of another scenario have a separate finding.
    let tree = PublishedTree::of("llama2-70b");
    tree.also(&format!("{LLAMA}/Server"), &format!("{LLAMA}/Offline"));
    assert!(!broken(&tree.check(), Rule::N32).is_empty());
}

#[test]
fn a_first_token_that_came_with_others_passes_test06() {
    let tree = PublishedTree::of("llama2-70b");
    let report = tree.check();
    assert_eq!(broken(&report, Rule::N34), [""; 0], "{}", report.text());
    let only_ours = "netdiv requires this, the official script does not";
    assert!(report.text().contains(only_ours), "{}", report.text());
    // An error that the official script refuses is still found.
    let log = format!("{TEST06}/Server/TEST06/accuracy/mlperf_log_accuracy.json");
    tree.edit(&log, |text| text.replacen("\"token_data\": \"", "\"token_data\": \"01000000", 1));
    let report = tree.check();
    let wrong = broken(&report, Rule::N34);
    assert!(says(&wrong, "and by the logs it is False"), "{}", report.text());
    let file = format!("{TEST06}/Server/TEST06/verify_accuracy.txt");
    let tree = PublishedTree::of("llama2-70b");
    tree.edit(&file, |text| text + "EOS check pass: False\n");
    assert!(says(&broken(&tree.check(), Rule::N34), "two verdicts"), "{}", tree.check().text());
}

#[test]
fn the_log_of_test06_is_of_one_run_over_the_data_set() {
    for (from, to, wanted) in [
        ("\"seq_id\": 2,", "\"seq_id\": 6,", "has two entries of one seq_id"),
        ("\"qsl_idx\": 384,", "\"qsl_idx\": 24576,", "has sample 24576 of a data set of 24576"),
        ("\"token_data\"", "\"first\"", "LoadGen logs it in Server"),
    ] {
        let tree = PublishedTree::of("llama2-70b");
        assert!(!says(&broken(&tree.check(), Rule::N21), wanted), "{}", tree.check().text());
        let log = format!("{TEST06}/Server/TEST06/accuracy/mlperf_log_accuracy.json");
        tree.edit(&log, |text| text.replace(from, to));
        assert!(says(&broken(&tree.check(), Rule::N21), wanted), "{}", tree.check().text());
    }
}

/// The second row has the counts of a published result whose two tests are exchanged.
#[test]
fn test07_and_test09_each_issue_a_data_set_of_their_own() {
    const RESULT: &str = "closed/X/results/S/gpt-oss-120b/Offline";
    let found = |[test07, test09]: [[u64; 2]; 2], verified: u64, targets: [u64; 2]| {
        let tree = PublishedTree::of("deepseek-r1");
        tree.rename("closed/X/results/S/deepseek-r1", "closed/X/results/S/gpt-oss-120b");
        let write = |path: &str, text: &str| {
            let path = tree.path(&format!("{RESULT}/{path}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let tests = [("TEST07", test07), ("TEST09", test09)];
        for ((test, [total, issued]), target) in tests.into_iter().zip(targets) {
            let line = |key: &str, value: &dyn std::fmt::Display| {
                format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{}}}}\n")
            };
            let text = line("effective_scenario", &"\"Offline\"")
                + &line("effective_test_mode", &"\"PerformanceOnly\"")
                + &line("effective_accuracy_log_rng_seed", &720_381_539_243_781_796_u64)
                + &line("effective_accuracy_log_sampling_target", &target)
                + &line("qsl_reported_total_count", &total)
                + &line("generated_query_count", &1)
                + &line("generated_samples_per_query", &issued);
            write(&format!("{test}/performance/run_1/mlperf_log_detail.txt"), &text);
        }
        write("TEST07/verify_accuracy.txt", "TEST PASS\n");
        write("TEST09/verify_output_len.txt", &format!("Total samples: {verified}\n\nTEST PASS\n"));
        broken(&tree.check(), Rule::N34).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for (counts, verified, wanted) in [
        ([[990, 990], [6396, 6396]], 6396, &[] as &[&str]),
        (
            [[990, 6396], [6396, 990]],
            6396,
            &[
                "issued 6396 samples of a data set of 990, and TEST07 issues 990 of 990",
                "issued 990 samples of a data set of 6396, and TEST09 issues 6396 of 6396",
            ],
        ),
        ([[990, 990], [6396, 990]], 6396, &["issued 990 samples of a data set of 6396"]),
        (
            [[6396, 6396], [990, 990]],
            6396,
            &[
                "issued 6396 samples of a data set of 6396, and TEST07",
                "issued 990 samples of a data set of 990, and TEST09",
            ],
        ),
        // Counts of e2e-rag-qna.
        ([[990, 990], [824, 824]], 6396, &["issued 824 samples of a data set of 824"]),
        (
            [[990, 990], [6396, 6396]],
            990,
            &[
                "verify_output_len.txt has 990 for Total samples, and TEST09 of gpt-oss-120b has 6396",
            ],
        ),
    ] {
        let texts = found(counts, verified, [990, 10_000]);
        assert_eq!(texts.len(), wanted.len(), "{counts:?}: {texts:#?}");
        for part in wanted {
            assert!(texts.iter().any(|text| text.contains(*part)), "{part}: {texts:#?}");
        }
    }
    let texts = found([[990, 990], [6396, 6396]], 6396, [10_000, 10_000]);
    let target = "effective_accuracy_log_sampling_target is 10000, not 990: the run was not made with the audit.config of TEST07";
    assert_eq!(texts, [target]);
}

#[test]
fn sampled_answers_are_not_compared_and_the_report_says_so() {
    let tree = PublishedTree::of("deepseek-r1");
    tree.rename("closed/X/results/S/deepseek-r1", "closed/X/results/S/gpt-oss-120b");
    let report = tree.check();
    let is_said = report.findings().any(|finding| {
        finding.rule == Rule::N30 && finding.text.contains("outputs of gpt-oss-120b are sampled")
    });
    assert!(is_said, "{}", report.text());
}

#[test]
fn scores_of_test01_are_compared_in_the_edge_suite_too() {
    const RESULT: &str = "closed/X/results/S/bert-99/Offline";
    for (f1, is_found) in [("90.8", false), ("80.1", true)] {
        let tree = PublishedTree::of("deepseek-r1");
        tree.rename("closed/X/results/S/deepseek-r1", "closed/X/results/S/bert-99");
        for (name, text) in [
            ("verify_accuracy.txt", "TEST FAIL\n"),
            ("verify_performance.txt", "TEST PASS\n"),
            ("accuracy/baseline_accuracy.txt", "{\"exact_match\": 83.6, \"f1\": 90.8}\n"),
            (
                "accuracy/compliance_accuracy.txt",
                &format!("{{\"exact_match\": 83.6, \"f1\": {f1}}}\n"),
            ),
        ] {
            let path = tree.path(&format!("{RESULT}/TEST01/{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let report = tree.check();
        let is_said = says(&broken(&report, Rule::N34), "F1 differs by");
        assert_eq!(is_said, is_found, "{f1}: {}", report.text());
    }
}

fn round(report: &Report) -> (&str, RoundSource) {
    let round = &report.judgements[0].round;
    (&round.name, round.by)
}

#[test]
fn seeds_tell_the_round_whatever_the_folders_are_called() {
    let tree = PublishedTree::of("deepseek-r1");
    let of_layout = |report: &Report| {
        let report = broken(report, Rule::N35).join("\n");
        ["has its code in", "has the layout of"].map(|text| report.contains(text))
    };
    let report = tree.check();
    assert_eq!(round(&report), ("v6.0", RoundSource::Seeds));
    assert_eq!(report.outcome(Rule::N31), Outcome::Pass, "{}", report.text());
    assert_eq!(of_layout(&report), [true, false], "{}", report.text());
    tree.rename("closed/X/code", "closed/X/src");
    let report = tree.check();
    assert_eq!(round(&report), ("v6.0", RoundSource::Seeds));
    assert_eq!(of_layout(&report), [false, false], "{}", report.text());
    fs::create_dir(tree.path("closed/X/measurements")).unwrap();
    let report = tree.check();
    assert_eq!((round(&report), of_layout(&report)), (("v6.0", RoundSource::Seeds), [false, true]));
    // The option takes precedence, and the seeds are judged by its round.
    let options = Options { round: "v5.1".parse().ok(), ..Options::default() };
    let report = tree.check_with(&options);
    assert_eq!(round(&report), ("v5.1", RoundSource::Option));
    assert!(
        says(&broken(&report, Rule::N31), "the seeds announced for v5.1 are"),
        "{}",
        report.text()
    );
}

#[test]
fn without_known_seeds_the_version_tells_the_round() {
    let tree = PublishedTree::of("deepseek-r1");
    tree.edit_logs(|log| log.replace("2465351861681999779", "1"));
    let report = tree.check();
    assert_eq!(round(&report), ("v6.0", RoundSource::LoadgenVersion));
    assert!(says(&broken(&report, Rule::N31), "the seeds announced for v6.0 are"));
    tree.edit_logs(|log| log.replace("\"6.0.8 @", "\"4.1 @"));
    let report = tree.check();
    assert_eq!(round(&report), ("v4.1", RoundSource::LoadgenVersion));
    assert!(!report.judgements[0].round.in_table);
    // A single finding reports the unknown round, and the rules that depend on it are not judged.
    for rule in [Rule::N2, Rule::N3, Rule::N31, Rule::N32, Rule::N34, Rule::N35, Rule::N36] {
        assert_eq!(report.outcome(rule), Outcome::CannotTell, "{rule}: {}", report.text());
    }
    let lines = report.text();
    assert_eq!(lines.matches("round v4.1 (by LoadGen's version) is not in the table").count(), 1);
    // Without information in the logs, the folders determine the round.
    tree.edit_logs(|log| log.replace("\"loadgen_version\"", "\"version\""));
    assert_eq!(round(&tree.check()), ("v6.0", RoundSource::Layout));
}

#[test]
fn a_record_of_the_round_comes_before_the_seeds() {
    let tree = PublishedTree::of("deepseek-r1");
    tree.rename("closed/X/code", "closed/X/src");
    let measurements = "closed/X/results/S/deepseek-r1/Offline/measurements.json";
    fs::write(tree.path(measurements), json!({"round": "v5.1"}).to_string()).unwrap();
    let report = tree.check();
    assert_eq!(round(&report), ("v5.1", RoundSource::Record));
    assert!(
        says(&broken(&report, Rule::N31), "the seeds announced for v5.1 are"),
        "{}",
        report.text()
    );
}

#[test]
fn a_system_without_accelerators_says_so() {
    let tree = PublishedTree::of("llama3.1-8b");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published");
    let text = fs::read_to_string(folder.join("system-without-accelerators.json")).unwrap();
    let mut system: Value = serde_json::from_str(&text).unwrap();
    system["submitter"] = json!("X");
    let outcome = |system: &Value| {
        fs::write(tree.path("closed/X/systems/S.json"), system.to_string()).unwrap();
        let report = tree.check();
        let of_rule = report.findings().filter(|finding| finding.rule == Rule::N36);
        let told = of_rule.filter(|finding| finding.outcome != Outcome::Pass);
        told.map(|finding| finding.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(outcome(&system), [""; 0]);
    system["accelerators_per_node"] = json!("N/A");
    assert_eq!(outcome(&system), [""; 0]);
    // Fields that the official checker considers empty, and placeholders, are found.
    for (field, value) in
        [("cooling", json!("")), ("framework", json!(0)), ("operating_system", json!(false))]
    {
        let mut other = system.clone();
        other[field] = value;
        assert!(outcome(&other)[0].contains("which the checker treats as empty"), "{field}");
    }
    let mut other = system.clone();
    other["cooling"] = json!("TODO");
    assert!(outcome(&other)[0].starts_with("cooling is \"TODO\""), "{:?}", outcome(&other));
    other["system_type"] = json!("cloud");
    assert!(outcome(&other).iter().any(|text| text.starts_with("system_type is `cloud`")));
    system["is_network"] = json!("True");
    assert!(outcome(&system).iter().any(|text| text.contains("belongs to the Network division")));
}

#[test]
fn in_the_network_division_the_network_has_to_be_named() {
    let tree = PublishedTree::of("llama3.1-8b");
    tree.rename("closed/X", "network/X");
    let path = "network/X/systems/S.json";
    let fields = ["network_type", "nic_sut", "network_protocol"];
    tree.edit(path, |text| {
        let mut system: Value = serde_json::from_str(&text).unwrap();
        for field in fields {
            system[field] = json!("N/A");
        }
        system["is_network"] = json!("True");
        system.to_string()
    });
    let report = tree.check();
    let wrong = broken(&report, Rule::N6).join("\n");
    assert!(fields.iter().all(|field| wrong.contains(field)), "{}", report.text());
}

#[test]
fn several_submitters_and_divisions_are_judged_one_by_one() {
    let tree = PublishedTree::of("llama3.1-8b");
    tree.also("closed/X", "closed/Y");
    tree.also("closed/X", "open/X");
    let report = tree.check();
    let subjects: Vec<_> =
        report.judgements.iter().map(|one| (one.subject.as_str(), one.division)).collect();
    let want = [
        ("closed/X", Division::Closed),
        ("closed/Y", Division::Closed),
        ("open/X", Division::Open),
    ];
    assert_eq!(subjects, want);
    assert!(!PublishedTree::of("llama3.1-8b").check().text().contains("network/"));
    let json: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["judgements"][0]["round"],
        json!({"name": "v5.1", "by": "seeds", "in_table": true})
    );
}

#[test]
fn what_only_section_6_2_asks_is_not_asked_of_closed() {
    let tree = PublishedTree::of("llama2-70b");
    let report = tree.check();
    for rule in [Rule::N4, Rule::N13, Rule::N14, Rule::N17, Rule::N23, Rule::N38] {
        assert_eq!(report.outcome(rule), Outcome::Pass, "{rule}: {}", report.text());
    }
    // Rules of every division still apply: seeds, bounds, accuracy, ECC, caching.
    tree.edit_logs(|log| {
        log.replace(
            "\"result_validity\", \"value\": \"VALID\"",
            "\"result_validity\", \"value\": \"INVALID\"",
        )
    });
    assert_eq!(tree.check().outcome(Rule::N33), Outcome::Fail);
    for rule in [Rule::N10, Rule::N29] {
        assert_eq!(report.outcome(rule), Outcome::CannotTell, "{rule}");
    }
    let key = "\"effective_max_query_count\", \"value\": 0";
    tree.edit_logs(|log| log.replace(key, &key.replace(": 0", ": 7")));
    assert!(says(&broken(&tree.check(), Rule::N32), "max_query_count"), "{}", tree.check().text());
}

#[test]
fn results_of_the_edge_suite_may_be_inferred_from_a_stream() {
    const SYSTEM: &str = "closed/X/systems/S.json";
    for (suite, is_allowed) in [("edge", true), ("datacenter,edge", true), ("datacenter", false)] {
        let tree = PublishedTree::of("stable-diffusion-xl");
        tree.edit_logs(|log| {
            log.replace(
                "\"key\": \"effective_scenario\", \"value\": \"Offline\"",
                "\"key\": \"effective_scenario\", \"value\": \"SingleStream\"",
            )
        });
        tree.edit(SYSTEM, |text| {
            let mut system: Value = serde_json::from_str(&text).unwrap();
            system["system_type"] = json!(suite);
            system.to_string()
        });
        let report = tree.check();
        let broken = broken(&report, Rule::N32);
        assert!(!says(&broken, "is of a run of"), "{suite}: {broken:#?}");
        assert_eq!(says(&broken, "only results of the edge suite"), !is_allowed, "{broken:#?}");
    }
}

/// Folder of the logs of the performance run in the tree `llama3.1-8b`.
const PERFORMANCE: &str = "closed/X/results/S/llama3.1-8b/Offline/performance/run_1";

#[test]
fn a_log_of_two_tests_is_found_where_the_rule_on_single_tests_is_not_asked() {
    let tree = PublishedTree::of("llama3.1-8b");
    let log = format!("{PERFORMANCE}/mlperf_log_detail.txt");
    tree.edit(&log, |text| format!("{text}{}", text.replace("\"VALID\"", "\"INVALID\"")));
    let report = tree.check();
    let broken = broken(&report, Rule::N33);
    assert!(says(&broken, "the detail log covers 2 tests"), "{}", report.text());
}

#[test]
fn logs_of_one_result_name_one_data_set() {
    let tree = PublishedTree::of("llama3.1-8b");
    let is_found =
        |tree: &PublishedTree| says(&broken(&tree.check(), Rule::N2), "qsl_name is `imagenet`");
    assert!(!is_found(&tree));
    tree.edit(&format!("{PERFORMANCE}/mlperf_log_detail.txt"), |text| {
        let (before, rest) = text.split_once("\"key\": \"qsl_name\", \"value\": \"").unwrap();
        let (_, after) = rest.split_once('"').unwrap();
        format!("{before}\"key\": \"qsl_name\", \"value\": \"imagenet\"{after}")
    });
    // The finding names the accuracy run second.
    let text = tree.check().text();
    assert!(is_found(&tree) || text.contains("and `imagenet` in"), "{text}");
}

#[test]
fn names_of_benchmarks_are_those_of_published_results() {
    let tree = PublishedTree::of("llama3.1-8b");
    let known = |tree: &PublishedTree| tree.check().outcome(Rule::N2) != Outcome::CannotTell;
    assert!(known(&tree), "{}", tree.check().text());
    tree.rename("closed/X/results/S/llama3.1-8b", "closed/X/results/S/llama3_1-8b");
    assert!(known(&tree), "{}", tree.check().text());
}

#[test]
fn a_version_is_of_the_last_round_before_it_or_of_none() {
    for (version, name) in [
        ("5.0.22", "v5.1"),
        ("5.0.25", "v5.1"),
        ("5.1.0", "v5.1"),
        ("5.0.12", "v5.0"),
        ("6.0.5", "v6.0"),
        ("6.0.15", "v6.0"),
        ("6.0.17", "v6.1"),
        ("6.1.0", "of LoadGen 6.1.0"),
        ("7.1", "of LoadGen 7.1"),
        ("4.0", "v4.0"),
    ] {
        let tree = PublishedTree::of("deepseek-r1");
        tree.edit_logs(|log| {
            log.replace("2465351861681999779", "1").replace("\"6.0.8 @", &format!("\"{version} @"))
        });
        assert_eq!(round(&tree.check()), (name, RoundSource::LoadgenVersion), "{version}");
    }
}

#[test]
fn logs_in_the_wrong_folder_still_tell_the_round() {
    let tree = PublishedTree::of("llama3.1-8b");
    let [run, accuracy] = [PERFORMANCE, "closed/X/results/S/llama3.1-8b/Offline/accuracy"];
    for name in ["mlperf_log_detail.txt", "mlperf_log_summary.txt"] {
        tree.rename(&format!("{run}/{name}"), "kept");
        tree.rename(&format!("{accuracy}/{name}"), &format!("{run}/{name}"));
        tree.rename("kept", &format!("{accuracy}/{name}"));
    }
    let report = tree.check();
    assert_eq!(round(&report).1, RoundSource::Seeds, "{}", report.text());
}

#[test]
fn an_inferred_result_has_the_logs_of_the_run_that_it_is_inferred_from() {
    let tree = PublishedTree::of("stable-diffusion-xl");
    tree.edit("closed/X/systems/S.json", |text| text.replace("datacenter", "edge"));
    tree.edit_logs(|log| log.replace("\"value\": \"Offline\"", "\"value\": \"SingleStream\""));
    let results = "closed/X/results/S/stable-diffusion-xl";
    tree.also(&format!("{results}/Offline"), &format!("{results}/SingleStream"));
    let shared =
        |tree: &PublishedTree| says(&broken(&tree.check(), Rule::N35), "has the detail log of");
    assert!(!shared(&tree), "{}", tree.check().text());
    tree.edit("closed/X/systems/S.json", |text| text.replace("edge", "datacenter"));
    assert!(shared(&tree), "{}", tree.check().text());
}

#[test]
fn max_query_count_in_single_stream_is_judged_by_the_duration() {
    const RATE: &str = "result_qps_with_loadgen_overhead";
    const RESULTS: &str = "closed/X/results/S/stable-diffusion-xl";
    // The 108 queries have 107 intervals.
    for (rate, says_end, says_time) in
        [(None, true, false), (Some("0.1"), false, false), (Some("10"), false, true)]
    {
        let tree = PublishedTree::of("stable-diffusion-xl");
        tree.rename(&format!("{RESULTS}/Offline"), &format!("{RESULTS}/SingleStream"));
        tree.edit_logs(|log| {
            let count = "\"result_query_count\", \"value\": ";
            let line = rate.map_or(String::new(), |rate| {
                format!(":::MLLOG {{\"key\": \"{RATE}\", \"value\": {rate}, \"metadata\": {{}}}}\n")
            });
            let log = log.replace("\"value\": \"Offline\"", "\"value\": \"SingleStream\"");
            log.replace(&format!("{count}1,"), &format!("{count}108,")) + &line
        });
        let report = tree.check();
        let broken = broken(&report, Rule::N32);
        assert_eq!(says(&broken, "would end the run"), says_end, "{rate:?}: {broken:#?}");
        assert_eq!(says(&broken, "the test took 10.7 s"), says_time, "{rate:?}: {broken:#?}");
    }
}

#[test]
fn empty_files_that_no_checker_reads_are_left_alone() {
    let tree = PublishedTree::of("llama3.1-8b");
    for (name, is_found) in [
        ("closed/X/scripts/unet.lock", false),
        ("closed/X/code/whisper/README.md", false),
        ("closed/X/documentation/calibration.md", true),
    ] {
        fs::create_dir_all(tree.path(name).parent().unwrap()).unwrap();
        fs::write(tree.path(name), "").unwrap();
        let report = tree.check();
        let empty = report.findings().filter(|finding| finding.text.starts_with("is empty"));
        let is_said = empty.flat_map(|finding| &finding.places).any(|place| place == name);
        assert_eq!(is_said, is_found, "{name}: {}", report.text());
    }
}
