//! Tests that the trees are what the official checkers require.

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::words::Mode;
use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{build_in, change_result, change_settings, keep, text};
use crate::{
    Scenario,
    book::Table,
    fixture::{self, RunSpec, SOURCES},
    record::{Division, RunResult, Verdict},
    submission::{FileTree, Strictness, SubmissionSettings, make, sources_sha256},
    tree,
};

/// Makes the tree of each round, division and benchmark, and checks its files. If the environment
/// variable `NETDIV_TREE_OUT` names a folder, also writes the trees there, for tests with the
/// official checkers.
#[test]
fn both_layouts_have_what_the_official_checkers_ask_for() {
    let both = [Scenario::Offline, Scenario::Server];
    let llama = both.map(|scenario| RunSpec::llama(scenario, Mode::Performance)).to_vec();
    let of_round = |round: &str| llama.clone().into_iter().map(|run| run.of_round(round)).collect();
    let cases = [
        ("resnet", "v5.0", "network", fixture::performance_runs("v5.0")),
        ("resnet", "v5.0", "open", fixture::performance_runs("v5.0")),
        ("unet", "v5.0", "network", vec![RunSpec::unet(Mode::Performance)]),
        ("llama", "v5.0", "network", llama.clone()),
        ("llama", "v5.1", "network", of_round("v5.1")),
        ("chat", "v5.1", "network", RunSpec::chat().to_vec()),
        ("unet", "v6.0", "network", fixture::performance_runs("v6.0")),
        ("unet", "v6.1", "network", fixture::performance_runs("v6.1")),
        ("llama", "v6.0", "network", of_round("v6.0")),
    ];
    for (name, round, division, runs) in cases {
        let folder = tempfile::tempdir().unwrap();
        fixture::submission_folder_of(folder.path(), division, round, &runs);
        if division == "open" {
            change_settings(folder.path(), "status", "reason = \"To compare.\"\nstatus");
        }
        let tree = build_in(folder.path(), false).unwrap();
        let layout = Table::builtin().unwrap().round(round.parse().unwrap()).unwrap().layout;
        let home = tree::SubmitterFolder::new(layout, division, "acme");
        for spec in runs {
            let (benchmark, scenario) = match spec.benchmark {
                "llama2-70b-interactive-99" => ("llama2-70b-99", "Interactive"),
                benchmark => (benchmark, spec.scenario.official_name()),
            };
            let place = tree::ResultPaths {
                home: home.clone(),
                system: "two-H100-nodes".into(),
                benchmark: benchmark.into(),
                scenario: scenario.into(),
            };
            check_place(&tree, &place, &spec);
        }
        let system: serde_json::Value =
            serde_json::from_str(text(&tree, &home.system_json("two-H100-nodes"))).unwrap();
        assert_eq!(system["division"], division);
        assert_eq!(system["network_media"], "copper DAC");
        assert_eq!(text(&tree, &home.revision()).trim(), sources_sha256(&SOURCES));
        for path in tree::documents::ALL.map(|name| home.document(name)) {
            assert!(tree.contains_key(&path), "{path}");
        }
        let settings = text(&tree, &home.document(tree::documents::SETTINGS));
        assert!(!settings.contains("/performance"), "a path of this machine: {settings}");
        let why_open = home.document(tree::documents::WHY_OPEN);
        assert_eq!(tree.contains_key(&why_open), division == "open");
        keep(&tree, &format!("{round}-{division}-{name}"));
    }
}

