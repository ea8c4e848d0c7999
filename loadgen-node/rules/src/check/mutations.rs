//! A valid submission, edited in one place at a time: each row names the rules that must then be broken, and no others may.
//!
//! `tree.rs` is the submission and the ways to edit it; each other file has the rows of one kind, and its line in the list of
//! kinds below. `allowed.rs` has edits that break nothing.

mod agree;
mod allowed;
mod answers;
mod causes;
mod counts;
mod documents;
mod engines;
mod figures;
mod files;
mod language;
mod links;
mod logs;
mod machines;
mod names;
mod papers;
mod records;
mod rounds;
mod stated;
mod times;
mod tree;
mod wire;

use std::collections::BTreeSet;

use super::{Options, Report, check};
use crate::{
    Outcome, Rule, book::Table, fixture::loadgen_files::of_release, grouped::lines, tree::DETAIL,
};
use tree::Tree;

/// What is edited, the rules that it breaks beside N38, and the edit.
type Row = (&'static str, &'static [Rule], fn(&Tree));

/// Edits of one kind.
struct Kind {
    /// The file that they are in.
    name: &'static str,
    /// What they change.
    changes: &'static str,
    rows: &'static [Row],
}

/// A test for each kind, and the list of all. A line is the file's name, what its edits change, and what they are made to.
macro_rules! kinds {
    ($($name:ident: $changes:literal, $valid:path;)*) => {
        const KINDS: &[Kind] =
            &[$(Kind { name: stringify!($name), changes: $changes, rows: $name::ROWS }),*];

        mod edited {
            use super::*;

            $(#[test]
            fn $name() {
                each_breaks_its_rules(super::$name::ROWS, $valid);
            })*
        }
    };
}

kinds! {
    logs: "LoadGen's logs: results, errors, names, versions, settings in effect", Tree::new;
    times: "how long a test took, by each place that says it", Tree::new;
    records: "`result.json`: counts, machines, settings, digests", Tree::new;
    figures: "`result.json`: verdict, figures and settings, which the log has too", Tree::new;
    files: "files that are missing, too many or changed, and the system description", Tree::new;
    documents: "diagram, architecture and bandwidth, by what they say where it is seen", Tree::new;
    links: "where the documents' links lead", Tree::new;
    wire: "the description of the wire, and the sources that it is taken from", Tree::new;
    machines: "machines that may be one, and nodes that differ in what they run", Tree::new;
    agree: "two places of a submission that state one fact", Tree::new;
    answers: "answers in accuracy logs, and the verdicts on them", Tree::new;
    engines: "engines without a model, and those that reuse what they computed", Tree::new;
    names: "names of systems, folders and nodes", Tree::new;
    causes: "files that are missing, changed, or of another run", Tree::new;
    language: "a language model: tokens, compression, TEST06", Tree::of_llama;
    rounds: "an interactive variant in round v5.1: its folder, its bounds, the tokens of the report on the bandwidth", Tree::of_chat;
}

fn report(tree: &Tree) -> Report {
    let checked = || check(tree.root(), Table::builtin().unwrap(), &Options::default()).unwrap();
    let report = checked();
    if papers::write_again(tree, &report) { checked() } else { report }
}

fn broken(report: &Report) -> BTreeSet<String> {
    let broken = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::Fail);
    broken.map(|rule| rule.to_string()).collect()
}

/// Lines about one edit; more would be the same over and over.
const MOST_LINES: usize = 9;

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
        let told = lines(report.findings().filter(|f| f.outcome == Outcome::Fail), "");
        if broken != want || told.len() > MOST_LINES {
            let findings = report.findings().filter(|f| f.outcome == Outcome::Fail);
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
            let count = report.findings().filter(|finding| finding.rule == rule).count();
            assert!(count > 0, "{rule}");
        }
        // LoadGen of round v6.0 has no tag, and N37 needs a second submission.
        let unknown = Rule::all().filter(|rule| report.outcome(*rule) == Outcome::CannotTell);
        let unknown: Vec<_> = unknown.map(|rule| rule.to_string()).collect();
        let want: &[&str] = if round == "v6.0" { &["N3", "N37", "N38"] } else { &["N37"] };
        assert_eq!(unknown, want, "{division} {round}: {}", report.text());
        assert_eq!(report.waived().count(), 0);
    }
}

