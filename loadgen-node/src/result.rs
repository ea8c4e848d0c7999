//! `result.json`: what a run was, what LoadGen says of it, and where the time went.
//!
//! Its schema is `loadgen-node/result.schema.json`, generated from these types; a test keeps them together.

use std::collections::BTreeMap;

use loadgen_sys::{Mode, Scenario};
use netdiv_qdl::NodeReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    args::{mode_name, scenario_name},
    error::EXIT_FAILED,
    official_log::DetailLog,
};

/// A finished or failed run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// How the run ended.
    pub verdict: Verdict,
    /// Why, when it is not valid.
    pub reasons: Vec<String>,
    /// offline, server, single-stream or multi-stream.
    pub scenario: String,
    /// performance, accuracy, submission or find-peak.
    pub mode: String,
    /// The benchmark: the model's name in user.conf.
    pub benchmark: String,
    /// Name of the data set.
    pub dataset: String,
    /// Number of samples in the data set.
    pub dataset_samples: u64,
    /// How samples were encoded.
    pub encoding: String,
    /// How messages travelled: `grpc` or `quic`.
    pub transport: String,
    /// Whether nodes had to prove who they are (TLS 1.3 with certificates).
    pub tls: bool,
    /// LoadGen's metric for the scenario, from its log; absent in accuracy mode.
    pub metric: Option<Metric>,
    /// Accuracy, when labels were given.
    pub accuracy: Option<Accuracy>,
    /// The official script that computes the benchmark's accuracy from the accuracy log, where this program cannot.
    pub official_accuracy: Option<String>,
    /// LoadGen's latencies in nanoseconds, from its log, by the name of the statistic; empty in accuracy
    /// mode.
    pub loadgen_latency_ns: BTreeMap<String, f64>,
    /// Samples, as the Query Dispatch Library counted them.
    pub samples: Samples,
    /// What LoadGen calls the system under test.
    pub sut_name: Option<String>,
    /// Time that LoadGen waited for that name, in nanoseconds; it includes a round trip to every node.
    pub get_sut_name_duration_ns: Option<u64>,
    /// Node by node, over the whole run: both parts of a submission run, all probes of find-peak.
    pub nodes: Vec<Node>,
    /// Every field of LoadGen's TestSettings, as asked for.
    pub test_settings: BTreeMap<String, String>,
    /// What this process used.
    pub process: Process,
    /// Versions of the programs.
    pub versions: Versions,
}

/// What the LoadGen node's process used, from its start to the end of the run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Most memory that was resident, in bytes; 0 where the system does not say.
    pub peak_resident_bytes: u64,
    /// Processor time, user and system, in seconds; 0 where the system does not say.
    pub cpu_seconds: f64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// LoadGen calls the result valid.
    Valid,
    /// An accuracy run has a response to every sample.
    Complete,
    /// The run finished; LoadGen or a check finds fault with it.
    Invalid,
    /// The run did not finish.
    Failed,
}

impl Verdict {
    /// The process's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Valid | Self::Complete => 0,
            Self::Invalid => 1,
            Self::Failed => EXIT_FAILED,
        }
    }
}

/// A named value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// What is measured.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// Accuracy over the whole data set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// The value.
    pub metric: Metric,
    /// The value to five significant figures, half to even, as results are reported (rules, section 4.1.1).
    pub reported: String,
    /// Samples whose response is right.
    pub correct: u64,
    /// Samples.
    pub total: u64,
}

/// Samples, as the Query Dispatch Library counted them over the whole run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Issued by LoadGen.
    pub issued: u64,
    /// Answered.
    pub completed: u64,
    /// Issued and never answered.
    pub lost: u64,
    /// Answered later than the latency bound, as LoadGen counts it; Server in performance mode only.
    pub late: Option<u64>,
}

/// One SUT node.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its engine.
    pub engine: String,
    /// Its model.
    pub model: String,
    /// SHA-256 of the model file, in hex; empty without a model.
    pub model_sha256: String,
    /// SHA-256 of its configuration, in hex.
    pub config_sha256: String,
    /// Version of its program.
    pub software_version: String,
    /// Samples sent to it.
    pub sent: u64,
    /// Samples that it answered.
    pub answered: u64,
    /// Replies that belonged to no sample in flight, and were dropped.
    pub unmatched_replies: u64,
    /// Payload bytes sent to it, as encoded.
    pub bytes_sent: u64,
    /// Response bytes received from it, as encoded.
    pub bytes_received: u64,
    /// Number of batches by their size in samples.
    pub batches: BTreeMap<u32, u64>,
    /// From IssueQuery to completion, in nanoseconds.
    pub latency_ns: Distribution,
    /// Where that time went.
    pub stages_ns: StageTimes,
}

/// Where the time of samples went, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageTimes {
    /// From IssueQuery until the sample was handed to the transport.
    pub qdl_queue: Distribution,
    /// On the way to the node and back: the round trip without the time at the node.
    pub network: Distribution,
    /// At the node, waiting for a batch.
    pub sut_queue: Distribution,
    /// At the node, in the engine.
    pub compute: Distribution,
}

/// A distribution of times, in nanoseconds; zeros when there was no sample.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// Maximum.
    pub max: u64,
}

