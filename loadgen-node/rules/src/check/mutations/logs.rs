//! Edits of LoadGen's logs, with the hashes and the summary edited along.

use super::{Row, Tree};
use crate::{
    Rule::*,
    tree::{DETAIL, SUMMARY},
};

/// The runs of the valid submission that have logs.
pub(super) const RUNS: [&str; 8] = [
    "Offline/performance",
    "Offline/accuracy",
    "Offline/TEST01",
    "Offline/TEST04",
    "Server/performance",
    "Server/accuracy",
    "Server/TEST01",
    "Server/TEST04",
];

fn invalid(tree: &Tree, run: &str) {
    tree.entry(run, "result_validity", "\"INVALID\"", "Result is");
}

/// Adds an entry to the log of the performance run in Server, which has the key already.
fn twice(tree: &Tree, key: &str, value: &str) {
    add(tree, "Server/performance", key, value, false);
}

/// Adds a line to a detail log.
fn add(tree: &Tree, run: &str, key: &str, value: &str, is_error: bool) {
    tree.log(run, DETAIL, |text| {
        text + &format!(
            ":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{\"is_error\": {is_error}}}}}\n"
        )
    });
}

/// Takes the lines of a key out of a detail log.
fn without(tree: &Tree, run: &str, key: &str) {
    tree.log(run, DETAIL, |text| {
        let key = format!("\"key\": \"{key}\"");
        let lines = text.lines().filter(|line| !line.contains(&key));
        lines.map(|line| format!("{line}\n")).collect()
    });
}

