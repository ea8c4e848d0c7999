//! Record of a run, `result.json`: its settings, LoadGen's figures, and the times of its samples.
//!
//! Its schema, `result.schema.json` beside this crate's manifest, is generated from these types; a
//! test compares them.

mod digests;
mod node;
mod shortage;

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, Outcome, input::json};

pub use netdiv_contract::encoding::Encoding;
pub use netdiv_contract::v1::Decoding;
pub use netdiv_node_common::words::{DatasetPart, Division, Mode, PartName, Scenario, Transport};

pub use digests::{Comparison, Digests};
pub use node::{Distribution, Node, StageTimes, Tokens};
pub use shortage::Shortage;

/// A finished or failed run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// Verdict on the run.
    pub verdict: Verdict,
    /// Reasons, if the run is not valid.
    pub reasons: Vec<String>,
    /// Division that the run was made for.
    pub division: Division,
    /// True if rules of the division that the settings break were only noted: the run is for
    /// practice.
    pub rehearsal: bool,
    /// Findings about rules of the division: about the settings, from before the run, and about the
    /// answers, from after it.
    pub findings: Vec<Finding>,
    /// Findings about rules of the Network division that the run breaks, or that cannot be judged,
    /// and that its own division does not require: a LoadGen node that is also a SUT node, or a
    /// loopback address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Finding>,
    /// LoadGen's scenario.
    pub scenario: Scenario,
    /// LoadGen's mode.
    pub mode: Mode,
    /// Name of the benchmark: the model's name in user.conf.
    pub benchmark: String,
    /// Name of the data set.
    pub dataset: String,
    /// Number of samples in the data set.
    pub dataset_samples: u64,
    /// Part of the data set that the run used, if the data set has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset_part: Option<DatasetPart>,
    /// Manifests of the data set's parts, for each part that has one; samples were compared with
    /// them on loading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<Prepared>,
    /// Tensors of a decoded sample, as the nodes name them; a single text for bytes of unknown
    /// meaning.
    pub input: Vec<String>,
    /// Encoding of the samples.
    pub encoding: Encoding,
    /// Length of the samples that LoadGen loaded, as encoded.
    pub sample_bytes: Option<Lengths>,
    /// Number of tokens in the prompts that LoadGen loaded, each prompt counted once, if LoadGen
    /// counts tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<Distribution>,
    /// Carrier of the messages.
    pub transport: Carrier,
    /// True if nodes had to authenticate (TLS 1.3 with certificates).
    pub tls: bool,
    /// True if every message had a checksum (CRC32C).
    #[serde(default)]
    pub checksums: bool,
    /// LoadGen's metric for the scenario, from its log; absent in accuracy mode.
    pub metric: Option<Metric>,
    /// LoadGen's tokens per second, from its log, if it counts tokens.
    #[serde(default)]
    pub token_metric: Option<Metric>,
    /// Rate without ramp and drain, for a performance run that is long enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Accuracy, if there were labels.
    pub accuracy: Option<Accuracy>,
    /// Official script that computes the benchmark's accuracy from the accuracy log, if this
    /// program cannot.
    pub official_accuracy: Option<String>,
    /// LoadGen's latencies in nanoseconds, from its log, by the name of the statistic; empty in
    /// accuracy mode.
    pub loadgen_latency_ns: BTreeMap<String, f64>,
    /// Samples, as the Query Dispatch Library counted them.
    pub samples: Samples,
    /// LoadGen's name of the system under test.
    pub sut_name: Option<String>,
    /// Time that LoadGen waited for the SUT's name, in nanoseconds; it includes a round trip to
    /// every node.
    pub get_sut_name_duration_ns: Option<u64>,
    /// Nodes, over the whole run: both parts of a submission run, all probes of find-peak.
    pub nodes: Vec<Node>,
    /// Number of connections to each node.
    pub connections_per_node: u64,
    /// Number of streams of samples on each connection.
    pub streams_per_connection: u64,
    /// Start of LoadGen's test, by this machine's clock (RFC 3339, UTC).
    #[serde(default)]
    pub started: Option<String>,
    /// Duration of LoadGen's test, in seconds.
    pub test_seconds: f64,
    /// Programs of the run that were short of processor time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortages: Vec<Shortage>,
    /// Traffic of this machine's interfaces to the nodes during the test, by all programs.
    pub interfaces: Vec<InterfaceTraffic>,
    /// Evidence about the machines.
    pub evidence: Option<Evidence>,
    /// Comparison of every payload at both ends, for a run with digests.
    pub digests: Option<Digests>,
    /// Settings of this program, by key.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// SHA-256 of LoadGen's log files, in hex, by name.
    pub logs: BTreeMap<String, String>,
    /// All fields of LoadGen's TestSettings, as requested.
    pub test_settings: BTreeMap<String, String>,
    /// Resources that this process used.
    pub process: Process,
    /// Versions of the programs.
    pub versions: Versions,
}