/// Makes Closed submissions whose nodes are behind a network, as in sixteen systems of round v6.0.
#[test]
fn a_closed_system_needs_no_drawing_no_digests_and_no_machine_of_its_own() {
    for (name, round, runs) in [
        ("unet", "v6.1", fixture::performance_runs("v6.1")),
        ("resnet", "v5.0", fixture::performance_runs("v5.0")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fixture::submission_folder_of(folder.path(), "closed", round, &runs);
        let settings = folder.path().join("submission.toml");
        let written = fs::read_to_string(&settings).unwrap();
        let (before, rest) = written.split_once("[topology]").unwrap();
        let (_, after) = rest.split_once("[architecture]").unwrap();
        let topology = "host_networking_topology = \"two nodes on one switch\"\n\n";
        let lines = format!("{before}{topology}[architecture]{after}");
        let kept: Vec<_> = lines.lines().filter(|line| !line.starts_with("digests")).collect();
        fs::write(&settings, kept.join("\n")).unwrap();
        for run in runs_in(folder.path()) {
            change_result(&run, |result| {
                result.division = Division::Closed;
                result.settings.insert("division".into(), "closed".into());
                result.nodes[0].address = "127.0.0.1:50051".into();
                let evidence = result.evidence.as_mut().unwrap();
                let host = evidence.loadgen_node.clone();
                let node = evidence.nodes.get_mut(&result.nodes[0].name).unwrap();
                (node.boot_id, node.machine_id) = (host.boot_id, host.machine_id);
                node.board_serial = host.board_serial;
            });
        }
        let tree = build_in(folder.path(), false).unwrap();
        let layout = Table::builtin().unwrap().round(round.parse().unwrap()).unwrap().layout;
        let home = tree::SubmitterFolder::new(layout, "closed", "acme");
        let system: serde_json::Value =
            serde_json::from_str(text(&tree, &home.system_json("two-H100-nodes"))).unwrap();
        assert_eq!(system["division"], "closed");
        assert_eq!(system.as_object().unwrap().len(), 35, "{system:#}");
        assert!(tree.contains_key(&home.document(tree::documents::ARCHITECTURE)));
        assert!(!tree.contains_key(&home.document(tree::documents::DIAGRAM)));
        keep(&tree, &format!("{round}-closed-{name}"));
        // The runs determine the description, as in every division.
        change_settings(folder.path(), "system_name =", "number_of_nodes = \"72\"\nsystem_name =");
        let refused = build_in(folder.path(), false).unwrap_err().join("\n");
        let want = "[system] number_of_nodes is `72`, and the runs and links have `2`";
        assert!(refused.contains(want), "{refused}");
    }
}

/// Returns the run folders below a folder.
fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, _): (Vec<_>, Vec<_>) = inside.partition(|path| path.is_dir());
    let is_run = |path: &PathBuf| path.join(RunResult::FILE).is_file();
    folders
        .iter()
        .flat_map(|path| runs_in(path))
        .chain(folders.iter().filter(|path| is_run(path)).cloned())
        .collect()
}

fn check_place(tree: &FileTree, place: &tree::ResultPaths, spec: &RunSpec) {
    let mut want = vec![place.measurements_json(), place.user_conf(), place.readme()];
    let with_logs: Vec<_> = spec.tests.iter().filter(|test| **test != "TEST06").collect();
    let mut logs = vec![place.performance(), place.accuracy()];
    logs.extend(with_logs.iter().map(|test| place.compliance_performance(test)));
    for folder in logs {
        want.extend([tree::DETAIL, tree::SUMMARY].map(|name| format!("{folder}/{name}")));
    }
    let mut accuracy = vec![place.accuracy()];
    accuracy.extend(spec.tests.contains(&"TEST01").then(|| place.compliance_accuracy("TEST01")));
    for folder in accuracy {
        let log = format!("{folder}/{}", tree::ACCURACY_LOG);
        // A log of 43 responses is short enough to keep.
        assert_eq!(tree[&log].len() == 2 * 4096 + 7, spec.dataset_samples > 43, "{log}");
        want.extend([log, format!("{folder}/{}", tree::ACCURACY_TXT)]);
    }
    want.extend(["performance", "accuracy", "digests"].map(|run| place.record(run)));
    want.extend(spec.tests.iter().map(|test| place.record(test)));
    for path in want {
        assert!(tree.contains_key(&path), "{path}");
    }
    for test in with_logs {
        let path = format!("{}/{}", place.compliance(test), tree::VERIFY_PERFORMANCE);
        assert!(text(tree, &path).contains("TEST PASS"), "{path}");
    }
    let accuracy = text(tree, &format!("{}/{}", place.accuracy(), tree::ACCURACY_TXT));
    let start = spec.accuracy_txt.unwrap_or("accuracy=77.000%, good=38500, total=50000\n");
    assert!(accuracy.starts_with(&format!("{start}\nhash=")), "{accuracy}");
}

