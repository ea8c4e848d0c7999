//! Judges which files and folders a submission must have, and which it may have.

use std::collections::BTreeSet;

use super::measurements;
use crate::{
    Division, Outcome,
    book::Test,
    compliance::responses_file,
    input::files::entries,
    placeholder::is_placeholder,
    rules::n36::unwritten,
    subject::{
        Findings, PlaceJudgement, ResultEntry, RunKind, Subject, SubmissionTree, logs::MISSING,
    },
    tree::{
        ACCURACY_LOG, ACCURACY_TXT, BASELINE_SCORES, DETAIL, IMPLEMENTATION, Layout, ResultPaths,
        SUMMARY, VERIFY_ACCURACY, VERIFY_PERFORMANCE,
    },
};

/// File beside the logs of a performance run whose power was measured.
const POWER_LOG: &str = "spl.txt";

/// Files that may be in any folder of logs.
const TOLERATED: [&str; 3] = ["mlperf_log_trace.json", "results.json", ".gitkeep"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let Some(place) = &entry.tree else { continue };
        let mut at = found.at(&entry.place);
        lists(subject, tree, place, entry, &mut at);
        folders(tree, place, &mut at);
        if tree.path(&place.measurements()).is_dir() {
            measurements::judge(subject.division, entry, &mut at);
            texts(subject.division, tree, place, &mut at);
        } else {
            at.fail_at(subject.outermost_missing(&place.measurements()), MISSING);
        }
        code(tree, place, &mut at);
        at.or_pass("every folder has the files that it must have, and no others");
    }
    for place in &subject.idle_systems {
        // Checkers up to tag v6.0.0pre refuse it; the newest does not.
        let outcome = match tree.home.layout {
            Layout::A => Outcome::Fail,
            Layout::B => Outcome::CannotTell,
        };
        found
            .at(place)
            .find(outcome, "belongs to a system without results: add results or remove it");
    }
}

struct FolderRequirements {
    folder: String,
    must: Vec<&'static str>,
    may: Vec<&'static str>,
    /// True if the folder may have other files, because no checker looks for them.
    is_open_ended: bool,
}

fn lists(
    subject: &Subject,
    tree: &SubmissionTree,
    place: &ResultPaths,
    entry: &ResultEntry,
    at: &mut PlaceJudgement,
) {
    let mut folders = vec![
        FolderRequirements {
            folder: place.performance(),
            must: vec![DETAIL, SUMMARY],
            may: vec![ACCURACY_LOG, POWER_LOG],
            is_open_ended: false,
        },
        FolderRequirements {
            folder: place.accuracy(),
            must: vec![DETAIL, SUMMARY, ACCURACY_LOG, ACCURACY_TXT],
            may: image_folders(&entry.name),
            is_open_ended: false,
        },
    ];
    for run in &entry.runs {
        if let RunKind::Test(test) = run.kind {
            folders.extend(of_test(place, test));
        }
    }
    for FolderRequirements { folder, must, may, is_open_ended } in folders {
        let Ok(inside) = entries(&tree.path(&folder)) else {
            at.fail_at(subject.outermost_missing(&folder), MISSING);
            continue;
        };
        let names: BTreeSet<_> = inside.iter().map(|(name, _)| name.as_str()).collect();
        for name in must.iter().filter(|name| !names.contains(*name)) {
            at.fail_at(format!("{folder}/{name}"), MISSING);
        }
        // Folders of logs must not have other files, because the official checker refuses them.
        // From round v6.0 on, this holds only for the folders of compliance tests.
        let is_looked_at = !is_open_ended
            && (place.home.layout == Layout::A || folder.starts_with(&place.compliance("TEST0")));
        let known =
            |name: &&&str| must.contains(name) || may.contains(name) || TOLERATED.contains(name);
        for name in names.iter().filter(|name| is_looked_at && !known(name)) {
            at.fail_at(format!("{folder}/{name}"), "does not belong there: remove it");
        }
    }
    let performance = place.results() + "/performance";
    for (name, _) in entries(&tree.path(&performance)).unwrap_or_default() {
        if name != "run_1" && name != "power" && name != "ranging" {
            let text = "does not belong there: only run_1 does";
            at.fail_at(format!("{performance}/{name}"), text);
        }
    }
}

