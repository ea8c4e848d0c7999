//! Tests of documents by other programs, or with more paragraphs of the submitter.

use netdiv_rules::{Outcome, Rule};

use super::tree::{EditableTree, SETTINGS};

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

/// Leaves documents to reviewers that cannot be drafted again.
#[test]
fn documents_by_another_hand_are_for_people_to_judge() {
    for (is_there, why) in [(false, "is missing"), (true, "does not have this program's")] {
        let tree = EditableTree::new();
        match is_there {
            false => tree.remove(SETTINGS),
            true => tree.replace(SETTINGS, "format 1.", "format 2."),
        }
        tree.write(BANDWIDTH, "The interfaces carry it.\n");
        let report = super::report(&tree);
        assert!(!report.failed(), "{}", report.text());
        for rule in [Rule::N22, Rule::N23, Rule::N27, Rule::N28, Rule::N36, Rule::N38] {
            assert_eq!(report.outcome(rule), Outcome::CannotTell, "{rule}: {}", report.text());
        }
        let told = report.findings().find(|finding| finding.places == [SETTINGS]).unwrap();
        assert!(told.text.starts_with(why), "{}", told.text);
        assert!(told.text.ends_with("check by hand that the documents agree with the runs"));
    }
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
