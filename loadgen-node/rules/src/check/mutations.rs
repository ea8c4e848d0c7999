//! A valid submission, edited in one place at a time: each row names the rules that must then be broken, and no others may.
//!
//! `tree.rs` is the submission and the ways to edit it; the rows are in `logs.rs`, `times.rs`, `records.rs`, `files.rs` and
//! `names.rs`, and for a language model in `language.rs`.

mod allowed;
mod engines;
mod files;
mod language;
mod logs;
mod names;
mod records;
mod times;
mod tree;

use std::collections::BTreeSet;

use super::{Report, check};
use crate::{Outcome, Rule, book::Table};
use tree::Tree;

/// What is edited, the rules that it breaks beside N38, and the edit.
type Row = (&'static str, &'static [Rule], fn(&Tree));

fn report(tree: &Tree) -> Report {
    check(tree.root(), Table::builtin().unwrap(), None).unwrap()
}

fn broken(report: &Report) -> BTreeSet<String> {
    let broken = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::Fail);
    broken.map(|rule| rule.to_string()).collect()
}

/// Makes every edit and compares.
fn each_breaks_its_rules(rows: &[Row], valid: fn() -> Tree) {
    let mut wrong = Vec::new();
    for (name, rules, edit) in rows {
        let tree = valid();
        edit(&tree);
        let report = report(&tree);
        let mut want: BTreeSet<_> = rules.iter().map(Rule::to_string).collect();
        want.insert("N38".into());
        let broken = broken(&report);
        if broken != want {
            let findings = report.findings.iter().filter(|f| f.outcome == Outcome::Fail);
            let findings: String = findings.map(|finding| format!("    {finding}\n")).collect();
            wrong.push(format!("{name}: wanted {want:?}, found {broken:?}\n{findings}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_valid_submission_breaks_nothing() {
    for (division, round) in [("network", "v5.0"), ("network", "v6.0"), ("open", "v5.0")] {
        let tree = Tree::of(division, round);
        let report = report(&tree);
        assert!(!report.failed(), "{division} {round}: {}", report.text());
        for rule in Rule::all() {
            let count = report.findings.iter().filter(|finding| finding.rule == rule).count();
            assert!(count > 0, "{rule}");
        }
        // LoadGen of round v6.0 has no tag yet, its scenarios are not in the table, and N37 needs a second submission.
        let unknown = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::CannotTell);
        let unknown: Vec<_> = unknown.map(|rule| rule.to_string()).collect();
        let want: &[&str] = if round == "v6.0" { &["N3", "N32", "N37", "N38"] } else { &["N37"] };
        assert_eq!(unknown, want, "{division} {round}: {}", report.text());
        assert!(report.waived.is_empty());
    }
}

#[test]
fn a_submitters_folder_is_checked_as_the_tree_is() {
    let tree = Tree::new();
    let report = check(&tree.path("network/acme"), Table::builtin().unwrap(), None).unwrap();
    assert!(!report.failed(), "{}", report.text());
}

#[test]
fn edited_logs() {
    each_breaks_its_rules(logs::ROWS, Tree::new);
}

#[test]
fn edited_times() {
    each_breaks_its_rules(times::ROWS, Tree::new);
}

#[test]
fn edited_records() {
    each_breaks_its_rules(records::ROWS, Tree::new);
}

#[test]
fn edited_engines() {
    each_breaks_its_rules(engines::ROWS, Tree::new);
}

#[test]
fn edited_files() {
    each_breaks_its_rules(files::ROWS, Tree::new);
}

#[test]
fn edited_names() {
    each_breaks_its_rules(names::ROWS, Tree::new);
}

#[test]
fn a_language_model() {
    let report = report(&Tree::of_llama());
    assert!(!report.failed(), "{}", report.text());
    each_breaks_its_rules(language::ROWS, Tree::of_llama);
}

#[test]
fn there_is_a_row_for_every_rule_that_an_edit_can_break() {
    let rows = [logs::ROWS, records::ROWS, files::ROWS, names::ROWS].concat();
    let named: BTreeSet<Rule> =
        rows.iter().flat_map(|(_, rules, _)| rules.iter().copied()).collect();
    // N11 and N19 stand on N16; N37 needs a second submission; N38 is in every row.
    let missing: Vec<_> = Rule::all().filter(|rule| !named.contains(rule)).collect();
    assert_eq!(missing, [Rule::N11, Rule::N19, Rule::N37, Rule::N38]);
    assert!(rows.len() >= 50, "{} rows", rows.len());
}

#[test]
fn whatever_cannot_be_read_is_a_finding() {
    let valid = Tree::new();
    for path in crate::tree::list_files(valid.root()).unwrap() {
        let tree = Tree::new();
        let path = path.to_str().unwrap();
        std::fs::write(tree.path(path), [b'{', 0xff, b'\n', 0, b':']).unwrap();
        let report = report(&tree);
        for rule in Rule::all() {
            assert!(report.findings.iter().any(|finding| finding.rule == rule), "{path}: {rule}");
        }
        let is_log = path.contains("mlperf_log") || path.contains("verify_");
        let is_record = path.ends_with(".result.json") || path.contains("systems/");
        assert!(report.failed() || !(is_log || is_record), "{path}");
    }
}

#[test]
fn without_its_sources_nothing_is_shown_by_construction() {
    let tree = Tree::new();
    tree.replace("network/acme/code/netdiv/qdl/src/lib.rs", "Query", "query");
    let report = report(&tree);
    for rule in [Rule::N11, Rule::N12, Rule::N19, Rule::N21] {
        assert_eq!(report.outcome(rule), Outcome::CannotTell, "{rule}");
    }
}

#[test]
fn accelerators_that_are_not_described_may_lack_ecc() {
    for count in [None, Some(3)] {
        let tree = Tree::new();
        tree.every_record(|record| {
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            nodes.get_mut("node-b").unwrap().accelerator_count = count;
        });
        assert_eq!(report(&tree).outcome(Rule::N29), Outcome::CannotTell, "{count:?}");
    }
}

#[test]
fn the_open_division_asks_for_less_and_for_a_reason() {
    let tree = Tree::of("open", "v5.0");
    tree.every_record(|record| {
        let evidence = record.evidence.as_mut().unwrap();
        evidence.loadgen_node.memory_ecc = Some(false);
    });
    let told = report(&tree);
    assert!(!told.failed(), "{}", told.text());
    assert_eq!(told.waived.len(), 1);
    // No place is lost, and people see the first.
    assert_eq!(told.waived[0].places.len(), 10);
    assert!(told.text().contains("(in measurements/…/Offline/performance.result.json and 9 more)"));
    tree.every_record(|record| record.rehearsal = true);
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
    let why = "open/acme/documentation/why-open.md";
    tree.write(why, "All runs were rehearsals for the Network division.");
    assert!(!report(&tree).failed());
    tree.remove(why);
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
}

#[test]
fn for_an_audit_the_networking_must_be_the_same() {
    let (one, other) = (Tree::new(), Tree::new());
    let against =
        |tree: &Tree| check(tree.root(), Table::builtin().unwrap(), Some(one.root())).unwrap();
    assert_eq!(against(&other).outcome(Rule::N37), Outcome::Pass);
    other.every_record(|record| {
        for node in record.evidence.as_mut().unwrap().nodes.values_mut() {
            node.interfaces[0].model = Some("E810-C".into());
        }
    });
    assert_eq!(broken(&against(&other)), BTreeSet::from(["N37", "N38"].map(String::from)));
}
