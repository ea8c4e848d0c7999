//! Files and folders that are missing, changed, or of another run: each is one cause, and is said once.

use std::fs;

use serde_json::Value;

use super::{
    Row,
    logs::RUNS,
    tree::{HOME, SYSTEM, Tree},
};
use crate::{
    Outcome,
    Rule::{self, *},
    book::Table,
    check::{Options, check},
    grouped::lines,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY},
};

const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50";
const RESULTS: &str = "network/acme/results/two-H100-nodes/resnet50";
const COMPLIANCE: &str = "network/acme/compliance/two-H100-nodes/resnet50";
const CODE: &str = "network/acme/code/resnet50";

fn record(run: &str) -> String {
    format!("{MEASUREMENTS}/{run}.result.json")
}

/// The record of one run in place of another's.
fn copy_record(tree: &Tree, from: &str, to: &str) {
    tree.write(&record(to), &tree.read(&record(from)));
}

fn rename(tree: &Tree, from: &str, to: &str) {
    fs::rename(tree.path(from), tree.path(to)).unwrap();
}

fn swap(tree: &Tree, one: &str, other: &str) {
    rename(tree, one, "between");
    rename(tree, other, one);
    rename(tree, "between", other);
}

/// Offline's folder and Server's, in one of the folders of the submitter.
fn swap_scenarios(tree: &Tree, folder: &str) {
    swap(tree, &format!("{folder}/Offline"), &format!("{folder}/Server"));
}

/// All of a benchmark under another name.
fn rename_benchmark(tree: &Tree, name: &str) {
    for folder in [MEASUREMENTS, RESULTS, COMPLIANCE, CODE] {
        rename(tree, folder, &folder.replace("resnet50", name));
    }
}

fn halve(tree: &Tree, path: &str) {
    let text = tree.read(path);
    tree.write(path, &text[..text.len() / 2]);
}

fn exchange_logs(tree: &Tree, name: &str, runs: [&str; 2]) {
    let [one, other] = runs.map(|run| tree.read(&format!("{}/{name}", tree.folder(run))));
    tree.log(runs[0], name, |_| other);
    tree.log(runs[1], name, |_| one);
}

/// The seeds of round v5.1, in the logs and in the record.
fn seeds_of_v5_1(tree: &Tree, run: &str) {
    let table = Table::builtin().unwrap();
    let round = table.rounds.iter().find(|round| round.name.to_string() == "v5.1").unwrap();
    for (setting, seed, _) in round.seeds.unlike(|_| None) {
        let seed = seed.to_string();
        tree.entry(run, &format!("effective_{setting}"), &seed, setting);
        tree.entry(run, &format!("requested_{setting}"), &seed, "");
        tree.record(run, |record| {
            record.test_settings.insert(setting.into(), seed);
        });
    }
}

/// A figure of Server's detail log, and nothing else, not even its hash.
fn edit_figure(tree: &Tree, key: &str) {
    let value = format!("\"{key}\", \"value\": ");
    let path = format!("{RESULTS}/Server/performance/run_1/{DETAIL}");
    tree.replace(&path, &value, &format!("{value}9"));
}