#[test]
fn a_benchmark_that_is_not_deterministic_shows_its_accuracies() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    let test01 = folder.path().join("offline/compliance/TEST01");
    fixture::replace_log(&test01, tree::ACCURACY_LOG, |text| {
        text.replace("\"data\" : \"03000000\"", "\"data\" : \"04000000\"")
    });
    let names = ["baseline_accuracy.txt", "compliance_accuracy.txt"];
    for (name, accuracy) in names.iter().zip(["77.000", "76.900"]) {
        let line = format!("accuracy={accuracy}%, good=3154, total=4096\n");
        fs::write(test01.join(name), line).unwrap();
    }
    let tree = build_in(folder.path(), false).unwrap();
    let place = "network/acme/compliance/two-H100-nodes/resnet50/Offline/TEST01";
    assert!(text(&tree, &format!("{place}/verify_accuracy.txt")).contains("TEST FAIL"));
    for name in names {
        assert!(tree.contains_key(&format!("{place}/accuracy/{name}")));
    }
    keep(&tree, "v5.0-network-baseline");
}

#[test]
fn a_benchmark_that_no_suite_has_can_be_rehearsed() {
    let folder = tempfile::tempdir().unwrap();
    let spec = RunSpec {
        accuracy_txt: None,
        tests: &[],
        dataset_samples: 500,
        sample_bytes: 4096,
        ..RunSpec::unet(Mode::Performance)
    };
    fixture::submission_folder_of(
        folder.path(),
        "network",
        "v5.0",
        &[RunSpec { benchmark: "digits", ..spec }],
    );
    let refused = build_in(folder.path(), false).unwrap_err();
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let tree = build_in(folder.path(), true).unwrap();
    assert!(text(&tree, "network/acme/documentation/REHEARSAL.md").contains("N1 "));
    assert!(text(&tree, "network/acme/documentation/bandwidth.md").contains("does not name"));
}

#[test]
fn the_same_inputs_make_the_same_bytes_and_folders_are_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    let tree = build_in(folder.path(), false).unwrap();
    assert_eq!(tree, build_in(folder.path(), false).unwrap());
    let out = folder.path().join("tree");
    let settings = SubmissionSettings::read(&folder.path().join("submission.toml")).unwrap();
    let table = Table::builtin().unwrap();
    let make = || make(&settings, folder.path(), table, &SOURCES, Strictness::Usual, &out);
    let made = make().unwrap();
    assert_eq!((made.tree, made.open), (tree.clone(), Vec::new()));
    let files = tree::list_files(&out).unwrap();
    assert_eq!(files.len(), tree.len());
    for path in files {
        assert_eq!(fs::read(out.join(&path)).unwrap(), tree[path.to_str().unwrap()]);
    }
    assert_eq!(tree::list_results(&out, &tree::list_homes(&out).unwrap()[0]).unwrap().len(), 2);
    let again = make().unwrap_err().to_string();
    assert!(again.contains("exists already"), "{again}");
    assert!(!folder.path().join("tree.part").exists());
}

#[test]
fn a_rehearsal_may_be_made_of_anything_that_can_be_read_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    change_result(&folder.path().join("offline/performance"), |result| {
        result.verdict = Verdict::Invalid;
        result.encoding = Encoding::Zstd;
    });
    fs::remove_dir_all(folder.path().join("server/compliance")).unwrap();
    let tree = build_in(folder.path(), true).unwrap();
    let rehearsal = text(&tree, "network/acme/documentation/REHEARSAL.md");
    for want in ["do not submit", "N33", "N25", "N34"] {
        assert!(rehearsal.contains(want), "{want}: {rehearsal}");
    }
}