pub(super) const ROWS: &[Row] = &[
    ("a figure that is missing", &[N21], |tree| {
        without(tree, "Server/performance", "generated_query_duration");
    }),
    ("a figure that is a text", &[N21], |tree| {
        tree.entry("Offline/performance", "result_query_count", "\"1\"", "");
    }),
    ("a set of samples too many", &[N21], |tree| {
        add(tree, "Server/accuracy", "loaded_qsl_set", "[1, 2, 3]", false);
    }),
    ("a mark of power too many", &[N21], |tree| {
        add(tree, "Offline/accuracy", "power_begin", "\"01-01-1999 00:00:00.000\"", false);
    }),
    ("fewer queries than loaded samples", &[N21], |tree| {
        tree.entry("Server/accuracy", "generated_query_count", "9", "");
    }),
    ("a part of the samples loaded", &[N21], |tree| {
        tree.entry("Offline/accuracy", "loaded_qsl_set", "[0, 1, 2]", "");
    }),
    ("a schedule that its rate does not give", &[N21], |tree| {
        tree.entry("Offline/performance", "generated_query_duration", "5", "");
    }),
    ("Offline INVALID", &[N33], |tree| invalid(tree, "Offline/performance")),
    ("Server INVALID", &[N33], |tree| invalid(tree, "Server/performance")),
    ("TEST01 INVALID", &[N33], |tree| invalid(tree, "Offline/TEST01")),
    ("an error line in the performance log", &[N33], |tree| {
        add(tree, "Offline/performance", "error_runtime", "\"lost\"", true);
    }),
    ("an error line in the accuracy log", &[N33], |tree| {
        add(tree, "Server/accuracy", "error_runtime", "\"lost\"", true);
    }),
    ("early stopping not met", &[N33], |tree| {
        tree.entry("Server/performance", "early_stopping_met", "false", "Early stopping satisfied");
    }),
    ("a detail log that begins otherwise", &[N33], |tree| {
        tree.log("Server/performance", DETAIL, |text| format!("hello\n{text}"));
    }),
    ("a detail log that is not there", &[N35], |tree| {
        tree.remove(&format!("{}/{DETAIL}", tree.folder("Server/accuracy")));
    }),
    ("a line that is no JSON", &[N33], |tree| {
        tree.log("Server/performance", DETAIL, |text| text + ":::MLLOG {\"key\": \"x\n");
    }),
    ("one sample in the Offline query", &[N9, N21, N32], |tree| {
        let key = "effective_samples_per_query";
        tree.entry("Offline/performance", key, "1", "samples_per_query");
    }),
    ("a short run", &[N32], |tree| {
        let key = "effective_min_duration_ms";
        tree.entry("Server/performance", key, "599999", "min_duration (ms)");
    }),
    ("a short TEST04", &[N32], |tree| {
        let key = "effective_min_duration_ms";
        tree.entry("Server/TEST04", key, "60000", "min_duration (ms)");
    }),
    ("a small performance set", &[N21, N32], |tree| {
        let key = "effective_performance_sample_count";
        tree.entry("Server/performance", key, "1023", "performance_sample_count");
    }),
    ("a part of the data set for accuracy", &[N2, N9], |tree| {
        tree.entry("Server/accuracy", "qsl_reported_total_count", "500", "");
    }),
    ("the same sample in the submitted run", &[N2, N32], |tree| {
        let name = "performance_issue_same";
        tree.entry("Server/performance", &format!("effective_{name}"), "true", name);
        tree.entry("Server/performance", &format!("requested_{name}"), "true", "");
        tree.record("Server/performance", |record| {
            record.test_settings.insert(name.into(), "true".into());
        });
    }),
    ("an Offline log as Server's", &[N32], |tree| {
        tree.entry("Server/accuracy", "effective_scenario", "\"Offline\"", "Scenario");
    }),
    ("an accuracy log as the performance log's", &[N32], |tree| {
        tree.entry("Server/performance", "effective_test_mode", "\"AccuracyOnly\"", "Mode");
    }),
    ("another seed", &[N31], |tree| {
        tree.entry("Server/performance", "effective_qsl_rng_seed", "7", "qsl_rng_seed");
    }),
    ("another seed in the accuracy run", &[N31], |tree| {
        tree.entry("Offline/accuracy", "effective_schedule_rng_seed", "7", "schedule_rng_seed");
    }),
    ("a seed of another round", &[N31], |tree| {
        let key = "effective_sample_index_rng_seed";
        tree.entry("Server/TEST01", key, "14771362308971278857", "sample_index_rng_seed");
    }),
    ("a longer latency bound", &[N2, N34], |tree| {
        let key = "effective_target_latency_ns";
        tree.entry("Server/performance", key, "16000000", "target_latency (ns)");
    }),
    ("late queries", &[N2, N21], |tree| {
        let (key, line) = ("result_99.00_percentile_latency_ns", "99.00 percentile latency (ns)");
        tree.entry("Server/performance", key, "15000001", line);
    }),
    ("late queries, and all figures that follow", &[N2], |tree| {
        let run = "Server/performance";
        let ns = 15_000_001;
        for name in ["99.00_percentile", "99.90_percentile", "max"] {
            let line = format!("{} latency (ns)", name.replace('_', " ").replace("max", "Max"));
            tree.entry(run, &format!("result_{name}_latency_ns"), &ns.to_string(), &line);
            tree.record(run, |record| {
                let name = name.replace("_percentile", "");
                *record.loadgen_latency_ns.get_mut(&name).unwrap() = f64::from(ns);
            });
        }
        tree.entry(run, "result_overlatency_query_count", "108000", "");
        tree.record(run, |record| record.samples.late = Some(108_000));
    }),
    ("LoadGen at another revision", &[N3], |tree| {
        tree.entry("Server/performance", "loadgen_version", "\"5.0.11 @ 0123456789\"", "");
    }),
    ("LoadGen of no tag in all logs", &[N3], |tree| {
        for run in RUNS {
            tree.entry(run, "loadgen_version", "\"5.0.12 @ ef1bd3b95e\"", "");
        }
    }),
    ("LoadGen with uncommitted changes", &[N3], |tree| {
        tree.entry("Server/performance", "loadgen_git_status_message", "\" M loadgen.cc\"", "");
    }),
    ("LoadGen of edited sources", &[N3], |tree| {
        tree.log("Server/accuracy", DETAIL, |text| {
            text.replace("6daa9cd51454a699fcb55d9aa6bf9e54dd7b7a97", &"0".repeat(40))
        });
    }),
    ("LoadGen without its sources", &[N3], |tree| {
        tree.entry("Server/accuracy", "loadgen_file_sha1", "null", "");
    }),
    ("a name without Network SUT", &[N13, N15], |tree| {
        tree.entry("Server/performance", "sut_name", "\"PySUT [node-a, node-b]\"", "SUT name");
    }),
    ("an accuracy log's name without Network SUT", &[N13, N15], |tree| {
        tree.entry("Offline/accuracy", "sut_name", "\"PySUT [node-a, node-b]\"", "");
    }),
    ("the same node twice", &[N15], |tree| {
        let name = "\"acme Network SUT [node-a, node-a]\"";
        tree.entry("Server/performance", "sut_name", name, "SUT name");
    }),
    ("a node that is not named", &[N15], |tree| {
        tree.entry("Server/performance", "sut_name", "\"acme Network SUT [node-a]\"", "SUT name");
    }),
    ("a name without nodes", &[N15], |tree| {
        tree.entry("Server/performance", "sut_name", "\"acme Network SUT\"", "SUT name");
    }),
    ("a cached name", &[N14], |tree| {
        tree.entry("Server/performance", "get_sut_name_duration_ns", "180", "");
    }),
    ("a name in less than a round trip", &[N14], |tree| {
        tree.entry("Server/accuracy", "get_sut_name_duration_ns", "20000", "");
    }),
    ("two tests in a log", &[N12], |tree| {
        add(tree, "Server/performance", "test_datetime", "\"2025-03-01T13:00:00Z\"", false);
    }),
    ("a better figure in the summary", &[N21], |tree| {
        tree.log("Offline/performance", SUMMARY, |text| text.replace("19990", "20010"));
    }),
    ("a summary of another SUT", &[N21], |tree| {
        tree.log("Offline/accuracy", SUMMARY, |text| text + "SUT name : another\n");
    }),
    ("a better figure in both logs", &[N21, N34], |tree| {
        let key = "result_samples_per_second";
        tree.entry("Offline/performance", key, "40000", "Samples per second");
    }),
    ("TEST01 without its settings", &[N34], |tree| {
        let name = "accuracy_log_sampling_target";
        tree.entry("Offline/TEST01", &format!("effective_{name}"), "0", name);
        tree.entry("Offline/TEST01", &format!("requested_{name}"), "0", "");
    }),
    ("TEST04 without its settings", &[N34], |tree| {
        let name = "performance_issue_same";
        tree.entry("Offline/TEST04", &format!("effective_{name}"), "false", name);
        tree.entry("Offline/TEST04", &format!("requested_{name}"), "false", "");
    }),
    ("a SUT that caches, by its speed", &[N21, N34], |tree| {
        let key = "result_samples_per_second";
        tree.entry("Offline/TEST04", key, "30000", "Samples per second");
    }),
    ("a better figure in all logs and the record", &[N21, N32, N34], |tree| {
        let run = "Offline/performance";
        tree.entry(run, "result_samples_per_second", "24000", "Samples per second");
        tree.entry(run, "result_max_latency_ns", "550000000000", "Max latency (ns)");
        tree.record(run, |record| record.metric.as_mut().unwrap().value = 24_000.0);
    }),
    ("a rate of Server that its schedule does not give", &[N21, N34], |tree| {
        let (run, line) = ("Server/performance", "Completed samples per second");
        tree.entry(run, "result_completed_samples_per_sec", "25000", line);
        tree.record(run, |record| record.metric.as_mut().unwrap().value = 25_000.0);
    }),
    ("a lower percentile", &[N32], |tree| {
        tree.entry("Server/performance", "effective_target_latency_percentile", "0.9", "");
    }),
    ("a second verdict", &[N33], |tree| twice(tree, "result_validity", "\"INVALID\"")),
    ("the same verdict once more", &[N33], |tree| twice(tree, "result_validity", "\"VALID\"")),
    ("a second name of the SUT", &[N33], |tree| twice(tree, "sut_name", "\"PySUT\"")),
    ("a second test between the marks for power meters", &[N33], |tree| {
        twice(tree, "power_end", "\"03-01-2025 12:20:00.000\"");
    }),
    ("a second verdict in the summary", &[N33], |tree| {
        tree.log("Server/performance", SUMMARY, |text| text + "Result is : INVALID\n");
    }),
    ("a run of TEST01 that is submitted", &[N32], |tree| {
        let key = "effective_accuracy_log_sampling_target";
        tree.entry("Server/performance", key, "4096", "accuracy_log_sampling_target");
    }),
    ("TEST01 at another speed", &[N21, N34], |tree| {
        let key = "result_samples_per_second";
        tree.entry("Offline/TEST01", key, "17000", "Samples per second");
    }),
];