/// Resources that the LoadGen node's process used, from its start to the end of the run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Peak resident memory, in bytes; 0 if unknown.
    pub peak_resident_bytes: u64,
    /// Processor time, user and system, in seconds; 0 if unknown.
    pub cpu_seconds: f64,
}

/// Rate between the completion of the first tenth of the samples and the completion of nine tenths,
/// from `series.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// Time between both completions, in seconds.
    pub seconds: f64,
    /// Samples completed per second.
    pub samples_per_second: f64,
    /// Tokens of complete answers per second, if they are counted.
    pub tokens_per_second: Option<f64>,
}

/// Verdict on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[derive(strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Verdict {
    /// LoadGen calls the result valid.
    Valid,
    /// An accuracy run has a response to every sample.
    Complete,
    /// The run finished, but LoadGen or a check found a fault in it.
    Invalid,
    /// The run did not finish.
    Failed,
}

/// A named value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name of the measured quantity.
    pub name: String,
    /// Value of the metric.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
}

/// Accuracy over the whole data set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Accuracy as a metric.
    pub metric: Metric,
    /// Value to five significant figures, rounded half to even, as results are reported (rules,
    /// section 4.1.1).
    pub reported: String,
    /// Number of samples whose response is right.
    pub correct: u64,
    /// Number of samples.
    pub total: u64,
}

/// Samples, as the Query Dispatch Library counted them over the whole run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Samples issued by LoadGen.
    pub issued: u64,
    /// Samples completed.
    pub completed: u64,
    /// Samples issued and never completed.
    pub lost: u64,
    /// Samples completed later than the latency bound, as LoadGen counts them; Server in
    /// performance mode only.
    pub late: Option<u64>,
}

/// Versions of the programs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Version of this program.
    pub loadgen_node: String,
    /// SHA-256 of the sources that this program was built from, in hex.
    pub sources_sha256: String,
    /// Version and git revision that LoadGen reports.
    pub loadgen: String,
    /// Origin of the LoadGen sources.
    pub loadgen_origin: String,
    /// Version of the wire contract.
    pub wire_contract: u32,
}

/// Manifest of a prepared data set (`deploy/data`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// File or folder with the samples.
    pub data_set: String,
    /// Benchmark that the data set was prepared for, without an accuracy target.
    pub benchmark: String,
    /// `validation` or `calibration`.
    pub subset: String,
    /// Form of a sample, such as `uint8`.
    pub samples_form: String,
    /// True for the complete published set.
    pub complete: bool,
    /// SHA-256 of the manifest, which contains the digest of every sample.
    pub manifest_sha256: String,
}

impl RunResult {
    /// Name of the file in a run's folder.
    pub(crate) const FILE: &str = "result.json";

    /// Parses a record.
    ///
    /// # Errors
    ///
    /// Returns the path, the line and the column of the invalid value.
    pub fn of(json: &[u8]) -> Result<Self, String> {
        json::from_slice(json).map_err(|error| format!("it is not a record of a run: {error}"))
    }

