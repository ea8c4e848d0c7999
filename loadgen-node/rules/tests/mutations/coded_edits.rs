//! Edits as code: of whole logs, of links, pipes and bytes that are not text.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, os::unix::fs::symlink, process::Command};

use netdiv_rules::{
    Rule::{self, *},
    book::Table,
    tree::{ACCURACY_LOG, DETAIL, SUMMARY},
};

use serde_json::Value;

use super::{
    change::ValidTree::{self, Chat, Images, Volumes},
    tree::{EditableTree, HOME},
};

/// Edit as code: its name, the valid submission to edit, the rules besides N38 that it breaks, and
/// the function that makes the change.
pub(super) type CodedEdit = (&'static str, ValidTree, &'static [Rule], fn(&EditableTree));

const OFFLINE: &str = "Offline/performance";
const SERVER: &str = "Server/performance";
const MEASUREMENTS: &str = "network/acme/measurements/two-H100-nodes/resnet50";
const RESULTS: &str = "network/acme/results/two-H100-nodes/resnet50";

/// Edits whose findings have one cause.
pub(super) const ONE_CAUSE: &[CodedEdit] = &[
    ("half a record", Images, &[N35], |tree| {
        halve(tree, &format!("{MEASUREMENTS}/{OFFLINE}.result.json"));
    }),
    ("an empty detail log, and its hash", Images, &[N35], |tree| {
        tree.log(OFFLINE, DETAIL, |_| String::new());
    }),
    ("a detail log of something else, and its hash", Images, &[N35], |tree| {
        tree.log(OFFLINE, DETAIL, |_| "hello\n".into());
    }),
    ("half a detail log", Images, &[N35], |tree| {
        halve(tree, &format!("{RESULTS}/Server/performance/run_1/{DETAIL}"));
    }),
    ("TEST04's detail log as the performance run's, and its hash", Images, &[N21], |tree| {
        let text = log(tree, "Offline/TEST04", DETAIL);
        tree.log(OFFLINE, DETAIL, |_| text);
    }),
    ("Server's detail log as Offline's, and its hash", Images, &[N32], |tree| {
        let text = log(tree, SERVER, DETAIL);
        tree.log(OFFLINE, DETAIL, |_| text);
    }),
    ("logs of TEST01 and TEST04 exchanged, and their hashes", Images, &[N34], |tree| {
        let runs = ["Server/TEST01", "Server/TEST04"];
        for name in [DETAIL, SUMMARY] {
            let [one, other] = runs.map(|run| log(tree, run, name));
            tree.log(runs[0], name, |_| other);
            tree.log(runs[1], name, |_| one);
        }
    }),
    ("seeds of another round in all runs", Images, &[N31], |tree| {
        for scenario in ["Offline", "Server"] {
            for run in ["performance", "accuracy", "TEST01", "TEST04"] {
                seeds_of_v5_1(tree, &format!("{scenario}/{run}"));
            }
        }
    }),
];

/// Edits with several causes.
pub(super) const ROWS: &[CodedEdit] = &[
    ("a Server schedule of 300 s", Images, &[N32], half_the_schedule),
    ("an empty folder", Images, &[N35], |tree| {
        fs::create_dir(tree.path(&format!("{HOME}/empty"))).unwrap();
    }),
    ("a broken link", Images, &[N35], |tree| {
        symlink("nowhere", tree.path(&format!("{HOME}/link"))).unwrap();
    }),
    ("a link that leads somewhere", Images, &[N35], |tree| {
        symlink("systems", tree.path(&format!("{HOME}/link"))).unwrap();
    }),
    ("a link as a submitter", Images, &[N35], |tree| {
        symlink("acme", tree.path("network/other")).unwrap();
    }),
    ("a link as a system", Images, &[N35], |tree| {
        symlink("two-H100-nodes", tree.path(&format!("{HOME}/results/other"))).unwrap();
    }),
    ("a system whose name is not UTF-8", Images, &[N35], |tree| {
        let system = tree.path(&format!("{HOME}/results")).join(OsStr::from_bytes(b"x\xff"));
        fs::create_dir_all(system.join("resnet50/Offline/accuracy")).unwrap();
    }),
    ("a pipe instead of a file", Images, &[N35], |tree| {
        pipe(tree, &format!("{MEASUREMENTS}/Offline/user.conf"));
    }),
    ("a pipe instead of a log", Images, &[N2, N35], |tree| {
        pipe(tree, &format!("{RESULTS}/Offline/accuracy/accuracy.txt"));
    }),
    ("a name that is not UTF-8", Images, &[N35], |tree| {
        fs::write(tree.path(&format!("{HOME}/code")).join(OsStr::from_bytes(b"x\xff.md")), "x")
            .unwrap();
    }),
    ("a null", Images, &[N36], |tree| tree.field("framework", Value::Null)),
    ("a file of 51 MB", Images, &[N35], |tree| {
        let file = fs::File::create(tree.path(&format!("{HOME}/code/large.bin"))).unwrap();
        file.set_len(51 << 20).unwrap();
    }),
    ("a document of more than 1 MiB", Images, &[N35], |tree| {
        tree.write(&format!("{HOME}/documentation/notes.md"), &"a".repeat((1 << 20) + 1));
    }),
    ("an accuracy log that is not truncated", Images, &[N35], |tree| {
        let path = format!("{RESULTS}/Offline/accuracy/{ACCURACY_LOG}");
        tree.write(&path, &tree.read(&path).repeat(2));
    }),
    ("a complete accuracy log of a test that is longer than the run's", Volumes, &[N35], |tree| {
        let folder = "network/acme/results/two-H100-nodes/3d-unet-99/Offline/TEST01/accuracy";
        let path = format!("{folder}/{ACCURACY_LOG}");
        tree.write(&path, &(tree.read(&path) + &"\n".repeat(20 << 10)));
    }),
    ("a source whose name only looks like its path", Images, &[N16], |tree| {
        let sources = tree.path(&format!("{HOME}/code/netdiv"));
        let name = "proto\\contract\\netdiv\\v1\\sut_node.proto";
        fs::rename(sources.join(name.replace('\\', "/")), sources.join(name)).unwrap();
        tree.remove(&format!("{HOME}/code/netdiv/proto"));
    }),
    ("a source that is not text", Images, &[N16], |tree| {
        let path = tree.path(&format!("{HOME}/code/netdiv/qdl/src/lib.rs"));
        fs::write(path, b"//! \xff\n").unwrap();
    }),
    ("an interactive variant as a separate benchmark", Chat, &[N1, N32, N35], |tree| {
        move_interactive(tree, "llama2-70b-interactive-99/Server");
    }),
    ("an interactive variant in the folder of Server", Chat, &[N35], |tree| {
        move_interactive(tree, "llama2-70b-99/Server");
    }),
];

