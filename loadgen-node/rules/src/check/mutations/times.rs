//! Edits of what LoadGen's logs and the record say of times and of what was measured in them.

use super::{Row, Tree, tree::HOME};
use crate::{
    Rule::*,
    tree::{DETAIL, SUMMARY},
};

const OFFLINE: &str = "Offline/performance";
const SERVER: &str = "Server/performance";

/// Edits the time of all entries of a detail log.
fn clock(tree: &Tree, run: &str, from: &str, to: &str) {
    tree.log(run, DETAIL, |text| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
}

/// Edits a setting that ends a run wherever it is.
fn end(tree: &Tree, run: &str, [setting, line, key]: [&str; 3], value: &str) {
    tree.entry(run, &format!("requested_{setting}"), value, "");
    tree.entry(run, &format!("effective_{setting}"), value, line);
    tree.record(run, |record| {
        record.test_settings.insert(setting.into(), value.into());
    });
    let (scenario, _) = run.split_once('/').unwrap();
    let path = format!("{HOME}/measurements/two-H100-nodes/resnet50/{scenario}/user.conf");
    let text = tree.read(&path);
    let lines = text.lines().filter(|line| !line.contains(key));
    tree.write(&path, &lines.map(|line| format!("{line}\n")).collect::<String>());
}

/// Edits a latency in both logs and in the record, as one who covers it up would.
fn latency(tree: &Tree, run: &str, [key, line, name]: [&str; 3], ns: u64) {
    tree.entry(run, key, &ns.to_string(), line);
    tree.record(run, |record| {
        *record.loadgen_latency_ns.get_mut(name).unwrap() = ns as f64;
    });
}

const MIN: [&str; 3] = ["result_min_latency_ns", "Min latency (ns)", "min"];
const MEAN: [&str; 3] = ["result_mean_latency_ns", "Mean latency (ns)", "mean"];
const P50: [&str; 3] =
    ["result_50.00_percentile_latency_ns", "50.00 percentile latency (ns)", "50.00"];
const P90: [&str; 3] =
    ["result_90.00_percentile_latency_ns", "90.00 percentile latency (ns)", "90.00"];
const P999: [&str; 3] =
    ["result_99.90_percentile_latency_ns", "99.90 percentile latency (ns)", "99.90"];

pub(super) const ROWS: &[Row] = &[
    ("a Server schedule of 300 s", &[N32], |tree| {
        // All that follows from it is edited along.
        tree.entry(SERVER, "generated_query_duration", "300000000000", "");
        tree.entry(SERVER, "power_end", "\"03-01-2025 12:05:00.110\"", "");
        let line = "Scheduled samples per second";
        tree.entry(SERVER, "result_scheduled_samples_per_sec", "35982", line);
        let line = "Completed samples per second";
        tree.entry(SERVER, "result_completed_samples_per_sec", "35982", line);
        for run in ["TEST01", "TEST04"].map(|test| format!("Server/{test}")) {
            tree.entry(&run, "result_scheduled_samples_per_sec", "34920", "");
            tree.entry(&run, "result_completed_samples_per_sec", "34920", line);
            tree.entry(&run, "generated_query_duration", "300500000000", "");
            tree.entry(&run, "power_end", "\"03-01-2025 12:05:00.600\"", "");
            tree.record(&run, |record| {
                record.metric.as_mut().unwrap().value = 34_920.0;
                record.test_seconds = 301.0;
            });
            clock(tree, &run, "\"time_ms\": 601", "\"time_ms\": 300");
        }
        clock(tree, SERVER, "\"time_ms\": 601", "\"time_ms\": 300");
        tree.record(SERVER, |record| {
            record.metric.as_mut().unwrap().value = 35_982.0;
            record.test_seconds = 301.0;
        });
        for test in ["TEST01", "TEST04"] {
            let path = tree.folder(&format!("Server/{test}"));
            let folder = path.trim_end_matches("/performance/run_1");
            let text = "reference score = 35982\ntest score = 34920\nTEST PASS\n";
            tree.write(&format!("{folder}/verify_performance.txt"), text);
        }
    }),
    ("power marks of a minute", &[N21], |tree| {
        tree.entry(OFFLINE, "power_end", "\"03-01-2025 12:01:00.100\"", "");
    }),
    ("power marks of an hour", &[N21], |tree| {
        tree.entry(SERVER, "power_end", "\"03-01-2025 13:00:00.100\"", "");
    }),
    ("power marks in another order", &[N21], |tree| {
        tree.entry(SERVER, "power_end", "\"03-01-2025 11:00:00.100\"", "");
    }),
    ("a power mark that is none", &[N21], |tree| {
        tree.entry(SERVER, "power_begin", "\"yesterday\"", "");
    }),
    ("a log of a few seconds", &[N21], |tree| {
        clock(tree, OFFLINE, "\"time_ms\": 660", "\"time_ms\": 1");
    }),
    ("a log of a few seconds, in Server", &[N21], |tree| {
        clock(tree, SERVER, "\"time_ms\": 601", "\"time_ms\": 6");
    }),
    ("a log of hours", &[N21], |tree| {
        clock(tree, SERVER, "\"time_ms\": 601", "\"time_ms\": 6010");
    }),
    ("a log without times", &[N21], |tree| {
        clock(tree, OFFLINE, "\"time_ms\"", "\"time\"");
    }),
    ("an accuracy run that took less than its log", &[N21], |tree| {
        tree.record("Server/accuracy", |record| record.test_seconds = 1.5);
    }),
    ("an accuracy run that took hours more than its log", &[N21], |tree| {
        tree.record("Offline/accuracy", |record| record.test_seconds = 5000.0);
    }),
    ("a schedule that is not the rate's", &[N21], |tree| {
        tree.entry(SERVER, "generated_query_duration", "1200000000000", "");
    }),
    ("another scheduled rate", &[N21], |tree| {
        let line = "Scheduled samples per second";
        tree.entry(SERVER, "result_scheduled_samples_per_sec", "17900", line);
    }),
    ("one per cent more in Server", &[N21, N34], |tree| {
        let line = "Completed samples per second";
        tree.entry(SERVER, "result_completed_samples_per_sec", "18170.9", line);
        tree.record(SERVER, |record| record.metric.as_mut().unwrap().value = 18_170.9);
    }),
    ("one per cent more in Offline", &[N21, N34], |tree| {
        tree.entry(OFFLINE, "result_samples_per_second", "20190", "Samples per second");
        tree.record(OFFLINE, |record| record.metric.as_mut().unwrap().value = 20_190.0);
    }),
    ("a median over the 90th percentile", &[N21], |tree| latency(tree, SERVER, P50, 7_500_000)),
    ("a 90th percentile under the median", &[N21], |tree| latency(tree, OFFLINE, P90, 1)),
    ("a 99.9th percentile over the greatest", &[N21], |tree| {
        latency(tree, SERVER, P999, 10_000_001);
    }),
    ("a least latency over the median", &[N21], |tree| latency(tree, SERVER, MIN, 4_000_001)),
    ("a mean over the greatest", &[N21], |tree| latency(tree, SERVER, MEAN, 10_000_001)),
    ("a mean under the least", &[N21], |tree| latency(tree, SERVER, MEAN, 99_999)),
    ("late queries that nothing shows", &[N21], |tree| {
        tree.entry(SERVER, "result_overlatency_query_count", "7", "");
        tree.record(SERVER, |record| record.samples.late = Some(7));
    }),
    ("a greatest latency that nobody counted as late", &[N21], |tree| {
        let max = ["result_max_latency_ns", "Max latency (ns)", "max"];
        latency(tree, SERVER, max, 15_000_001);
    }),
    ("a node whose median is over its greatest time", &[N21], |tree| {
        tree.record(SERVER, |record| record.nodes[0].latency_ns.p50 = 1_000_000_000);
    }),
    ("a node whose mean is over its greatest time", &[N21], |tree| {
        tree.record(SERVER, |record| record.nodes[1].stages_ns.compute.mean = 1e12);
    }),
    ("fewer queries than the least number", &[N32], |tree| {
        let key = "effective_min_query_count";
        tree.entry(SERVER, key, "99000000", "min_query_count");
    }),
    ("a duration that LoadGen does not call met", &[N33], |tree| {
        tree.entry(SERVER, "result_min_duration_met", "false", "Min duration satisfied");
        tree.log(SERVER, SUMMARY, |text| text.replace("satisfied : false", "satisfied : NO"));
    }),
    ("a number of queries that LoadGen does not call met", &[N33], |tree| {
        tree.entry(OFFLINE, "result_min_queries_met", "false", "");
        tree.log(OFFLINE, SUMMARY, |text| {
            text.replace("Min queries satisfied : Yes", "Min queries satisfied : NO")
        });
    }),
    ("a latency bound that LoadGen does not call met", &[N33], |tree| {
        tree.entry(SERVER, "result_perf_constraints_met", "false", "");
        tree.log(SERVER, SUMMARY, |text| {
            text.replace("constraints satisfied : Yes", "constraints satisfied : NO")
        });
    }),
    ("a valid result with a reason why it is none", &[N33], |tree| {
        tree.log(SERVER, DETAIL, |text| {
            text + ":::MLLOG {\"key\": \"result_invalid_reason\", \"value\": \"Reduce target QPS\", \
                    \"time_ms\": 601050.1, \"metadata\": {\"is_error\": false}}\n"
        });
    }),
    ("a summary that is not satisfied", &[N21], |tree| {
        tree.log(SERVER, SUMMARY, |text| {
            text.replace("Min duration satisfied : Yes", "Min duration satisfied : NO")
        });
    }),
    ("a summary with errors", &[N33], |tree| {
        tree.log(SERVER, SUMMARY, |text| {
            text.replace(
                "No errors encountered during test.",
                "2 ERRORS encountered. See detailed log.",
            )
        });
    }),
    ("another median in the summary", &[N21], |tree| {
        tree.log(SERVER, SUMMARY, |text| {
            text.replace("latency (ns)   : 4000000", "latency (ns)   : 1000000")
                .replace(": 4000000\n90", ": 1000000\n90")
        });
    }),
    ("another greatest number of queries in the summary", &[N21], |tree| {
        tree.log(SERVER, SUMMARY, |text| {
            text.replace("max_query_count : 0", "max_query_count : 5")
        });
    }),
    ("a greatest number of queries", &[N2, N32], |tree| {
        let names = ["max_query_count", "max_query_count", "max_query_count"];
        end(tree, SERVER, names, "100000000");
    }),
    ("a greatest duration", &[N2, N32], |tree| {
        let names = ["max_duration_ms", "max_duration (ms)", "max_duration"];
        end(tree, OFFLINE, names, "60000");
    }),
];
