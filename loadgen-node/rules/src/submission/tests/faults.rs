//! Tests of findings against a submission, which are all reported at once.

use netdiv_node_common::words::Scenario;
use std::{fs, path::Path};

use super::{assert_told, change_result, change_settings, problems_of};
use crate::{
    book::Table,
    fixture::{self, SOURCES, replace_log},
    record::{Division, Verdict},
    submission::{MakeError, Strictness, SubmissionSettings, make},
    tree,
};

#[test]
fn an_empty_file_is_told_all_that_it_needs() {
    let (table, output) = (Table::builtin().unwrap(), Path::new("/no/such/folder/tree"));
    let made = make(
        &SubmissionSettings::default(),
        Path::new("."),
        table,
        &SOURCES,
        Strictness::Rehearsal,
        output,
    );
    let all = made.unwrap_err().to_string();
    for want in [
        "write submitter",
        "write division",
        "write status",
        "write round",
        "write id",
        "write calibration",
        "there is no [[result]]",
        "[system] system_name",
        "[system] cooling",
    ] {
        assert!(all.contains(want), "{want}: {all}");
    }
}

#[test]
fn before_the_runs_one_line_stands_for_what_they_fill_in() {
    let all = problems_of(|folder| {
        for runs in ["offline", "server"] {
            fs::remove_dir_all(folder.join(runs)).unwrap();
        }
    });
    let of_system: Vec<_> = all.iter().filter(|text| text.starts_with("[system]")).collect();
    assert!(of_system.len() == 1 && of_system[0].contains("make those first"), "{all:#?}");
}

#[test]
fn broken_rules_of_the_runs_are_listed_while_values_and_runs_are_missing() {
    let rehearsal = "the run was a rehearsal: run again without --rehearsal";
    let [of_run, of_record] =
        ["offline/performance", "result.json"].map(|at| format!("{at}: {rehearsal}"));
    let wants = [
        "submitter is still TODO",
        "id is still TODO",
        &of_run,
        "server/accuracy: cannot read the result.json",
        "server/performance: N38 ",
        &of_record,
    ];
    assert_told(&wants, |folder| {
        change_settings(folder, "submitter = \"acme\"", "submitter = \"TODO\"");
        change_settings(folder, "id = \"two-H100-nodes\"", "id = \"TODO\"");
        for run in ["offline/performance", "server/performance"] {
            change_result(&folder.join(run), |result| result.rehearsal = true);
        }
        fs::remove_dir_all(folder.join("server/accuracy")).unwrap();
    });
}

#[test]
fn each_thing_that_is_wrong_with_the_runs_is_said_at_once() {
    let wants = [
        "offline/performance/mlperf_log_summary.txt: was changed after the run",
        "N33 (section 5.1): offline/accuracy: the run's verdict is Invalid: 3 samples lost",
        "server/performance: the run was exploratory, and is not a result: run again with --division",
        "N21 (section 6.2.3): server/performance: result.json /versions/loadgen: \"5.0.12 @ abc\", LoadGen's log gives \"5.0.11 @ ef1bd3b95e\"",
        "N30 (section 5.1): differs from server/performance in model of node-a: repeat all runs with one configuration (in server/digests and ",
        "N32 (section 3, 4.1.1): server/accuracy: is of a run of offline, not of server",
        "server/digests: that run was made without --digests",
        "resnet50 Offline TEST04: is missing: make TEST04, which resnet50 needs, with loadgen-node audit",
        "[system] id `two nodes`: write a name without spaces",
    ];
    assert_told(&wants, |folder| {
        let log = folder.join("offline/performance").join(tree::SUMMARY);
        fs::write(&log, "altered").unwrap();
        change_result(&folder.join("offline/accuracy"), |result| {
            result.verdict = Verdict::Invalid;
            result.reasons = vec!["3 samples lost".into()];
        });
        change_result(&folder.join("server/performance"), |result| {
            result.division = Division::Exploratory;
            result.versions.loadgen = "5.0.12 @ abc".into();
            result.nodes[0].model_sha256 = "f".repeat(64);
        });
        change_result(&folder.join("server/accuracy"), |result| {
            result.scenario = Scenario::Offline
        });
        change_result(&folder.join("server/digests"), |result| result.digests = None);
        fs::remove_dir_all(folder.join("offline/compliance/TEST04")).unwrap();
        change_settings(folder, "two-H100-nodes", "two nodes");
    });
}