fn log(tree: &EditableTree, run: &str, name: &str) -> String {
    tree.read(&format!("{}/{name}", tree.folder(run)))
}

fn halve(tree: &EditableTree, path: &str) {
    let text = tree.read(path);
    tree.write(path, &text[..text.len() / 2]);
}

/// Replaces a file by a pipe.
fn pipe(tree: &EditableTree, path: &str) {
    tree.remove(path);
    assert!(Command::new("mkfifo").arg(tree.path(path)).status().unwrap().success());
}

/// Sets the seeds of round v5.1, in the logs and in the record.
fn seeds_of_v5_1(tree: &EditableTree, run: &str) {
    let table = Table::builtin().unwrap();
    let round = table.rounds.iter().find(|round| round.name.to_string() == "v5.1").unwrap();
    for (setting, seed, _) in round.seeds.differing(|_| None) {
        let seed = seed.to_string();
        tree.entry(run, &format!("effective_{setting}"), &seed, setting);
        tree.entry(run, &format!("requested_{setting}"), &seed, "");
        tree.record(run, |record| {
            record.test_settings.insert(setting.into(), seed);
        });
    }
}

/// Shortens a Server run to 300 s, with all consequences.
fn half_the_schedule(tree: &EditableTree) {
    const COMPLETED: &str = "Completed samples per second";
    let run = |run: &str, rate: &str, duration: &str, end: &str, scheduled: &str| {
        tree.entry(run, "generated_query_duration", duration, "");
        tree.entry(run, "power_end", end, "");
        tree.entry(run, "result_scheduled_samples_per_sec", rate, scheduled);
        tree.entry(run, "result_completed_samples_per_sec", rate, COMPLETED);
        tree.log(run, DETAIL, |text| text.replace("\"time_ms\": 601", "\"time_ms\": 300"));
        tree.record(run, |record| {
            record.metric.as_mut().unwrap().value = rate.parse().unwrap();
            record.test_seconds = 301.0;
        });
    };
    let end = "\"03-01-2025 12:05:00.110\"";
    run(SERVER, "35982", "300000000000", end, "Scheduled samples per second");
    for test in ["TEST01", "TEST04"] {
        let end = "\"03-01-2025 12:05:00.600\"";
        run(&format!("Server/{test}"), "34920", "300500000000", end, "");
        let path = tree.folder(&format!("Server/{test}"));
        let folder = path.trim_end_matches("/performance/run_1");
        let text = "reference score = 35982\ntest score = 34920\nTEST PASS\n";
        tree.write(&format!("{folder}/verify_performance.txt"), text);
    }
}

/// Moves the interactive variant to another path in all folders of the submission.
fn move_interactive(tree: &EditableTree, to: &str) {
    for kind in ["results", "measurements", "compliance"] {
        let folder = |rest: &str| tree.path(&format!("{HOME}/{kind}/two-H100-nodes/{rest}"));
        let to = folder(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(folder("llama2-70b-99/Interactive"), to).unwrap();
    }
}