#[test]
fn a_submitters_folder_is_checked_as_the_tree_is() {
    let tree = Tree::new();
    let report =
        check(&tree.path("network/acme"), Table::builtin().unwrap(), &Options::default()).unwrap();
    assert!(!report.failed(), "{}", report.text());
}

#[test]
fn machines_that_nothing_tells_apart_leave_n4_open() {
    for (name, edit) in machines::INDISTINCT {
        let tree = Tree::new();
        tree.every_record(|record| {
            let evidence = record.evidence.as_mut().unwrap();
            edit(&mut evidence.loadgen_node, evidence.nodes.get_mut("node-b").unwrap());
        });
        let report = report(&tree);
        // The system's description is still that of the other machines.
        let of_description = BTreeSet::from(["N36", "N38"].map(String::from));
        assert!(broken(&report).is_subset(&of_description), "{name}: {}", report.text());
        assert_eq!(report.outcome(Rule::N4), Outcome::CannotTell, "{name}: {}", report.text());
    }
}

#[test]
fn a_valid_submission_of_a_language_model_breaks_nothing() {
    for tree in [Tree::of_llama(), Tree::of_chat()] {
        let report = report(&tree);
        assert!(!report.failed(), "{}", report.text());
        assert_eq!(report.outcome(Rule::N3), Outcome::Pass, "{}", report.text());
        assert_eq!(report.outcome(Rule::N32), Outcome::Pass, "{}", report.text());
    }
}

#[test]
fn a_package_of_loadgen_that_is_not_quite_the_tag_leaves_n3_open() {
    let tree = Tree::of_llama();
    for run in ["performance", "accuracy"] {
        for scenario in ["Offline", "Server"] {
            let run = format!("{scenario}/{run}");
            tree.entry(&run, "loadgen_version", "\"5.0.13 @ be4314b08f\"", "");
            tree.log(&run, DETAIL, |text| of_release(&text, "5.0.13"));
        }
    }
    tree.every_record(|record| {
        record.versions.loadgen = "5.0.13 @ be4314b08f".into();
        record.versions.loadgen_origin =
            "mlcommons-loadgen 5.0.13 (equals tag v5.0.1 but for mlperf.conf)".into();
    });
    let report = report(&tree);
    assert!(!report.failed(), "{}", report.text());
    assert_eq!(report.outcome(Rule::N3), Outcome::CannotTell, "{}", report.text());
    let text = "whose code is that of tag v5.0.1, but mlperf.conf and the header made of it have two lines for pointpainting";
    assert!(report.text().contains(text), "{}", report.text());
}

#[test]
fn there_is_a_row_for_every_rule_that_an_edit_can_break() {
    let rows = KINDS.iter().flat_map(|kind| kind.rows);
    let named: BTreeSet<Rule> = rows.flat_map(|(_, rules, _)| rules.iter().copied()).collect();
    // N11 and N19 stand on N16; N37 needs a second submission; N38 is in every row.
    let missing: Vec<_> = Rule::all().filter(|rule| !named.contains(rule)).collect();
    assert_eq!(missing, [Rule::N11, Rule::N19, Rule::N37, Rule::N38]);
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
            assert!(report.findings().any(|finding| finding.rule == rule), "{path}: {rule}");
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
    // What was written for the runs as they were does not list it.
    let why = "open/acme/documentation/why-open.md";
    assert_eq!(broken(&report(&tree)), BTreeSet::from(["N38".to_owned()]));
    tree.write(why, "The LoadGen node has no ECC.");
    let told = report(&tree);
    assert!(!told.failed(), "{}", told.text());
    let waived: Vec<_> = told.waived().collect();
    assert_eq!(waived.len(), 1);
    // No place is lost, and people see the first.
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
    let (one, other) = (Tree::new(), Tree::new());
    let against = |tree: &Tree| {
        let options = Options { against: Some(one.root()), ..Options::default() };
        check(tree.root(), Table::builtin().unwrap(), &options).unwrap()
    };
    assert_eq!(against(&other).outcome(Rule::N37), Outcome::Pass);
    other.every_record(|record| {
        for node in record.evidence.as_mut().unwrap().nodes.values_mut() {
            node.interfaces[0].model = Some("E810-C".into());
        }
    });
    other.field("nic_sut", serde_json::json!("E810-C"));
    other.field("host_network_card_count", serde_json::json!("1 x BCM5720, 1 x E810-C"));
    // With the documents that belong to them.
    report(&other);
    assert_eq!(broken(&against(&other)), BTreeSet::from(["N37", "N38"].map(String::from)));
}
