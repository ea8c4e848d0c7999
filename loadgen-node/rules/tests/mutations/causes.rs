//! Edits whose findings have one cause, which is reported once.

use netdiv_rules::{GroupedFinding, Outcome, Rule::*, testing::lines};

use super::{FILES, coded_edits, edits, report, tree::EditableTree};

/// Returns the report's lines about findings of this outcome in an edited tree, without N37 and
/// N38, which are about other submissions and other rules.
fn told(tree: &EditableTree, outcome: Outcome) -> Vec<String> {
    let report = report(tree);
    let of_outcome = |f: &&GroupedFinding| f.outcome == outcome && ![N37, N38].contains(&f.rule);
    lines(report.findings().filter(of_outcome), "")
}

#[test]
fn one_cause_is_said_once() {
    // Two lines are permitted for two places to fix, such as both scenarios.
    let mut wrong = Vec::new();
    let mut look = |name: &str, tree: &EditableTree| {
        let (broken, unknown) = (told(tree, Outcome::Fail), told(tree, Outcome::CannotTell));
        if broken.is_empty() || broken.len() > 2 || unknown.len() > 6 {
            wrong.push(format!("{name}:\n{}\n?\n{}", broken.join("\n"), unknown.join("\n")));
        }
    };
    for edit in FILES.iter().flat_map(|(_, text)| edits(text)).filter(|edit| edit.one_cause) {
        look(&edit.name, &edit.made());
    }
    for (name, valid, _, edit) in coded_edits::ONE_CAUSE {
        let tree = valid.tree();
        edit(&tree);
        look(name, &tree);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_cannot_be_judged_is_said_with_its_cause() {
    let tree = EditableTree::new();
    let record =
        "network/acme/measurements/two-H100-nodes/resnet50/Offline/performance.result.json";
    tree.remove(record);
    let unknown = told(&tree, Outcome::CannotTell);
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    let want = format!(
        "N24, N25, N26, N27, N28, N29, N30: {record}: cannot be judged, because this is missing"
    );
    assert!(unknown[0].ends_with(&want), "{unknown:?}");
}
