//! Tests of a valid submission, edited in one place at a time. Each edit names the findings that it
//! must cause, and breaks no other rule.
//!
//! Edits are data: `n07.toml` contains the edits that break N7 first, and `change.rs` reads and
//! makes them. `coded_edits.rs` contains edits as code, `tree.rs` the submission and its changes.
//! `harmless/edits.toml` and `harmless_edits.rs` contain edits that break nothing, and
//! `every_key.rs` edits every key of the files that describe machines and runs separately.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what tests stand on is a test, too"
)]

#[path = "../fixture/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod fixture;
#[path = "../stated/mod.rs"]
mod stated;

mod causes;
mod change;
mod coded_edits;
mod counts;
mod documents;
mod every_key;
mod harmless_edits;
mod tree;

use std::{collections::BTreeSet, env, fs};

use fixture::loadgen_files::of_release;
use netdiv_rules::{
    Outcome, Rule,
    book::Table,
    check::{Options, Report, check},
    testing::{lines, sources_sha256},
    tree::DETAIL,
};

use change::{Edit, Edits};
use coded_edits::CodedEdit;
use tree::{EditableTree, SOURCES};

/// Declares a test for each file of edits, and the list of all files.
macro_rules! rules {
    ($($name:ident)*) => {
        const FILES: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!(stringify!($name), ".toml")))),*];

        mod edited {
            $(#[test]
            fn $name() {
                super::each_finds_what_it_names(stringify!($name));
            })*

            #[test]
            fn by_hand() {
                super::each_breaks_its_rules(super::coded_edits::ROWS);
                super::each_breaks_its_rules(super::coded_edits::ONE_CAUSE);
            }
        }
    };
}

rules! {
    n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n12 n13
    n14 n15 n16 n17 n18 n20 n21 n22 n23 n24 n25 n26
    n27 n28 n29 n30 n31 n32 n33 n34 n35 n36 n38
}

/// Parses the edits of a rule's file.
fn edits(text: &str) -> Vec<Edit> {
    toml::from_str::<Edits>(text).unwrap_or_else(|error| panic!("{error}")).edit
}

fn report(tree: &EditableTree) -> Report {
    tree.draft_again();
    check(tree.root(), Table::builtin().unwrap(), &Options::default()).unwrap()
}

fn broken(report: &Report) -> BTreeSet<String> {
    let broken = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::Fail);
    broken.map(|rule| rule.to_string()).collect()
}

/// Maximum number of lines about an edit; more lines would be repetitive.
const MAX_LINES: usize = 9;

fn is_repetitive(report: &Report) -> bool {
    lines(report.findings().filter(|f| f.outcome == Outcome::Fail), "").len() > MAX_LINES
}

/// Returns the findings that break a rule other than N38, each as its rule and its text.
fn failures(report: &Report) -> BTreeSet<String> {
    let failures = report.findings().filter(|f| f.outcome == Outcome::Fail && f.rule != Rule::N38);
    failures.map(|finding| format!("{} {}", finding.rule, finding.text)).collect()
}

/// Replaces the digests of the fixture's sources and of the tree's sources by names.
fn without_digests(finding: &str, tree: &EditableTree) -> String {
    let (made_of, here) = (sources_sha256(&fixture::SOURCES), tree.digest_of_sources(SOURCES));
    finding.replace(&made_of, "{digest}").replace(&here, "{digest here}")
}

