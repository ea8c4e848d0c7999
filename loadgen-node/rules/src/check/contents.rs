//! N35: which files each folder has. What the measurements file says is in `measurements.rs`.

use std::collections::BTreeSet;

use super::{
    checked_folder::{Entry, Kind, Subject, Tree},
    files::{N35, entries},
    findings::Findings,
    measurements,
};
use crate::{
    placeholder::is_placeholder,
    tree::{
        ACCURACY_LOG, ACCURACY_TXT, DETAIL, Layout, Place, SUMMARY, VERIFY_ACCURACY,
        VERIFY_PERFORMANCE,
    },
};

/// Where power was measured, the performance run has this beside its logs.
const POWER_LOG: &str = "spl.txt";

/// Files that may be in any folder of logs.
const TOLERATED: [&str; 2] = ["mlperf_log_trace.json", "results.json"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let Some(place) = &entry.tree else { continue };
        let before = found.problems(N35);
        lists(tree, place, entry, found);
        folders(tree, place, found);
        measurements::judge(subject, entry, place, found);
        texts(tree, place, found);
        let text = "every folder has the files that it must have, and no others";
        found.pass_unless_more(N35, before, &entry.place, text);
    }
    for system in subject.systems.iter().filter(|system| !has_results(subject, &system.name)) {
        found.fail(N35, &system.place, "is of a system without results: add them or remove it");
    }
}

fn has_results(subject: &Subject, system: &str) -> bool {
    let mut places = subject.results.iter().filter_map(|entry| entry.tree.as_ref());
    places.any(|place| place.system == system)
}

/// Which files a folder must have, and which it may.
struct Wanted {
    folder: String,
    must: Vec<&'static str>,
    may: Vec<&'static str>,
}

fn lists(tree: &Tree, place: &Place, entry: &Entry, found: &mut Findings) {
    let mut folders = vec![
        Wanted {
            folder: place.performance(),
            must: vec![DETAIL, SUMMARY],
            may: vec![ACCURACY_LOG, POWER_LOG],
        },
        Wanted {
            folder: place.accuracy(),
            must: vec![DETAIL, SUMMARY, ACCURACY_LOG, ACCURACY_TXT],
            may: image_folders(&entry.name),
        },
    ];
    for run in &entry.runs {
        if let Kind::Test(test) = &run.kind {
            folders.extend(of_test(place, test));
        }
    }
    for Wanted { folder, must, may } in folders {
        let Ok(inside) = entries(&tree.path(&folder)) else {
            found.fail(N35, folder, "is missing");
            continue;
        };
        let names: BTreeSet<_> = inside.iter().map(|(name, _)| name.as_str()).collect();
        for name in must.iter().filter(|name| !names.contains(*name)) {
            found.fail(N35, format!("{folder}/{name}"), "is missing");
        }
        let known =
            |name: &&&str| must.contains(name) || may.contains(name) || TOLERATED.contains(name);
        for name in names.iter().filter(|name| !known(name)) {
            found.fail(N35, format!("{folder}/{name}"), "does not belong there: remove it");
        }
    }
    let performance = place.results() + "/performance";
    for (name, _) in entries(&tree.path(&performance)).unwrap_or_default() {
        if name != "run_1" && name != "power" && name != "ranging" {
            found.fail(
                N35,
                format!("{performance}/{name}"),
                "does not belong there: only run_1 does",
            );
        }
    }
}

/// A folder of another name in the result's would be read by nobody.
fn folders(tree: &Tree, place: &Place, found: &mut Findings) {
    let results = place.results();
    let is_test = |name: &str| place.home.layout == Layout::B && name.starts_with("TEST");
    for (name, path) in entries(&tree.path(&results)).unwrap_or_default() {
        let known = ["performance", "accuracy"].contains(&name.as_str()) || is_test(&name);
        if path.is_dir() && !known {
            let text = "does not belong there: only performance and accuracy do";
            found.fail(N35, format!("{results}/{name}"), text);
        }
    }
}

/// Pictures that the checker asks of a generating benchmark.
fn image_folders(benchmark: &str) -> Vec<&'static str> {
    if benchmark == "stable-diffusion-xl" { vec!["images"] } else { Vec::new() }
}

fn of_test(place: &Place, test: &str) -> Vec<Wanted> {
    let logs = Wanted {
        folder: place.compliance_performance(test),
        must: vec![DETAIL, SUMMARY],
        may: vec![ACCURACY_LOG],
    };
    let scored = vec!["baseline_accuracy.txt", "compliance_accuracy.txt", ACCURACY_TXT];
    match test {
        "TEST01" => vec![
            Wanted {
                folder: place.compliance(test),
                must: vec![VERIFY_ACCURACY, VERIFY_PERFORMANCE, "accuracy", "performance"],
                may: vec![],
            },
            Wanted {
                folder: place.compliance_accuracy(test),
                must: vec![ACCURACY_LOG, ACCURACY_TXT],
                may: scored,
            },
            logs,
        ],
        "TEST04" => vec![
            Wanted {
                folder: place.compliance(test),
                must: vec![VERIFY_PERFORMANCE, "performance"],
                may: vec![],
            },
            logs,
        ],
        "TEST06" => vec![
            Wanted {
                folder: place.compliance(test),
                must: vec![VERIFY_ACCURACY, "accuracy"],
                may: vec!["performance"],
            },
            Wanted {
                folder: place.compliance_accuracy(test),
                must: vec![ACCURACY_LOG],
                may: scored,
            },
        ],
        _ => Vec::new(),
    }
}

/// user.conf, README.md and the code.
fn texts(tree: &Tree, place: &Place, found: &mut Findings) {
    for path in [place.user_conf(), place.readme()] {
        if tree.text(&path).is_none_or(|text| is_placeholder(&text)) {
            found.fail(N35, path, "is missing, empty or still to be written");
        }
    }
    let code = match place.home.layout {
        Layout::A => format!("{}/{}", place.home.code(), place.benchmark),
        Layout::B => place.home.code(),
    };
    if !tree.path(&code).exists() {
        let text =
            "is missing: the checker asks for code there, or for a file that names its folder";
        found.fail(N35, code, text);
    }
}
