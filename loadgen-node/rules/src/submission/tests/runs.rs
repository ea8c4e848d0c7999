//! Tests of findings about the runs of a submission.

use std::fs;

use super::{change_result, change_settings, problems_of};
use crate::{
    book::Table,
    fixture::{self, SOURCES, replace_log},
    submission::{MakeError, Strictness, SubmissionSettings, make},
    tree,
};

#[test]
fn a_run_serves_one_purpose() {
    let all = problems_of(|folder| {
        change_settings(
            folder,
            "digests = \"offline/digests\"",
            "digests = \"offline/performance\"",
        );
        let test01 = folder.join("server/performance");
        replace_log(&test01, tree::DETAIL, |text| {
            let key = "\"key\": \"effective_accuracy_log_sampling_target\", \"value\": ";
            text.replace(&format!("{key}0"), &format!("{key}4096"))
        });
    })
    .join("\n");
    for want in [
        "offline/performance: has the detail log of offline/performance: one run serves one purpose",
        "server/performance: effective_accuracy_log_sampling_target is not 0: it is the run of a compliance test",
    ] {
        assert!(all.contains(want), "{want}: {all}");
    }
}

#[test]
fn a_run_without_a_model_is_found() {
    let all = problems_of(|folder| {
        change_result(&folder.join("offline/digests"), |result| {
            result.nodes[0].engine = "none".into();
        });
    });
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(
        all[0].starts_with("N2 ") && all[0].contains("node node-a: its engine, `none`,"),
        "{all:?}"
    );
}

#[test]
fn an_accuracy_that_the_run_did_not_count_is_found() {
    let all = problems_of(|folder| {
        fs::write(folder.join("a.txt"), "accuracy=78.000%, good=39000, total=50000\n").unwrap();
        let server = "scenario = \"server\"";
        change_settings(folder, server, &format!("{server}\naccuracy_txt = \"a.txt\""));
    });
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(all[0].contains("acc is 78, and the run itself counted 77"), "{all:?}");
}

#[test]
fn nodes_may_be_named_in_any_order() {
    let all = problems_of(|folder| {
        change_result(&folder.join("server/accuracy"), |result| result.nodes.reverse());
    });
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn nodes_on_one_machine_share_its_interface() {
    let one_machine = |speed| {
        problems_of(|folder| {
            for run in ["offline/performance", "server/performance"] {
                change_result(&folder.join(run), |result| {
                    let nodes = &mut result.evidence.as_mut().unwrap().nodes;
                    let boot = nodes["node-a"].boot_id.clone();
                    let id = nodes["node-a"].machine_id.clone();
                    for node in nodes.values_mut() {
                        (node.boot_id, node.machine_id) = (boot.clone(), id.clone());
                        node.interfaces[0].speed_mbit_per_second = Some(speed);
                    }
                });
            }
        })
    };
    let is_short = |all: &[String]| all.iter().any(|text| text.starts_with("N27"));
    assert!(!is_short(&one_machine(100_000)));
    // Two of these interfaces would suffice.
    assert!(is_short(&one_machine(20_000)));
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
