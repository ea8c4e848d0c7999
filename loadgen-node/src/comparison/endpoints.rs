//! Results of MLPerf Endpoints: `result_summary.json`, as its client writes it
//! (mlcommons/endpoints, `metrics/report.py` at ea332753).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use netdiv_node_common::resources::{files, json};
use netdiv_rules::Scenario;
use serde::Deserialize;
use serde_json::Value;

use super::subject::{MeasuredFigure, Subject, SubjectKind};
use crate::{
    RunError,
    recording::{LATENCIES, PERCENTILES, histograms::Histograms},
};

const FILE: &str = "result_summary.json";

/// Keys of a summary that netdiv reads. The client may write more.
#[derive(Debug, Deserialize)]
struct Summary {
    version: String,
    git_sha: Option<String>,
    state: String,
    complete: bool,
    n_samples_issued: u64,
    n_samples_completed: u64,
    n_samples_failed: u64,
    legacy_loadgen_window_duration_ns: Option<u64>,
    qps: Option<f64>,
    tps: Option<f64>,
    #[serde(default)]
    ttft: SummarySeries,
    #[serde(default)]
    tpot: SummarySeries,
    #[serde(default)]
    latency: SummarySeries,
    #[serde(default)]
    input_sequence_lengths: SummarySeries,
    #[serde(default)]
    output_sequence_lengths: SummarySeries,
    #[serde(default)]
    finish_reason_counts: BTreeMap<String, u64>,
    #[serde(default)]
    run_config: Value,
}

/// Statistics of a series of values. Empty if there were no values.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SummarySeries {
    avg: Option<f64>,
    max: Option<f64>,
    percentiles: BTreeMap<String, f64>,
}

impl SummarySeries {
    /// Returns a percentile. Its key may be `99` or `99.0`.
    fn percentile(&self, wanted: &str) -> Option<f64> {
        let wanted = wanted.parse::<f64>();
        let found = self.percentiles.iter().find(|(key, _)| key.parse::<f64>() == wanted);
        found.map(|(_, value)| *value)
    }
}

/// Returns the path of the summary in a folder, or in its subfolder `performance/`, where
/// submissions have it.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let places = [folder.join(FILE), folder.join("performance").join(FILE)];
    places.into_iter().find(|path| path.is_file())
}

pub(super) fn read(folder: &Path, path: &Path) -> Result<Subject, RunError> {
    let refused = |why: String| RunError::Usage(format!("{}: {why}", path.display()));
    let text = files::read_text(path).map_err(|error| refused(error.to_string()))?;
    let summary: Summary = json::from_slice(text.as_bytes())
        .map_err(|error| refused(format!("not a summary of MLPerf Endpoints' client: {error}")))?;
    if !summary.complete {
        return Err(refused(format!(
            "the run is incomplete (state `{}`): repeat it, and let it finish",
            summary.state
        )));
    }
    let scenario = scenario(&summary).map_err(refused)?;
    let workload = workload(&summary);
    Ok(Subject {
        folder: folder.into(),
        kind: SubjectKind::Endpoints { scenario },
        facts: facts(&summary).into_iter().chain(workload.clone()).collect(),
        workload,
        remarks: remarks(&summary, scenario),
        figures: figures(&summary, scenario),
        histograms: Histograms::default(),
    })
}

/// Returns the scenario of LoadGen that matches the load pattern.
fn scenario(summary: &Summary) -> Result<Scenario, String> {
    match summary.run_config.pointer("/load_pattern/type").and_then(Value::as_str) {
        Some("max_throughput") => Ok(Scenario::Offline),
        Some("poisson") => Ok(Scenario::Server),
        Some(other) => Err(format!(
            "no scenario of LoadGen has the load pattern `{other}`: compare runs with the pattern poisson (server) or \
             max_throughput (offline)"
        )),
        // Endpoints writes this duration for the pattern `poisson` only.
        None if summary.legacy_loadgen_window_duration_ns.is_some() => Ok(Scenario::Server),
        None => {
            Err("the load pattern (run_config) is missing: repeat the run with a newer client"
                .into())
        }
    }
}

/// Returns the figures, under the names that runs of LoadGen use.
fn figures(summary: &Summary, scenario: Scenario) -> Vec<MeasuredFigure> {
    let completed = if scenario == Scenario::Server { "completed " } else { "" };
    let rate = |(what, value): (&str, Option<f64>)| {
        let name = format!("{completed}{what} per second");
        Some(MeasuredFigure::new(name, &format!("{what}/s"), vec![value?]))
    };
    let rates = [("samples", summary.qps), ("tokens", summary.tps)].into_iter().filter_map(rate);
    let series = |what: &str| match what {
        "TTFT" => &summary.ttft,
        "TPOT" => &summary.tpot,
        _ => &summary.latency,
    };
    let kinds = LATENCIES.iter().filter(|_| scenario != Scenario::Offline);
    let latencies = kinds.flat_map(|(_, what)| {
        PERCENTILES.iter().filter_map(move |(percentile, shown)| {
            let ns = series(what).percentile(percentile)?;
            Some(MeasuredFigure::new(format!("{what} {shown}"), "ns", vec![ns]))
        })
    });
    rates.chain(latencies).collect()
}

fn facts(summary: &Summary) -> BTreeMap<String, String> {
    let commit = summary.git_sha.as_ref().map(|sha| format!(" ({sha})")).unwrap_or_default();
    let version = format!("{}{commit}", summary.version);
    [("version of MLPerf Endpoints' client".to_owned(), version)].into()
}

