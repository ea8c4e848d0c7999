//! Tests of documents by other programs, with other texts of the submitter, or with other links.

use netdiv_rules::{Outcome, Rule};

use super::tree::EditableTree;

const DIAGRAM: &str = "network/acme/documentation/system-diagram.md";
const ARCHITECTURE: &str = "network/acme/documentation/system-architecture.md";
const BANDWIDTH: &str = "network/acme/documentation/bandwidth.md";

/// Requires the list of rules in the Open division to be the list of a check.
#[test]
fn why_it_is_open() {
    let path = "open/acme/documentation/why-open.md";
    let fails = |edit: fn(&EditableTree, &str)| {
        let tree = EditableTree::of("open", "v5.0");
        edit(&tree, path);
        super::broken(&super::report(&tree)).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(fails(|_, _| {}), [""; 0]);
    assert_eq!(
        fails(|tree, path| tree.write(path, "# Why this is in the Open division\n")),
        ["N38"]
    );
    assert_eq!(
        fails(|tree, path| tree.write(path, &(tree.read(path) + "\n- N5 (section 6.2.2): a bus\n"))),
        ["N38"]
    );
    fn without_ecc(tree: &EditableTree) {
        tree.every_record(|record| {
            record.evidence.as_mut().unwrap().loadgen_node.memory_ecc = Some(false)
        });
    }
    assert_eq!(fails(|tree, _| without_ecc(tree)), ["N38"]);
    assert_eq!(
        fails(|tree, path| {
            without_ecc(tree);
            tree.write(path, &(tree.read(path) + "\n- N29 (section 4.1.1): no ECC\n"));
        }),
        [""; 0]
    );
}

/// Leaves documents by other programs to reviewers; the finding lists the missing names.
#[test]
fn documents_by_another_hand_are_for_people_to_judge() {
    let names = "node-a node-b loadgen ens1f0np0 leaf-1 100 Gb/s";
    for (path, rule) in [(DIAGRAM, Rule::N23), (ARCHITECTURE, Rule::N28), (BANDWIDTH, Rule::N27)] {
        for (text, missing) in [
            (format!("<svg><text>{names} resnet50</text></svg>"), ""),
            ("<svg><text>100 Gb/s</text></svg>".into(), "; missing from its text: "),
        ] {
            let tree = EditableTree::new();
            // The diagram describes the switch, and the architecture links to the measurement.
            let more = match path {
                DIAGRAM => "leaf-1, SN3700, 32 ports, 200 Gb/s",
                ARCHITECTURE => "[measured](evidence/fabric.json)",
                _ => "",
            };
            tree.write(path, &format!("{text}\n{more}\n"));
            let report = super::report(&tree);
            assert!(!report.failed(), "{path}: {}", report.text());
            assert_eq!(report.outcome(rule), Outcome::CannotTell, "{path}: {}", report.text());
            assert_eq!(report.outcome(Rule::N38), Outcome::CannotTell, "{path}");
            let told = report.findings().find(|finding| finding.places == [path]).unwrap();
            let words = "was not made by loadgen-node submission: check by hand that it agrees with the runs";
            assert!(told.text.starts_with(&format!("{words}{missing}")), "{path}: {}", told.text);
        }
    }
}

/// Accepts any text of the submitter.
#[test]
fn the_submitters_own_words_are_free() {
    let tree = EditableTree::new();
    for (path, words) in [
        (DIAGRAM, "The LoadGen node and both nodes hang on one switch."),
        (ARCHITECTURE, "NIC and accelerators hang on the same PCIe 5.0 root complex"),
    ] {
        tree.replace(path, words, "We built it\n\non one switch");
    }
    let report = super::report(&tree);
    assert!(!report.failed(), "{}", report.text());
    assert_eq!(report.outcome(Rule::N23), Outcome::Pass, "{}", report.text());
}

/// Accepts paragraphs of the submitter between the parts of the diagram's text, and below them.
#[test]
fn the_diagrams_text_may_have_more_paragraphs() {
    for (words, outcome) in [
        ("Both racks stand in one hall;\nthe cables are < 3 m long.", Outcome::Pass),
        ("- one rack\n- one switch", Outcome::Pass),
        ("| machine | product |\n| --- | --- |\n| node-c | Acme |", Outcome::Fail),
        ("machine | product\n--- | ---\nnode-c | Acme", Outcome::Fail),
        ("## Links", Outcome::Fail),
        ("<!-- no links", Outcome::Fail),
        ("```", Outcome::Fail),
    ] {
        for place in ["\n## Links", ""] {
            let tree = EditableTree::new();
            match place {
                "" => tree.write(DIAGRAM, &format!("{}\n{words}\n", tree.read(DIAGRAM))),
                place => tree.replace(DIAGRAM, place, &format!("\n{words}\n{place}")),
            }
            let report = super::report(&tree);
            assert_eq!(report.outcome(Rule::N23), outcome, "{words}: {}", report.text());
        }
    }
}

/// Accepts other line endings, as after a checkout, and a missing last one.
#[test]
fn ends_of_lines_may_be_of_any_kind() {
    for path in [DIAGRAM, ARCHITECTURE, BANDWIDTH] {
        let tree = EditableTree::new();
        tree.write(path, tree.read(path).replace('\n', "\r\n").trim_end());
        let report = super::report(&tree);
        for rule in [Rule::N23, Rule::N27, Rule::N28] {
            assert_eq!(report.outcome(rule), Outcome::Pass, "{path}: {}", report.text());
        }
    }
}

/// Leaves documents of another form to reviewers; the mark counts only at its place.
#[test]
fn the_mark_tells_the_form_where_it_stands() {
    let mark = "<!-- Generated by loadgen-node from the runs, format ";
    let quoted = format!("{mark}9. If you edit this file, remove this line. -->\n\n## Links");
    for (path, from, to, outcome) in [
        (DIAGRAM, format!("{mark}2."), format!("{mark}3."), Outcome::CannotTell),
        (DIAGRAM, "## Links".into(), quoted, Outcome::Fail),
    ] {
        let tree = EditableTree::new();
        tree.replace(path, &from, &to);
        let report = super::report(&tree);
        assert_eq!(report.outcome(Rule::N23), outcome, "{to}: {}", report.text());
    }
}

/// Ignores tables of the submitter that are not of switches, and does not fill gaps from them.
#[test]
fn the_submitters_tables_and_signs_are_words() {
    let tree = EditableTree::new();
    let words = "The LoadGen node and both nodes hang on one switch.";
    let table = "| switch | model | ports | speed |\n|---|---|---|---|\n| leaf-1 | a | 2 | 1 Gb/s |\n\n\u{fffc}";
    tree.replace(DIAGRAM, words, table);
    let report = super::report(&tree);
    assert_eq!(report.outcome(Rule::N23), Outcome::Pass, "{}", report.text());
}