    /// Returns the sum of a counter over all nodes; `of` returns the counter of a node. A sum that
    /// exceeds the type becomes its maximum, because a record may contain any numbers.
    pub(crate) fn total(&self, of: fn(&Node) -> u64) -> u64 {
        self.nodes.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Returns this program's settings in the record; `None` if the record has no settings, or if the
    /// model ran in the process of the LoadGen node.
    pub(crate) fn recorded_settings(&self) -> Option<&BTreeMap<String, serde_json::Value>> {
        let are_known = !self.settings.is_empty() && !matches!(self.transport, Carrier::Process(_));
        are_known.then_some(&self.settings)
    }

    /// Returns the evidence about the machines; `None` for a run without a network.
    pub(crate) fn network_evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref().filter(|_| !matches!(self.transport, Carrier::Process(_)))
    }

    /// Returns true if LoadGen was configured to measure tokens.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.test_settings.get("use_token_latencies").is_some_and(|on| on == "true")
    }

    /// Returns the nodes with answers, for a run that completed.
    pub(crate) fn answering_nodes(&self) -> impl Iterator<Item = &Node> {
        let is_over = self.verdict != Verdict::Failed;
        self.nodes.iter().filter(move |node| is_over && node.answered > 0)
    }

    /// Returns the nodes with answers and their tokens, if LoadGen was configured to measure
    /// tokens.
    pub(crate) fn nodes_with_tokens(&self) -> impl Iterator<Item = (&Node, &Tokens)> {
        let nodes = self.answering_nodes().filter(|_| self.counts_tokens());
        nodes.filter_map(|node| Some((node, node.tokens.as_ref()?)))
    }

    /// Returns true if the byte counts of the nodes can be compared with the answers in LoadGen's
    /// log: the run completed in one mode, no node was lost, and responses were not compressed.
    pub(crate) fn has_comparable_answers(&self) -> bool {
        self.verdict != Verdict::Failed
            && self.mode != Mode::Submission
            && self.nodes.iter().all(|node| {
                node.lost.is_none()
                    && node.redispatched == 0
                    && node.response_encodings == [Encoding::None]
            })
    }

    /// Returns the number of first tokens that LoadGen received, each a response in addition to the
    /// complete one.
    pub(crate) fn first_tokens(&self) -> u64 {
        self.total(|node| match &node.tokens {
            Some(tokens) if tokens.first_ns.max > 0 => node.answered,
            _ => 0,
        })
    }
}

/// Lists the rules that findings call broken, each once, in a line; empty without such a rule.
pub fn broken_rules(findings: &[Finding]) -> String {
    let broken = findings.iter().filter(|finding| finding.outcome == Outcome::Fail);
    let rules: BTreeSet<_> = broken.map(|finding| finding.rule).collect();
    rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Carrier of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Carrier {
    /// A network.
    Network(Transport),
    /// No carrier: the model ran in the process of the LoadGen node.
    Process(InProcess),
}

impl std::fmt::Display for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Network(transport) => transport.fmt(f),
            Self::Process(word) => word.fmt(f),
        }
    }
}

/// Value for a run without a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InProcess {
    /// In the process of the LoadGen node.
    InProcess,
}

/// Minimum and maximum length, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// Minimum length.
    pub least: u64,
    /// Maximum length.
    pub most: u64,
}

/// Traffic of an interface.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceTraffic {
    /// Name of the interface.
    pub name: String,
    /// Bytes sent, headers included.
    pub bytes_sent: u64,
    /// Bytes received, headers included.
    pub bytes_received: u64,
}

/// Evidence about the machines.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Machine of the LoadGen node; its routes are in the order of the nodes.
    pub loadgen_node: Machine,
    /// Machines of the nodes, by the node's name.
    pub nodes: BTreeMap<String, Machine>,
}

#[cfg(test)]
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
        assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to regenerate it");
    }
}