#[test]
fn the_open_division_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "open", "v5.0");
    let problems = build_in(folder.path(), false).unwrap_err();
    assert_eq!(
        problems,
        ["the division is open; write reason: why the submission is in this division"]
    );
    change_settings(folder.path(), "status", "reason = \"Pruned weights.\"\nstatus");
    change_settings(folder.path(), "fp16 conversion", "pruned\"\nretraining = \"Yes");
    change_settings(
        folder.path(),
        "[architecture]",
        "[retraining]\nretraining_data_fraction = 0.5\nretraining_epoch_fraction = 0.5\nnon_zero_parameters = 9\n\
         model_size_bytes = 18\nnumerics = \"fp16\"\nquantization = \"none\"\n[architecture]",
    );
    change_result(&folder.path().join("offline/performance"), |result| {
        result.division = Division::Open;
    });
    let tree = build_in(folder.path(), false).unwrap();
    let why = text(&tree, "open/acme/documentation/why-open.md");
    assert!(why.contains("Pruned weights.") && why.contains("N38"), "{why}");
    let tag = text(&tree, "open/acme/documentation/retraining.md");
    assert!(tag.contains("| retraining_cost_metric | 0.25 |"), "{tag}");
    // No division accepts an invalid run.
    change_result(&folder.path().join("offline/accuracy"), |run| run.verdict = Verdict::Failed);
    assert!(build_in(folder.path(), false).unwrap_err()[0].starts_with("N33"));
}

#[test]
fn user_conf_is_the_file_of_the_run_where_it_is_still_there() {
    let folder = tempfile::tempdir().unwrap();
    fixture::submission_folder(folder.path(), "network", "v5.0");
    let path = "network/acme/measurements/two-H100-nodes/resnet50/Server/user.conf";
    let tree = build_in(folder.path(), false).unwrap();
    assert!(text(&tree, path).contains("resnet50.Server.target_qps = 18000\n"));
    let conf = "# ours\nresnet50.Offline.target_qps = 20000\nresnet50.Server.target_qps = 18000\n";
    fs::write(folder.path().join("user.conf"), conf).unwrap();
    let tree = build_in(folder.path(), false).unwrap();
    assert_eq!(text(&tree, path), conf);
    let utf16: Vec<u8> =
        format!("\u{feff}{conf}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for written in
        [format!("\u{feff}{conf}").into_bytes(), conf.replace('\n', "\r").into_bytes(), utf16]
    {
        fs::write(folder.path().join("user.conf"), written).unwrap();
        let tree = build_in(folder.path(), false).unwrap();
        assert_eq!(text(&tree, path), conf, "the form that the run read");
    }
    fs::write(folder.path().join("user.conf"), b"\xff").unwrap();
    let problems = build_in(folder.path(), false).unwrap_err();
    assert!(
        problems.iter().any(|problem| problem.contains("user.conf: line 1, character 1")),
        "{problems:?}"
    );
    fs::write(folder.path().join("user.conf"), conf.replace("18000", "19000")).unwrap();
    let problems = build_in(folder.path(), false).unwrap_err();
    let want = "N2 (section 6.2, 4.1.1): user.conf: differs from the settings of server/performance: target_qps;";
    assert!(problems[0].starts_with(want), "{problems:?}");
    change_result(&folder.path().join("server/performance"), |run| {
        run.settings.insert("setting".into(), serde_json::json!(["server_target_qps=18000"]));
    });
    let problems = build_in(folder.path(), false).unwrap_err().join("\n");
    let want = "target_qps (changed by --setting); repeat that run without --setting, with the value in user.conf";
    assert!(problems.contains(want), "{problems}");
}

#[test]
fn the_fixture_is_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let spec =
        RunSpec { digests: true, ..RunSpec::new("resnet50", Scenario::Server, Mode::Accuracy) };
    let run = fixture::run(folder.path(), &spec);
    assert_eq!(run.verdict, Verdict::Complete);
    let responses =
        crate::official_log::read_responses(&folder.path().join(tree::ACCURACY_LOG)).unwrap();
    assert_eq!(responses.len(), 50_000);
    fixture::replace_log(folder.path(), tree::SUMMARY, |text| text + "more\n");
    let again: RunResult =
        serde_json::from_slice(&fs::read(folder.path().join("result.json")).unwrap()).unwrap();
    assert_ne!(again.logs[tree::SUMMARY], run.logs[tree::SUMMARY]);
}