fn workload(summary: &Summary) -> BTreeMap<String, String> {
    let lengths =
        |series: &SummarySeries| Some(format!("mean {:.2}, max {}", series.avg?, series.max?));
    let Summary { version, n_samples_issued, n_samples_completed, .. } = summary;
    let finish = summary.finish_reason_counts.iter().filter(|(_, count)| **count > 0);
    let finish: Vec<_> = finish.map(|(reason, count)| format!("{reason} {count}")).collect();
    [
        ("client", Some(format!("MLPerf Endpoints {version}"))),
        ("samples", Some(format!("{n_samples_issued} issued, {n_samples_completed} completed"))),
        ("tokens of a prompt", lengths(&summary.input_sequence_lengths)),
        ("tokens of an output", lengths(&summary.output_sequence_lengths)),
        ("finish reasons", (!finish.is_empty()).then(|| finish.join(", "))),
    ]
    .into_iter()
    .filter_map(|(what, value)| Some((what.to_owned(), value?)))
    .collect()
}

/// Returns the differences between how the client of Endpoints and LoadGen count.
fn remarks(summary: &Summary, scenario: Scenario) -> Vec<String> {
    let mut remarks = vec![
        "tokens: Endpoints counts the tokens that its tokenizer makes from the text, LoadGen the ids that a node reports".to_owned(),
        "order: both clients have seeds, but they issue samples in different orders".into(),
    ];
    match (scenario, summary.legacy_loadgen_window_duration_ns) {
        (Scenario::Server, Some(_)) => remarks.push(
            "rate: both clients divide all samples but one by the time from the first query to the end of the query issued last".into(),
        ),
        (Scenario::Server, None) => remarks.push(
            "rate: Endpoints divides all samples by the whole run, LoadGen divides all but one by the time to the end of the query issued last"
                .into(),
        ),
        _ => {}
    }
    if scenario == Scenario::Server {
        remarks.extend([
            "latency: Endpoints counts from when its client issued a request, LoadGen from when the query was due: a late client \
             shows in LoadGen's figures only"
                .into(),
            "TTFT: Endpoints counts to the first chunk of text, LoadGen to the first token".into(),
            "TPOT: Endpoints divides the time after the first chunk by the tokens after it, LoadGen the time after the first token by \
             all tokens but one"
                .into(),
        ]);
    }
    if summary.n_samples_failed > 0 {
        remarks.push(format!(
            "failures: {} samples failed; Endpoints continues after a failure, but in LoadGen a failed sample makes the run invalid",
            summary.n_samples_failed
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn summary() -> Value {
        let series =
            json!({"avg": 5.5, "max": 9, "percentiles": {"99.9": 9e6, "99.0": 8e6, "50": 4e6}});
        json!({
            "version": "0.5.0", "git_sha": "ea332753", "test_started_at": 0, "state": "complete", "complete": true,
            "n_samples_issued": 700, "n_samples_completed": 699, "n_samples_failed": 1, "duration_ns": 7_000_000_000_u64,
            "legacy_loadgen_window_duration_ns": 6_990_000_000_u64, "qps": 99.8, "tps": 549.0,
            "ttft": series, "tpot": series, "latency": series,
            "input_sequence_lengths": series, "output_sequence_lengths": {},
            "finish_reason_counts": {"stop": 690, "length": 9, "other": 0},
            "run_config": {"load_pattern": {"type": "poisson", "target_qps": 100.0}, "warmup": {}, "scheduler_random_seed": 42},
        })
    }

    fn read_as(summary: &Value) -> Result<Subject, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("performance")).unwrap();
        std::fs::write(folder.path().join("performance").join(FILE), summary.to_string()).unwrap();
        read(folder.path(), &find(folder.path()).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn figures_have_the_names_of_a_run() {
        let subject = read_as(&summary()).unwrap();
        assert_eq!(subject.kind, SubjectKind::Endpoints { scenario: Scenario::Server });
        assert_eq!(subject.values("completed samples per second"), Some(vec![99.8]));
        assert_eq!(subject.values("completed tokens per second"), Some(vec![549.0]));
        assert_eq!(subject.values("TTFT p99"), Some(vec![8e6]));
        assert_eq!(subject.values("TPOT p50"), Some(vec![4e6]));
        assert_eq!(subject.values("latency p99.9"), Some(vec![9e6]));
        assert_eq!(subject.values("latency p90"), None);
        assert_eq!(subject.workload["finish reasons"], "length 9, stop 690");
        assert_eq!(subject.workload["tokens of a prompt"], "mean 5.50, max 9");
        assert!(subject.remarks.iter().any(|one| one.starts_with("failures: 1 samples")));
    }

    #[test]
    fn a_summary_that_cannot_be_compared_is_refused() {
        for (key, value, why) in [
            ("complete", json!(false), "is incomplete (state `complete`)"),
            (
                "run_config",
                json!({"load_pattern": {"type": "concurrency"}}),
                "has the load pattern `concurrency`",
            ),
            ("qps", json!("many"), "not a summary of MLPerf Endpoints' client: qps: invalid type"),
            ("n_samples_issued", json!(-1), "not a summary"),
        ] {
            let mut changed = summary();
            changed[key] = value;
            let refused = read_as(&changed).unwrap_err();
            assert!(refused.contains(why) && refused.contains(FILE), "{refused}");
        }
        let mut changed = summary();
        changed["run_config"] = Value::Null;
        assert!(read_as(&changed).is_ok());
        changed["legacy_loadgen_window_duration_ns"] = Value::Null;
        assert!(
            read_as(&changed).unwrap_err().contains("the load pattern (run_config) is missing")
        );
    }
}