#[test]
fn settings_that_do_not_fit_are_said() {
    let wants = [
        "[[result]] resnet50 Offline is listed twice",
        "write weight_data_types, such as \"fp16\"",
        "retraining is for the Open division",
        "calibration.md: calibration: No such file",
    ];
    assert_told(&wants, |folder| {
        change_settings(
            folder,
            "[[result]]\nbenchmark = \"resnet50\"\nscenario = \"server\"",
            "[[result]]\nbenchmark = \"resnet50\"\nscenario = \"offline\"",
        );
        change_settings(folder, "weight_data_types = \"fp16\"\n", "");
        change_settings(folder, "fp16 conversion", "fp16 conversion\"\nretraining = \"Yes");
        fs::remove_file(folder.join("calibration.md")).unwrap();
    });
}

#[test]
fn names_that_lead_elsewhere_are_not_written() {
    let all = problems_of(|folder| change_settings(folder, "two-H100-nodes", "../../../../x"));
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(all[0].contains("[system] id `../../../../x`: write a name without spaces"), "{all:?}");
}

#[test]
fn a_scenario_that_the_suite_requires_is_missed() {
    let all = problems_of(|folder| {
        let path = folder.join("submission.toml");
        let text = fs::read_to_string(&path).unwrap();
        let server = text.rfind("[[result]]").unwrap();
        fs::write(&path, &text[..server]).unwrap();
    });
    assert_eq!(all.len(), 1, "{all:#?}");
    let want = "N32 (section 3, 4.1.1): results/two-H100-nodes/resnet50: Server missing, which resnet50 requires";
    assert_eq!(all[0], want);
}

#[test]
fn unknown_keys_and_wrong_types_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("submission.toml");
    for (text, want) in [
        ("colour = 1", "unknown field `colour`"),
        ("submiter = 'a'", "(did you mean submitter?)"),
        ("submitter = 1", "invalid type"),
        ("status = \"soon\"", "unknown variant `soon`, expected one of `available`"),
        ("division = \"edge\"", "unknown variant `edge`"),
        ("round = \"5\"", "`5` is not the name of a round; write one such as v5.0"),
        ("[[result]]\nscenario = \"ofline\"", "(did you mean offline?)"),
        ("[[result]]\nbenchmrk = \"x\"", "unknown field `benchmrk`"),
        ("[[topology.link]]\nfrom = \"a\"", "missing field `to`"),
    ] {
        fs::write(&path, text).unwrap();
        let error = SubmissionSettings::read(&path).unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("line"), "{error}");
    }
    let missing = SubmissionSettings::read(Path::new("/no/such/file")).unwrap_err();
    assert!(missing.to_string().starts_with("/no/such/file: "), "{missing}");
}

#[test]
fn each_placeholder_is_one_gap_with_its_line_and_is_no_path() {
    let all = problems_of(|folder| {
        change_settings(folder, "calibration = \"calibration.md\"", "calibration = \"TODO.md\"");
        change_settings(folder, "cooling = \"air\"", "# Air or liquid.\ncooling = \"TODO\"");
        change_settings(folder, "\"offline/digests\"", "\"TODO-digests\"");
        change_settings(folder, "How we ran it.", "TODO-how-to.md");
    });
    let is_todo =
        |text: &&String| text.starts_with("line ") && text.contains(" is still TODO: write it");
    let told: Vec<_> = all.iter().filter(is_todo).collect();
    assert_eq!(told.len(), 5, "{all:#?}");
    assert!(
        told.iter().any(|text| text.ends_with("cooling is still TODO: write it. Air or liquid.")),
        "{told:#?}"
    );
    assert!(!all.iter().any(|text| text.contains("No such file")), "{all:#?}");
}