/// Versions of the programs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Version of this program.
    pub loadgen_node: String,
    /// Version and git revision that LoadGen reports.
    pub loadgen: String,
    /// Where the LoadGen sources came from.
    pub loadgen_origin: String,
    /// Version of the wire contract.
    pub wire_contract: u32,
}

impl Process {
    /// So far, from Linux's `/proc`.
    pub fn current() -> Self {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        let status = read("/proc/self/status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        Self {
            peak_resident_bytes: kibibytes.unwrap_or(0) * 1024,
            cpu_seconds: cpu_seconds(&read("/proc/self/stat")),
        }
    }
}

/// User and system time in the text of `/proc/PID/stat`, in seconds.
pub fn cpu_seconds(stat: &str) -> f64 {
    // After the name in brackets, which may hold anything, the 12th and 13th fields, in ticks of 10 ms.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let ticks = fields.into_iter().flatten().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() as f64 / 100.0
}

impl Versions {
    /// Those of this program.
    pub(crate) fn current() -> Self {
        Self {
            loadgen_node: env!("CARGO_PKG_VERSION").into(),
            loadgen: loadgen_sys::version(),
            loadgen_origin: loadgen_sys::origin().into(),
            wire_contract: netdiv_proto::PROTOCOL_VERSION,
        }
    }
}

impl Distribution {
    fn of(histogram: &hdrhistogram::Histogram<u64>) -> Self {
        Self {
            mean: histogram.mean(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            p99_9: histogram.value_at_quantile(0.999),
            max: histogram.max(),
        }
    }
}

impl Node {
    /// From what the node said of itself and what was counted.
    pub(crate) fn new(info: &netdiv_qdl::NodeInfo, report: &NodeReport) -> Self {
        let d = &info.description;
        // Each reply names its batch's size, so a batch of n samples is counted n times.
        let batches =
            |(size, samples): (&u32, &u64)| (*size, samples.div_ceil((*size).max(1).into()));
        Self {
            name: d.node_name.clone(),
            address: info.address.clone(),
            engine: d.engine.clone(),
            model: d.model_name.clone(),
            model_sha256: d.model_sha256.clone(),
            config_sha256: d.config_sha256.clone(),
            software_version: d.software_version.clone(),
            sent: report.sent,
            answered: report.answered,
            unmatched_replies: report.unmatched,
            bytes_sent: report.bytes_sent,
            bytes_received: report.bytes_received,
            batches: report.samples_by_batch.iter().map(batches).collect(),
            latency_ns: Distribution::of(&report.latency),
            stages_ns: StageTimes {
                qdl_queue: Distribution::of(&report.stages.qdl_queue),
                network: Distribution::of(&report.stages.network),
                sut_queue: Distribution::of(&report.stages.sut_queue),
                compute: Distribution::of(&report.stages.compute),
            },
        }
    }
}

/// LoadGen's metric of the scenario (rules, section 3). For the streams it is the early-stopping estimate of the
/// percentile (Appendix A), as in the official checker; the percentile as measured where there is none.
pub(crate) fn metric(scenario: Scenario, log: &DetailLog) -> Option<Metric> {
    let choices: &[(&str, &str, &str)] = match scenario {
        Scenario::Offline => &[("result_samples_per_second", "samples per second", "samples/s")],
        Scenario::Server => {
            &[("result_completed_samples_per_sec", "completed samples per second", "samples/s")]
        }
        Scenario::SingleStream => &[
            ("early_stopping_latency_ss", "90th percentile latency, early-stopping estimate", "ns"),
            ("result_90.00_percentile_latency_ns", "90th percentile latency, as measured", "ns"),
        ],
        Scenario::MultiStream => &[
            (
                "early_stopping_latency_ms",
                "99th percentile query latency, early-stopping estimate",
                "ns",
            ),
            (
                "result_99.00_percentile_per_query_latency_ns",
                "99th percentile query latency, as measured",
                "ns",
            ),
        ],
    };
    choices.iter().find_map(|(key, name, unit)| {
        let value = log.number(key).filter(|value| *value > 0.0)?;
        Some(Metric { name: (*name).into(), value, unit: (*unit).into() })
    })
}

/// LoadGen's latencies: `result_mean_latency_ns` becomes `mean`.
pub(crate) fn latencies(log: &DetailLog) -> BTreeMap<String, f64> {
    let name = |key: &str| {
        let name = key.strip_prefix("result_")?.strip_suffix("latency_ns")?;
        Some(name.trim_end_matches('_').replace("_percentile", ""))
    };
    log.numbers("result_").filter_map(|(key, value)| Some((name(key)?, value))).collect()
}

impl RunResult {
    /// Scenario and mode in the words of the command line.
    pub(crate) fn words(scenario: Scenario, mode: Mode) -> (String, String) {
        (scenario_name(scenario).into(), mode_name(mode).into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_schema_is_that_of_the_types() {
        let schema = schemars::schema_for!(RunResult);
        let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/result.schema.json");
        if std::env::var_os("NETDIV_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &schema).unwrap();
        }
        let checked_in = std::fs::read_to_string(path).unwrap();
        assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to renew it");
    }
}
