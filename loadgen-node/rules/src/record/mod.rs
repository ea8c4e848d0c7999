//! `result.json`: what a run was, what LoadGen says of it, and where the time went.
//!
//! Its schema is `result.schema.json` beside this crate's manifest, generated from these types; a test keeps them together.

mod digests;
mod node;

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::v1::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, Outcome, input::json};

pub use netdiv_contract::encoding::Encoding;
pub use netdiv_node_common::words::{Division, Mode, Scenario, Transport};

pub use digests::{Comparison, Digests};
pub use node::{Distribution, Node, StageTimes, Tokens};

/// A finished or failed run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// How the run ended.
    pub verdict: Verdict,
    /// Why, when it is not valid.
    pub reasons: Vec<String>,
    /// What the run was made for.
    pub division: Division,
    /// Whether rules of the division that the settings break were only noted: such a run is for practice.
    pub rehearsal: bool,
    /// Those rules, as they were found before the run; what its answers break, as it was found after it.
    pub findings: Vec<Finding>,
    /// Rules of the Network division that the run does not keep, or of which it cannot be told, and that its own division does not
    /// ask for: a LoadGen node that is also a SUT node, or a loopback address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Finding>,
    /// LoadGen's scenario.
    pub scenario: Scenario,
    /// LoadGen's mode.
    pub mode: Mode,
    /// The benchmark: the model's name in user.conf.
    pub benchmark: String,
    /// Name of the data set.
    pub dataset: String,
    /// Number of samples in the data set.
    pub dataset_samples: u64,
    /// What the data set was prepared from, for each of its parts that has a manifest; samples were compared with it as they were
    /// loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<Prepared>,
    /// What a sample holds once decoded, tensor by tensor, as the nodes name them; one text where they are bytes of unknown
    /// meaning.
    pub input: Vec<String>,
    /// How samples were encoded.
    pub encoding: Encoding,
    /// Length of the samples that LoadGen had loaded, as encoded.
    pub sample_bytes: Option<Lengths>,
    /// Tokens of the prompts that LoadGen had loaded, each counted once, where it counts tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<Distribution>,
    /// How messages travelled.
    pub transport: Carrier,
    /// Whether nodes had to prove who they are (TLS 1.3 with certificates).
    pub tls: bool,
    /// Whether every message had a checksum (CRC32C).
    #[serde(default)]
    pub checksums: bool,
    /// LoadGen's metric for the scenario, from its log; absent in accuracy mode.
    pub metric: Option<Metric>,
    /// LoadGen's tokens per second, from its log, where it counts tokens.
    #[serde(default)]
    pub token_metric: Option<Metric>,
    /// The rate without ramp and drain, of a performance run that is long enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
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
    /// Connections to each node.
    pub connections_per_node: u64,
    /// Streams of samples on each connection.
    pub streams_per_connection: u64,
    /// When LoadGen's test began, by this machine's clock (RFC 3339, UTC).
    #[serde(default)]
    pub started: Option<String>,
    /// Time from the start of LoadGen's test to its end, in seconds.
    pub test_seconds: f64,
    /// What this machine's interfaces to the nodes have carried in that time, whoever it was from.
    pub interfaces: Vec<InterfaceTraffic>,
    /// What the machines are.
    pub evidence: Option<Evidence>,
    /// Whether every byte arrived as it was sent, where the run was asked to prove it.
    pub digests: Option<Digests>,
    /// The settings of this program, as they were given.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// SHA-256 of LoadGen's log files, in hex, by their name.
    pub logs: BTreeMap<String, String>,
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

/// The rate between the answer to the first tenth of the samples and that to the last but a tenth, from `series.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steady {
    /// Time from the one to the other.
    pub seconds: f64,
    /// Samples answered per second.
    pub samples_per_second: f64,
    /// Tokens of whole answers per second, where they are counted.
    pub tokens_per_second: Option<f64>,
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

/// Versions of the programs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Version of this program.
    pub loadgen_node: String,
    /// SHA-256 of the sources that this program was made of, in hex.
    pub sources_sha256: String,
    /// Version and git revision that LoadGen reports.
    pub loadgen: String,
    /// Where the LoadGen sources came from.
    pub loadgen_origin: String,
    /// Version of the wire contract.
    pub wire_contract: u32,
}