pub(super) const ROWS: &[Row] = &[
    // Missing.
    ("no record of the performance run", &[N35], |tree| {
        tree.remove(&record("Offline/performance"))
    }),
    ("no record of the accuracy run", &[N35], |tree| tree.remove(&record("Server/accuracy"))),
    ("no record of TEST01", &[N35], |tree| tree.remove(&record("Offline/TEST01"))),
    ("no detail log", &[N35], |tree| {
        tree.remove(&format!("{RESULTS}/Offline/performance/run_1/{DETAIL}"));
    }),
    ("no detail log of TEST01", &[N35], |tree| {
        tree.remove(&format!("{COMPLIANCE}/Offline/TEST01/performance/run_1/{DETAIL}"));
    }),
    ("no summary", &[N35], |tree| {
        tree.remove(&format!("{RESULTS}/Offline/performance/run_1/{SUMMARY}"));
    }),
    ("no summary of TEST04", &[N35], |tree| {
        tree.remove(&format!("{COMPLIANCE}/Server/TEST04/performance/run_1/{SUMMARY}"));
    }),
    ("no accuracy log", &[N35], |tree| {
        tree.remove(&format!("{RESULTS}/Offline/accuracy/{ACCURACY_LOG}"));
    }),
    ("no accuracy.txt", &[N35], |tree| {
        tree.remove(&format!("{RESULTS}/Offline/accuracy/accuracy.txt"));
    }),
    ("no performance run", &[N35], |tree| tree.remove(&format!("{RESULTS}/Server/performance"))),
    ("no accuracy run", &[N35], |tree| tree.remove(&format!("{RESULTS}/Offline/accuracy"))),
    ("no logs of TEST01", &[N35], |tree| {
        tree.remove(&format!("{COMPLIANCE}/Offline/TEST01/performance"));
    }),
    ("no responses of TEST01", &[N35], |tree| {
        tree.remove(&format!("{COMPLIANCE}/Offline/TEST01/accuracy"));
    }),
    ("no measurements", &[N35], |tree| tree.remove(&format!("{HOME}/measurements"))),
    ("no descriptions of systems", &[N36], |tree| tree.remove(&format!("{HOME}/systems"))),
    ("no compliance tests", &[N34], |tree| tree.remove(&format!("{HOME}/compliance"))),
    // Unreadable.
    ("half a record", &[N35], |tree| halve(tree, &record("Offline/performance"))),
    ("an empty record", &[N35], |tree| tree.write(&record("Offline/performance"), "")),
    ("an empty detail log", &[N35], |tree| {
        tree.write(&format!("{RESULTS}/Offline/performance/run_1/{DETAIL}"), "");
    }),
    ("an empty detail log, and its hash", &[N35], |tree| {
        tree.log("Offline/performance", DETAIL, |_| String::new());
    }),
    ("a detail log of something else, and its hash", &[N35], |tree| {
        tree.log("Offline/performance", DETAIL, |_| "hello\n".into());
    }),
    ("a description that is a list", &[N36], |tree| tree.write(SYSTEM, "[]")),
    ("a measurements file that is no JSON", &[N35], |tree| {
        tree.write(&format!("{MEASUREMENTS}/Offline/two-H100-nodes_netdiv_Offline.json"), "{");
    }),
    // Changed after the run.
    ("half a detail log", &[N35], |tree| {
        halve(tree, &format!("{RESULTS}/Server/performance/run_1/{DETAIL}"));
    }),
    ("half a summary", &[N35], |tree| {
        halve(tree, &format!("{RESULTS}/Server/performance/run_1/{SUMMARY}"));
    }),
    ("a rate, in the log alone", &[N35], |tree| {
        edit_figure(tree, "result_completed_samples_per_sec");
    }),
    ("a seed, in the log alone", &[N35], |tree| edit_figure(tree, "effective_qsl_rng_seed")),
    ("a latency, in the log alone", &[N35], |tree| edit_figure(tree, "result_max_latency_ns")),
    ("the verdict, in the log alone", &[N35], |tree| {
        let path = format!("{RESULTS}/Offline/performance/run_1/{DETAIL}");
        tree.replace(&path, "\"VALID\"", "\"INVALID\"");
    }),
    ("the SUT's name, in the log alone", &[N35], |tree| {
        let path = format!("{RESULTS}/Offline/accuracy/{DETAIL}");
        tree.replace(&path, "Network SUT", "Local SUT");
    }),
    ("a rate, in the summary alone", &[N35], |tree| {
        tree.replace(&format!("{RESULTS}/Offline/performance/run_1/{SUMMARY}"), "19990", "39990");
    }),
    ("the settings of TEST04, in its log alone", &[N35], |tree| {
        let path = format!("{COMPLIANCE}/Offline/TEST04/performance/run_1/{DETAIL}");
        let key = "\"effective_performance_issue_same\", \"value\": ";
        tree.replace(&path, &format!("{key}true"), &format!("{key}false"));
    }),
    // Of another run.
    ("results of both scenarios exchanged", &[N35], |tree| swap_scenarios(tree, RESULTS)),
    ("measurements of both scenarios exchanged", &[N32], |tree| swap_scenarios(tree, MEASUREMENTS)),
    ("all of both scenarios exchanged", &[N32], |tree| {
        for folder in [RESULTS, MEASUREMENTS, COMPLIANCE] {
            swap_scenarios(tree, folder);
        }
    }),
    ("accuracy runs of both scenarios exchanged", &[N35], |tree| {
        swap(tree, &format!("{RESULTS}/Offline/accuracy"), &format!("{RESULTS}/Server/accuracy"));
    }),
    ("detail logs of two runs exchanged", &[N35], |tree| {
        let [one, other] = ["performance/run_1", "accuracy"]
            .map(|run| format!("{RESULTS}/Offline/{run}/{DETAIL}"));
        swap(tree, &one, &other);
    }),
    ("the accuracy run's record as the performance run's", &[N32], |tree| {
        copy_record(tree, "Offline/accuracy", "Offline/performance");
    }),
    ("Server's record as Offline's", &[N32], |tree| {
        copy_record(tree, "Server/performance", "Offline/performance");
    }),
    ("TEST01's record as TEST04's", &[N35], |tree| {
        copy_record(tree, "Offline/TEST01", "Offline/TEST04");
    }),
    ("the performance run's record as that of the digests", &[N35], |tree| {
        copy_record(tree, "Offline/performance", "Offline/digests");
    }),
    ("a record of another benchmark", &[N35], |tree| {
        tree.record("Server/performance", |record| record.benchmark = "retinanet".into());
    }),
    ("runs of another benchmark", &[N35], |tree| rename_benchmark(tree, "retinanet")),
    ("an edge benchmark", &[N1, N35], |tree| rename_benchmark(tree, "bert-99")),
    ("TEST04's detail log as the performance run's, and its hash", &[N21], |tree| {
        let text = tree.read(&format!("{}/{DETAIL}", tree.folder("Offline/TEST04")));
        tree.log("Offline/performance", DETAIL, |_| text);
    }),
    ("the performance run's summary as TEST04's, and its hash", &[N21], |tree| {
        let text = tree.read(&format!("{}/{SUMMARY}", tree.folder("Server/performance")));
        tree.log("Server/TEST04", SUMMARY, |_| text);
    }),
    ("Server's detail log as Offline's, and its hash", &[N32], |tree| {
        let text = tree.read(&format!("{}/{DETAIL}", tree.folder("Server/performance")));
        tree.log("Offline/performance", DETAIL, |_| text);
    }),
    ("logs of TEST01 and TEST04 exchanged", &[N35], |tree| {
        swap(tree, &tree.folder("Offline/TEST01"), &tree.folder("Offline/TEST04"));
    }),
    ("logs of TEST01 and TEST04 exchanged, and their hashes", &[N34], |tree| {
        for name in [DETAIL, SUMMARY] {
            exchange_logs(tree, name, ["Server/TEST01", "Server/TEST04"]);
        }
    }),
    ("seeds of another round in all runs", &[N31], |tree| {
        for run in RUNS {
            seeds_of_v5_1(tree, run);
        }
    }),
    // Of the documents.
    ("a description of the wire of one line", &[N17], |tree| {
        tree.write(&format!("{HOME}/documentation/wire-protocol.md"), "# The wire\n");
    }),
    ("a topology without a node", &[N6, N23], |tree| {
        let system: Value = serde_json::from_str(&tree.read(SYSTEM)).unwrap();
        let links = system["network_topology"].as_str().unwrap().split("; ");
        let links: Vec<_> = links.filter(|link| !link.contains("node-b")).collect();
        tree.field("network_topology", links.join("; ").into());
    }),
    ("another submitter", &[N36], |tree| rename(tree, HOME, "network/other")),
    ("a description under another name", &[N35, N36], |tree| {
        rename(tree, SYSTEM, &format!("{HOME}/systems/other.json"));
    }),
];