/// Finds folders in the folder of a result that no program would read: other than `performance`,
/// `accuracy`, and from round v6.0 on, the compliance tests.
fn folders(tree: &SubmissionTree, place: &ResultPaths, at: &mut PlaceJudgement) {
    let results = place.results();
    let is_test = |name: &str| place.home.layout == Layout::B && name.starts_with("TEST");
    for (name, path) in entries(&tree.path(&results)).unwrap_or_default() {
        let known = ["performance", "accuracy"].contains(&name.as_str()) || is_test(&name);
        if path.is_dir() && !known {
            let text = "does not belong there: only performance and accuracy do";
            at.fail_at(format!("{results}/{name}"), text);
        }
    }
}

/// Returns the folder of pictures or videos that the checker requires of a benchmark that generates
/// them; empty for other benchmarks.
fn image_folders(benchmark: &str) -> Vec<&'static str> {
    match benchmark {
        "stable-diffusion-xl" => vec!["images"],
        "wan-2.2-t2v-a14b" => vec!["videos"],
        _ => Vec::new(),
    }
}

fn of_test(place: &ResultPaths, test: Test) -> Vec<FolderRequirements> {
    let name = test.name();
    let whole = |must| FolderRequirements {
        folder: place.compliance(name),
        must,
        may: vec![],
        is_open_ended: true,
    };
    let accuracy = |must| FolderRequirements {
        folder: place.compliance_accuracy(name),
        must,
        may: BASELINE_SCORES.into_iter().chain([ACCURACY_TXT]).collect(),
        is_open_ended: test == Test::Test06,
    };
    let logs = FolderRequirements {
        folder: place.compliance_performance(name),
        must: vec![DETAIL, SUMMARY],
        may: vec![ACCURACY_LOG],
        is_open_ended: false,
    };
    match test {
        Test::Test01 => vec![
            whole(vec![VERIFY_ACCURACY, VERIFY_PERFORMANCE, "accuracy", "performance"]),
            accuracy(vec![ACCURACY_LOG, ACCURACY_TXT]),
            logs,
        ],
        Test::Test04 => vec![whole(vec![VERIFY_PERFORMANCE, "performance"]), logs],
        Test::Test06 => {
            vec![whole(vec![VERIFY_ACCURACY, "accuracy"]), accuracy(vec![ACCURACY_LOG])]
        }
        // The official checker reads nothing else.
        Test::Test07 | Test::Test09 => vec![whole(responses_file(test).into_iter().collect())],
    }
}

fn texts(division: Division, tree: &SubmissionTree, place: &ResultPaths, at: &mut PlaceJudgement) {
    for path in [place.user_conf(), place.readme()] {
        match tree.text(&path) {
            None => at.fail_at(path, "is missing or empty"),
            Some(text) if is_placeholder(&text) => {
                let (outcome, text) = unwritten(division, "is still to be written".into());
                at.find_at(outcome, path, text);
            }
            Some(_) => {}
        }
    }
}

fn code(tree: &SubmissionTree, place: &ResultPaths, at: &mut PlaceJudgement) {
    let code = match place.home.layout {
        Layout::A => format!("{}/{}", place.home.code(), place.benchmark),
        Layout::B => place.home.code(),
    };
    let is_there = match tree.text(&code).as_deref().map(str::trim) {
        // N16 judges netdiv's own sources.
        Some(IMPLEMENTATION) => true,
        Some(name) if name.contains('/') || name.starts_with('.') => false,
        Some(name) => tree.path(&format!("{}/{name}", tree.home.code())).is_dir(),
        None => tree.path(&code).is_dir(),
    };
    if !is_there {
        let text = "is not code: the checker requires code there, or a file that names its folder";
        at.fail_at(code, text);
    }
}