/// What the manifest of a prepared data set says (`deploy/data`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The file or folder with the samples.
    pub data_set: String,
    /// The benchmark that it was prepared for, without an accuracy target.
    pub benchmark: String,
    /// `validation` or `calibration`.
    pub subset: String,
    /// What a sample is, such as `uint8`.
    pub samples_form: String,
    /// Whether it is the published set, whole.
    pub complete: bool,
    /// SHA-256 of the manifest, which has the digest of every sample.
    pub manifest_sha256: String,
}

impl RunResult {
    /// Name of the file in a run's folder.
    pub(crate) const FILE: &str = "result.json";

    /// What the file says.
    pub(crate) fn of(json: &[u8]) -> Result<Self, String> {
        json::from_slice(json).map_err(|error| format!("it is no record of a run: {error}"))
    }

    /// The sum over all nodes. A record may say anything: it stays within what a number can be.
    pub(crate) fn total(&self, of: fn(&Node) -> u64) -> u64 {
        self.nodes.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the settings that the run was given; `None` where it recorded none, or where the machines have them.
    pub(crate) fn given_settings(&self) -> Option<&BTreeMap<String, serde_json::Value>> {
        let are_known = !self.settings.is_empty() && !matches!(self.transport, Carrier::Process(_));
        are_known.then_some(&self.settings)
    }

    /// Returns the evidence of a run over a network.
    pub(crate) fn network_evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref().filter(|_| !matches!(self.transport, Carrier::Process(_)))
    }

    /// Returns true if LoadGen was asked to measure tokens.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.test_settings.get("use_token_latencies").is_some_and(|on| on == "true")
    }

    /// Returns the nodes with answers of a run that came to its end.
    pub(crate) fn answering_nodes(&self) -> impl Iterator<Item = &Node> {
        let is_over = self.verdict != Verdict::Failed;
        self.nodes.iter().filter(move |node| is_over && node.answered > 0)
    }

    /// Returns those of them with their tokens, where LoadGen was asked to measure tokens.
    pub(crate) fn counted_nodes(&self) -> impl Iterator<Item = (&Node, &Tokens)> {
        let nodes = self.answering_nodes().filter(|_| self.counts_tokens());
        nodes.filter_map(|node| Some((node, node.tokens.as_ref()?)))
    }

    /// Returns true if the bytes that it counts can be compared with the answers in LoadGen's log.
    pub(crate) fn has_comparable_answers(&self) -> bool {
        self.verdict != Verdict::Failed
            && self.mode != Mode::Submission
            && self.nodes.iter().all(|node| {
                node.lost.is_none()
                    && node.redispatched == 0
                    && node.response_encodings == [Encoding::None]
            })
    }

    /// First tokens that LoadGen was told of, each a response beside the whole one.
    pub(crate) fn first_tokens(&self) -> u64 {
        self.total(|node| match &node.tokens {
            Some(tokens) if tokens.first_ns.max > 0 => node.answered,
            _ => 0,
        })
    }

    /// The rules that were found broken before the run, each once, in a line; empty where there is none.
    pub fn broken_rules(&self) -> String {
        broken(&self.findings)
    }

    /// Returns the broken rules that the division of the run waives, each once, in a line.
    pub fn waived_rules(&self) -> String {
        broken(&self.waived)
    }
}

/// The rules that are broken, each once, in a line.
fn broken(findings: &[Finding]) -> String {
    let broken = findings.iter().filter(|finding| finding.outcome == Outcome::Fail);
    let rules: BTreeSet<_> = broken.map(|finding| finding.rule).collect();
    rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What messages travelled over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Carrier {
    /// A network.
    Network(Transport),
    /// Nothing: the model ran in the process of the LoadGen node.
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

/// The word for a run without a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum InProcess {
    /// In the process of the LoadGen node.
    InProcess,
}

/// Least and greatest length, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub most: u64,
}

/// What an interface has carried.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceTraffic {
    /// Its name.
    pub name: String,
    /// Bytes sent, headers included.
    pub bytes_sent: u64,
    /// Bytes received, headers included.
    pub bytes_received: u64,
}

/// What the machines are.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The machine of the LoadGen node; its routes are in the order of the nodes.
    pub loadgen_node: Machine,
    /// The nodes' machines by the node's name.
    pub nodes: BTreeMap<String, Machine>,
}

impl Evidence {
    /// Returns the settings that a node has published; `None` where they are not TOML.
    pub(crate) fn published_settings(&self, node: &Node) -> Option<toml::Table> {
        self.nodes.get(&node.name)?.settings.as_ref()?.parse().ok()
    }
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
        assert_eq!(checked_in, schema, "run this test with NETDIV_WRITE_SCHEMA=1 to renew it");
    }
}