/// What is said for people of edits that break rules, but for N38, which is about the others.
fn told(rules: &[Rule], edit: fn(&Tree), outcome: Outcome) -> Vec<String> {
    let tree = Tree::new();
    edit(&tree);
    let report = check(tree.root(), Table::builtin().unwrap(), &Options::default()).unwrap();
    let of_outcome = |f: &&crate::Grouped| f.outcome == outcome && ![N37, N38].contains(&f.rule);
    let told = lines(report.findings().filter(of_outcome), "");
    assert!(outcome != Outcome::Fail || told.len() >= rules.len());
    told
}

#[test]
fn one_cause_is_said_once() {
    // Two lines where two things are to be mended, such as both scenarios.
    let mut wrong = Vec::new();
    for (name, rules, edit) in ROWS {
        let broken = told(rules, *edit, Outcome::Fail);
        let unknown = told(rules, *edit, Outcome::CannotTell);
        if broken.len() > 2 || unknown.len() > 6 {
            wrong.push(format!("{name}:\n{}\n?\n{}", broken.join("\n"), unknown.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_cannot_be_judged_is_said_with_its_cause() {
    let (_, rules, edit) = ROWS[0];
    let unknown = told(rules, edit, Outcome::CannotTell);
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    let want = "N24, N25, N26, N27, N29, N30: network/acme/measurements/two-H100-nodes/resnet50/Offline/performance.result.json: \
                cannot be judged, because this is missing";
    assert!(unknown[0].ends_with(want), "{unknown:?}");
}