#[test]
fn accuracy_below_the_target_and_a_foreign_hash_are_found() {
    let wants = [
        "N2 (section 6.2, 4.1.1): offline/accuracy/accuracy.txt: acc is 60, less than 75.6954",
        "server/accuracy/accuracy.txt: its hash= is not the hash of the accuracy log that the run wrote",
    ];
    assert_told(&wants, |folder| {
        change_result(&folder.join("offline/accuracy"), |result| {
            result.accuracy.as_mut().unwrap().correct = 30_000;
        });
        fs::write(folder.join("a.txt"), "accuracy=77.000%, good=1, total=2\nhash=abc\n").unwrap();
        change_settings(
            folder,
            "scenario = \"server\"",
            "scenario = \"server\"\naccuracy_txt = \"a.txt\"",
        );
    });
}

#[test]
fn a_missing_accuracy_txt_is_named_once() {
    let all = problems_of(|folder| {
        change_result(&folder.join("offline/accuracy"), |result| {
            result.accuracy = None;
            result.official_accuracy = Some("accuracy.py LOG".into());
        });
    });
    assert_eq!(
        all,
        [
            "[[result]] resnet50 Offline: its accuracy run has no accuracy.txt; make it with `loadgen-node accuracy`, using: \
             accuracy.py LOG"
        ]
    );
}

#[test]
fn compliance_runs_are_verified_against_the_runs_that_are_submitted() {
    let all = problems_of(|folder| {
        let differ =
            |text: String| text.replace("\"data\" : \"03000000\"", "\"data\" : \"04000000\"");
        let test01 = folder.join("offline/compliance/TEST01");
        replace_log(&test01, tree::ACCURACY_LOG, differ);
        let faster =
            |text: String| text.replace("Samples per second: 19400", "Samples per second: 29400");
        let test04 = folder.join("offline/compliance/TEST04");
        replace_log(&test04, tree::SUMMARY, faster);
    });
    // N21 and N30 report the same edits.
    let rules: Vec<_> = all.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(rules, ["N21", "N30", "N34", "N34"], "{all:#?}");
    let test01 = "offline/compliance/TEST01: verify_accuracy.txt does not say TEST PASS: ";
    assert!(all[2].contains(test01), "{}", all[2]);
    assert!(all[2].contains("responses differ from those of the accuracy run"), "{}", all[2]);
    assert!(all[2].contains("scores the same samples of both runs"), "{}", all[2]);
    let test04 = "offline/compliance/TEST04: verify_performance.txt does not say TEST PASS: the test score differs from the reference score by +";
    assert!(all[3].contains(test04), "{}", all[3]);
}

#[test]
fn files_that_are_named_have_to_be_there() {
    let wants = [
        "fabric.json: [architecture] measurement: No such file",
        "calibration.md: calibration: the file is empty",
        "HOWTO.md: readme: No such file",
    ];
    assert_told(&wants, |folder| {
        fs::remove_file(folder.join("fabric.json")).unwrap();
        fs::write(folder.join("calibration.md"), " \n").unwrap();
        change_settings(folder, "How we ran it.", "HOWTO.md");
    });
}

#[test]
fn nodes_may_be_named_in_any_order() {
    let all = problems_of(|folder| {
        change_result(&folder.join("server/accuracy"), |result| result.nodes.reverse());
    });
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn what_cannot_be_told_is_listed_and_refused_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fixture::submission_folder(dir, "network", "v5.0");
    change_result(&dir.join("server/performance"), |result| {
        let nodes = &mut result.evidence.as_mut().unwrap().nodes;
        nodes.values_mut().for_each(|machine| machine.virtual_machine = None);
    });
    let settings = SubmissionSettings::read(&dir.join("submission.toml")).unwrap();
    let table = Table::builtin().unwrap();
    let make = |strictness| make(&settings, dir, table, &SOURCES, strictness, &dir.join("tree"));
    let want =
        "N4 (section 6.2.2): server/performance: node-a, node-b: it may be a virtual machine";
    let Err(MakeError::Refused(refused)) = make(Strictness::Strict) else { panic!() };
    assert!(refused.len() == 1 && refused[0].text.starts_with(want), "{refused:#?}");
    let made = make(Strictness::Usual).unwrap();
    assert!(made.open == [refused[0].text.as_str()] && dir.join("tree").exists(), "{made:#?}");
}