/// Makes every edit in the file of `rule`, and compares the findings with those that the file
/// names. If the environment variable `NETDIV_WRITE_MUTATIONS` is set, writes the findings to the
/// file instead.
fn each_finds_what_it_names(rule: &str) {
    let (_, text) = FILES.iter().find(|(name, _)| *name == rule).unwrap();
    let (mut wrong, mut found) = (Vec::new(), Vec::new());
    for edit in edits(text) {
        let tree = edit.made();
        let report = report(&tree);
        let failures: BTreeSet<_> =
            failures(&report).iter().map(|text| without_digests(text, &tree)).collect();
        let named: BTreeSet<_> = edit.finds.into_iter().collect();
        if failures != named || report.outcome(Rule::N38) != Outcome::Fail || is_repetitive(&report)
        {
            wrong.push(format!("{}: wanted {named:#?}, found {failures:#?}", edit.name));
        }
        found.push(failures);
    }
    if env::var_os("NETDIV_WRITE_MUTATIONS").is_some() {
        let path = format!("{}/tests/mutations/{rule}.toml", env!("CARGO_MANIFEST_DIR"));
        fs::write(path, with_findings(text, &found)).unwrap();
    } else {
        assert!(wrong.is_empty(), "{} edits:\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// Replaces the findings in the text of a rule's file. `found` contains the new findings of each
/// edit.
fn with_findings(text: &str, found: &[BTreeSet<String>]) -> String {
    let (mut new, mut found, mut is_old) = (String::new(), found.iter(), false);
    for line in text.lines() {
        is_old &= line != "]";
        if !is_old {
            new += &format!("{line}\n");
        }
        if line == "finds = [" {
            is_old = true;
            for finding in found.next().unwrap() {
                new += &format!("    {},\n", toml::Value::from(finding.as_str()));
            }
        }
    }
    new
}

/// Makes edits that are code, and compares the rules that each breaks with the rules in its row.
fn each_breaks_its_rules(rows: &[CodedEdit]) {
    let mut wrong = Vec::new();
    for (name, valid, rules, edit) in rows {
        let tree = valid.tree();
        edit(&tree);
        let report = report(&tree);
        let mut want: BTreeSet<_> = rules.iter().map(Rule::to_string).collect();
        want.insert("N38".into());
        let broken = broken(&report);
        if broken != want || is_repetitive(&report) {
            wrong.push(format!(
                "{name}: wanted {want:?}, found {broken:?}\n{:#?}",
                failures(&report)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_valid_submission_breaks_nothing() {
    for (division, round) in
        [("network", "v5.0"), ("network", "v6.0"), ("network", "v6.1"), ("open", "v5.0")]
    {
        let tree = EditableTree::of(division, round);
        let report = report(&tree);
        assert!(!report.failed(), "{division} {round}: {}", report.text());
        for rule in Rule::all() {
            let count = report.findings().filter(|finding| finding.rule == rule).count();
            assert!(count > 0, "{rule}");
        }
        // N37 needs a second submission.
        let unknown = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::CannotTell);
        let unknown: Vec<_> = unknown.map(|rule| rule.to_string()).collect();
        assert_eq!(unknown, ["N37"], "{division} {round}: {}", report.text());
        assert_eq!(report.waived().count(), 0);
    }
}

#[test]
fn a_submitters_folder_is_checked_as_the_tree_is() {
    let tree = EditableTree::new();
    let report =
        check(&tree.path("network/acme"), Table::builtin().unwrap(), &Options::default()).unwrap();
    assert!(!report.failed(), "{}", report.text());
}

#[test]
fn a_valid_submission_of_a_language_model_breaks_nothing() {
    for tree in [EditableTree::of_llama(), EditableTree::of_chat()] {
        let report = report(&tree);
        assert!(!report.failed(), "{}", report.text());
        assert_eq!(report.outcome(Rule::N3), Outcome::Pass, "{}", report.text());
        assert_eq!(report.outcome(Rule::N32), Outcome::Pass, "{}", report.text());
    }
}

/// Replaces LoadGen's version and source files in every log and record of the tree by those of
/// another release.
fn with_loadgen(tree: &EditableTree, version: &str, edit: impl Fn(String) -> String) {
    for run in ["performance", "accuracy"] {
        for scenario in ["Offline", "Server"] {
            let run = format!("{scenario}/{run}");
            tree.entry(&run, "loadgen_version", &format!("\"{version}\""), "");
            tree.log(&run, DETAIL, &edit);
        }
    }
    let number = version.split(' ').next().unwrap();
    tree.every_record(|record| {
        record.versions.loadgen = version.into();
        record.versions.loadgen_origin = format!("mlcommons-loadgen {number} (equals a commit)");
    });
}

#[test]
fn a_loadgen_between_two_tags_is_accepted_with_both_texts() {
    let tree = EditableTree::of_llama();
    with_loadgen(&tree, "5.0.13 @ be4314b08f", |text| of_release(&text, "5.0.13"));
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    assert_eq!(report.outcome(Rule::N3), Outcome::Pass, "{}", report.text());
    for text in [
        "commit be4314b08f of 2025-01-28",
        "\"a tagged approved revision\"",
        "\"any commit since\"",
    ] {
        let mut of_rule = report.findings().filter(|finding| finding.rule == Rule::N3);
        assert!(of_rule.any(|finding| finding.text.contains(text)), "{text}");
    }
}

#[test]
fn a_loadgen_of_unlisted_files_leaves_n3_open_with_the_row_to_add() {
    let tree = EditableTree::of_llama();
    let (results, zeros) = ("239835696a1abe2cac9e866122d1dddc367e3548", "0".repeat(40));
    with_loadgen(&tree, "5.0.12 @ 0123456789", |text| text.replace(results, &zeros));
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    assert_eq!(report.outcome(Rule::N3), Outcome::CannotTell, "{}", report.text());
    let row = "loadgen = [{ versions = [\"5.0.12\"], commit = \"COMMIT\", date = \"DATE\", schedule_seed = \"9933818062894767841\"";
    assert!(report.text().contains(row), "{}", report.text());
}

#[test]
fn a_loadgen_of_another_round_breaks_n3() {
    let tree = EditableTree::of_llama();
    with_loadgen(&tree, "5.0.22 @ 75f297d44c", |text| of_release(&text, "5.0.22"));
    let report = report(&tree);
    assert_eq!(report.outcome(Rule::N3), Outcome::Fail, "{}", report.text());
    let text = "with the seeds of round v5.1, not of round v5.0: build one for round v5.0 with `make LOADGEN=5.0.13`";
    assert!(report.text().contains(text), "{}", report.text());
}

#[test]
fn there_is_a_row_for_every_rule_that_an_edit_can_break() {
    let finds = FILES.iter().flat_map(|(_, text)| edits(text)).flat_map(|edit| edit.finds);
    let named: BTreeSet<_> =
        finds.map(|find| find.split(' ').next().unwrap_or_default().to_owned()).collect();
    // N11 and N19 depend on N16; N37 needs a second submission; N38 is in every row.
    let missing: Vec<_> = Rule::all().filter(|rule| !named.contains(&rule.to_string())).collect();
    assert_eq!(missing, [Rule::N11, Rule::N19, Rule::N37, Rule::N38]);
}

#[test]
fn whatever_cannot_be_read_is_a_finding() {
    let valid = EditableTree::new();
    for path in netdiv_rules::tree::list_files(valid.root()).unwrap() {
        let tree = EditableTree::new();
        let path = path.to_str().unwrap();
        std::fs::write(tree.path(path), [b'{', 0xff, b'\n', 0, b':']).unwrap();
        let report = report(&tree);
        for rule in Rule::all() {
            assert!(report.findings().any(|finding| finding.rule == rule), "{path}: {rule}");
        }
        let is_log = path.contains("mlperf_log") || path.contains("verify_");
        let is_record = path.ends_with(".result.json") || path.contains("systems/");
        assert!(report.failed() || !(is_log || is_record), "{path}");
    }
}

#[test]
fn without_its_sources_nothing_is_shown_by_construction() {
    let tree = EditableTree::new();
    tree.replace("network/acme/code/netdiv/qdl/src/lib.rs", "Query", "query");
    let report = report(&tree);
    for rule in [Rule::N11, Rule::N12, Rule::N19, Rule::N21] {
        assert_eq!(report.outcome(rule), Outcome::CannotTell, "{rule}");
    }
}

#[test]
fn accelerators_that_are_not_described_may_lack_ecc() {
    for count in [None, Some(3)] {
        let tree = EditableTree::new();
        tree.every_record(|record| {
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            nodes.get_mut("node-b").unwrap().accelerator_count = count;
        });
        assert_eq!(report(&tree).outcome(Rule::N29), Outcome::CannotTell, "{count:?}");
    }
}

#[test]
fn the_open_division_asks_for_less_and_for_a_reason() {
    let tree = EditableTree::of("open", "v5.0");
    tree.every_record(|record| {
        let evidence = record.evidence.as_mut().unwrap();
        evidence.loadgen_node.memory_ecc = Some(false);
    });
    // The document about the original runs does not list it.
    let why = "open/acme/documentation/why-open.md";
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
    tree.write(why, "The LoadGen node has no ECC.");
    let told = report(&tree);
    assert!(!told.failed(), "{}", told.text());
    let waived: Vec<_> = told.waived().collect();
    assert_eq!(waived.len(), 1);
    // The report has all places, and its text the first.
    assert_eq!(waived[0].places.len(), 10);
    assert!(told.text().contains("(in measurements/…/Offline/performance.result.json and 9 more)"));
    tree.every_record(|record| record.rehearsal = true);
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
    tree.write(why, "All runs were rehearsals for the Network division.");
    assert!(!report(&tree).failed());
    tree.remove(why);
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
}

#[test]
fn for_an_audit_the_networking_must_be_the_same() {
    let (one, other) = (EditableTree::new(), EditableTree::new());
    let against = |tree: &EditableTree| {
        let options = Options { against: Some(one.root()), ..Options::default() };
        check(tree.root(), Table::builtin().unwrap(), &options).unwrap()
    };
    assert_eq!(against(&other).outcome(Rule::N37), Outcome::Pass);
    other.every_record(|record| {
        for node in record.evidence.as_mut().unwrap().nodes.values_mut() {
            node.interfaces[0].model = Some("E810-C".into());
        }
    });
    other.draft_again();
    assert_eq!(broken(&against(&other)), BTreeSet::from(["N37", "N38"].map(String::from)));
}
