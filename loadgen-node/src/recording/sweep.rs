//! Record of a sweep, `sweep.json`. docs/RECORDS.md describes it.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::Display;

use crate::{
    RunError, output,
    record::{Distribution, Verdict},
};

/// Name of the record in the sweep's folder.
pub(crate) const SWEEP: &str = "sweep.json";

/// Version of the record.
pub(crate) const VERSION: u32 = 1;

/// Record of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepRecord {
    pub(crate) version: u32,
    pub(crate) benchmark: String,
    /// Quantity that differs between the steps.
    pub(crate) load: Load,
    pub(crate) latency_source: LatencySource,
    /// False until all steps have been run.
    pub(crate) finished: bool,
    /// Addresses of the nodes, in the order of the settings.
    pub(crate) nodes: Vec<String>,
    /// Numbers of nodes: each set has the first nodes of the list.
    pub(crate) node_sets: Vec<usize>,
    pub(crate) bounds: Bounds,
    /// Options of the sweep and of its runs that are not the defaults, by key.
    pub(crate) settings: BTreeMap<String, Value>,
    /// Digests of the files that the settings name, by key.
    pub(crate) files: BTreeMap<String, String>,
    /// Finished steps, by set of nodes and load.
    pub(crate) steps: Vec<Step>,
    /// Highest rate of each set of nodes at which a run was VALID; empty for concurrencies.
    pub(crate) best: Vec<Best>,
}

impl SweepRecord {
    /// Returns true if responses consist of tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        self.steps.iter().any(|step| step.tokens_per_second.is_some())
    }

    /// Returns the rates below a set's highest VALID rate at which a run was not VALID.
    pub(crate) fn invalid_below(&self, best: &Best) -> Vec<f64> {
        let of_set = self.steps.iter().filter(|step| step.nodes == best.nodes);
        let below = of_set.filter(|step| step.load < best.load && !step.has_passed());
        below.map(|step| step.load).collect()
    }

    /// Reads the record in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, RunError> {
        let record: Self = output::read_json(folder, SWEEP, "sweep")?;
        if record.version == VERSION {
            return Ok(record);
        }
        let (path, version) = (folder.join(SWEEP), record.version);
        Err(RunError::Usage(format!(
            "{}: version {version}; this release reads version {VERSION}, so use the release that wrote it",
            path.display()
        )))
    }
}

/// Quantity that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Load {
    /// Queries per second, in the scenario Server. Latencies are LoadGen's.
    Rate,
    /// Samples in flight over all nodes, in an Offline query. Latencies are netdiv's own, measured
    /// from sending.
    Concurrency,
}

impl Load {
    /// Returns the remark on the source of the latencies that every view of them needs.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Self::Rate => "latencies are LoadGen's, measured from the scheduled time",
            Self::Concurrency => {
                "exploratory: latencies are netdiv's own, measured from sending, and not LoadGen's"
            }
        }
    }

    /// Returns the source of the latencies.
    pub(crate) fn latency_source(self) -> LatencySource {
        match self {
            Self::Rate => LatencySource::Loadgen,
            Self::Concurrency => LatencySource::Netdiv,
        }
    }

    /// Returns the unit of a load.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Rate => "queries/s",
            Self::Concurrency => "samples in flight",
        }
    }
}

/// Source of the latencies of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum LatencySource {
    /// LoadGen, from the scheduled time.
    Loadgen,
    /// netdiv, from sending.
    Netdiv,
}

/// Bounds of the 99th percentiles, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_token_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) further_token_ns: Option<f64>,
}

/// Finished step of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Queries per second that LoadGen scheduled, or samples in flight.
    pub(crate) load: f64,
    /// True if the search chose the load.
    pub(crate) searched: bool,
    /// Folder of the run, relative to that of the sweep.
    pub(crate) folder: String,
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
    /// Number of completed samples.
    pub(crate) samples: u64,
    /// Number of passes over the samples that LoadGen loaded.
    pub(crate) passes: u64,
    /// Length of the test.
    pub(crate) seconds: f64,
    /// Length of the steady-state window; missing if the step is too short for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window_seconds: Option<f64>,
    /// Rate in the steady-state window; without one, in the whole test.
    pub(crate) samples_per_second: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_per_second: Option<f64>,
    /// Mean number of tokens of a response, divided by its mean latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_per_second_per_user: Option<f64>,
    pub(crate) latency_ns: Distribution,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_token_ns: Option<Distribution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) further_token_ns: Option<Distribution>,
    /// Share of the mean latency that the network took.
    pub(crate) network_share: f64,
    /// Share of the mean latency for which samples waited in the QDL.
    pub(crate) qdl_share: f64,
    /// Samples without a response.
    pub(crate) lost: u64,
    /// Reason why the LoadGen node, and not the cluster, may have limited the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_limit: Option<String>,
}

/// Highest rate at which a run over a set of nodes was VALID.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    pub(crate) nodes: usize,
    pub(crate) load: f64,
    pub(crate) samples_per_second: f64,
    pub(crate) folder: String,
    /// Lowest rate above it at which a run was not VALID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lowest_invalid: Option<f64>,
}

impl Step {
    /// Returns true if the nodes kept up with the load.
    pub(crate) fn has_passed(&self) -> bool {
        self.verdict == Verdict::Valid
    }
}
