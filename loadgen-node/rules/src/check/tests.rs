//! Tests over run folders.

use netdiv_node_common::words::Mode;
use std::{fs, path::Path};

use crate::{
    Outcome,
    Rule::{self, *},
    Scenario,
    book::Table,
    check::{CheckError, Options, Report, check},
    fixture::{self, RunSpec},
    record::Division,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY},
};

fn report(dir: &Path) -> Report {
    check(dir, Table::builtin().unwrap(), &Options::default()).unwrap()
}

fn run(spec: &RunSpec) -> (tempfile::TempDir, Report) {
    let folder = tempfile::tempdir().unwrap();
    fixture::run(folder.path(), spec);
    let report = report(folder.path());
    (folder, report)
}

fn spec(mode: Mode) -> RunSpec {
    RunSpec::new("resnet50", Scenario::Server, mode)
}

#[test]
fn a_valid_run_breaks_nothing() {
    for mode in [Mode::Performance, Mode::Accuracy] {
        let (_folder, report) = run(&spec(mode));
        assert!(!report.failed(), "{mode}: {}", report.text());
        for rule in [N3, N4, N5, N9, N13, N14, N15, N18, N20, N22, N25, N26, N29, N31, N33, N38] {
            let outcome = report.outcome(rule);
            let told = [Outcome::Pass, Outcome::CannotTell];
            assert!(told.contains(&outcome), "{mode}: {rule}");
        }
        // Rules that need several runs, or documents, report that.
        assert_eq!(report.outcome(Rule::N23), Outcome::CannotTell);
    }
}

#[test]
fn digests_prove_what_counts_cannot() {
    let (_folder, report) = run(&RunSpec { digests: true, ..spec(Mode::Performance) });
    for rule in [N7, N8, N10] {
        assert_eq!(report.outcome(rule), Outcome::Pass, "{rule}");
    }
    assert!(report.text().contains("digests cover one mode only"), "{}", report.text());
}

#[test]
fn a_run_is_not_compared_with_a_submission() {
    let folder = tempfile::tempdir().unwrap();
    let tree = fixture::submission_tree(folder.path(), "network", "v5.0");
    let run = folder.path().join("offline/performance");
    for (one, other) in [(&run, &tree), (&tree, &run)] {
        let report = check(
            one,
            Table::builtin().unwrap(),
            &Options { against: Some(other), ..Options::default() },
        )
        .unwrap();
        let text = report.findings().find(|finding| finding.rule == Rule::N37).unwrap();
        assert!(text.text.contains("compare a submission with a submission"), "{text}");
        assert_eq!(report.outcome(Rule::N37), Outcome::CannotTell);
    }
}

#[test]
fn an_exploratory_run_is_no_result() {
    let (_folder, report) =
        run(&RunSpec { division: Division::Exploratory, ..spec(Mode::Performance) });
    assert_eq!(report.outcome(Rule::N38), Outcome::Fail);
}

#[test]
fn an_open_run_may_break_what_the_open_division_does_not_ask_for() {
    let (folder, report) = run(&RunSpec { division: Division::Open, ..spec(Mode::Performance) });
    assert!(!report.failed(), "{}", report.text());
    let path = folder.path().join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"memory_ecc\": true", "\"memory_ecc\": false")).unwrap();
    let report = self::report(folder.path());
    assert!(!report.failed() && report.waived().any(|finding| finding.rule == Rule::N29));
    assert!(report.text().contains("Not required in the Open division"), "{}", report.text());
}

#[test]
fn folders_that_are_none_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let refused =
        |path: &Path| check(path, Table::builtin().unwrap(), &Options::default()).unwrap_err();
    assert!(matches!(refused(&folder.path().join("x")), CheckError::NoFolder(_)));
    assert!(matches!(refused(folder.path()), CheckError::Unknown(_)));
    fs::create_dir(folder.path().join("results")).unwrap();
    assert!(matches!(refused(folder.path()), CheckError::Unknown(_)));
    fs::create_dir(folder.path().join("network")).unwrap();
    assert!(matches!(refused(folder.path()), CheckError::Empty(_)));
    fs::create_dir_all(folder.path().join("network/acme")).unwrap();
    assert!(report(folder.path()).failed());
}

#[test]
fn files_that_cannot_be_read_are_findings() {
    for file in ["result.json", DETAIL, SUMMARY] {
        for content in [None, Some("{ broken"), Some("")] {
            let (folder, _) = run(&spec(Mode::Performance));
            let path = folder.path().join(file);
            match content {
                None => fs::remove_file(&path).unwrap(),
                Some(text) => fs::write(&path, text).unwrap(),
            }
            let report = report(folder.path());
            let is_left_out = file == "result.json" && content.is_none();
            assert!(report.findings().count() > 0);
            assert_eq!(
                report.outcome(N35) == Outcome::Fail,
                !is_left_out,
                "{file} {content:?}: {}",
                report.text()
            );
        }
    }
    let (folder, _) = run(&spec(Mode::Performance));
    for file in ["result.json", SUMMARY, ACCURACY_LOG] {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    fs::write(folder.path().join(DETAIL), [0xff, 0xfe, b'\n', 0]).unwrap();
    assert!(report(folder.path()).failed());
}
