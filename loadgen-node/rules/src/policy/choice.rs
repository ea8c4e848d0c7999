//! What a run is about to do.

use std::{collections::BTreeMap, fmt};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    book::BuiltLoadGen,
    facts::running::{Running, Said},
    record::{Evidence, Prepared},
};

/// The setting that shortens an accuracy run, from LoadGen 6.0.6 on.
pub const ACCURACY_COUNT: &str = "accuracy_sample_count_override";

/// What a run is about to do.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// `--benchmark`.
    pub benchmark: &'a str,
    /// `--scenario`.
    pub scenario: Scenario,
    /// `--mode`.
    pub mode: Mode,
    /// `--encoding`.
    pub encoding: Encoding,
    /// What a sample holds once decoded; empty where it is bytes of unknown meaning, `None` where nothing is known.
    pub input: Option<&'a [Tensor<'a>]>,
    /// Samples of the data set.
    pub dataset_samples: u64,
    /// What its manifests say.
    pub prepared: &'a [Prepared],
    /// Samples in performance mode, where LoadGen's settings do not name another number.
    pub performance_samples: u64,
    /// Whether there is a label for each sample.
    pub has_labels: bool,
    /// LoadGen's TestSettings, as they will be used; without what an audit.config changes.
    pub test_settings: &'a BTreeMap<String, String>,
    /// LoadGen as it describes itself.
    pub loadgen: &'a BuiltLoadGen,
    /// What the SUT's name will contain whatever the nodes are called.
    pub sut_name_part: &'a str,
    /// Whether the run is made for its digests (`--digests`): it stands beside a result, and may be short.
    pub digests: bool,
    /// Whether the model runs in this process.
    pub in_process: bool,
    /// The audit.config that LoadGen will read, if there is one: it overrides all other settings.
    pub audit_config: Option<&'a str>,
    /// What the nodes run; empty where nobody has asked them.
    pub engines: &'a [Engine<'a>],
    /// What the machines are; `None` where nobody has asked them.
    pub evidence: Option<&'a Evidence>,
}

/// What a node runs.
#[derive(Debug, Clone, Copy)]
pub struct Engine<'a> {
    /// The node's name.
    pub node: &'a str,
    /// Its engine.
    pub engine: &'a str,
    /// Its model.
    pub model: &'a str,
    /// SHA-256 of its model file, in hex; empty without a model.
    pub model_sha256: &'a str,
    /// Version of its program.
    pub software_version: &'a str,
}

/// One tensor of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    /// The name that the model gives it.
    pub name: &'a str,
    /// uint8, int8, int32, int64, float16 or float32.
    pub data_type: &'a str,
    /// Length of each dimension; below 0 where it differs from sample to sample.
    pub shape: &'a [i64],
}

impl Choice<'_> {
    /// Whether the run measures performance.
    pub(super) fn performs(&self) -> bool {
        self.mode != Mode::Accuracy && !self.digests
    }

    /// Samples of its accuracy run: all, unless [`ACCURACY_COUNT`] leaves fewer.
    pub(super) fn accuracy_samples(&self) -> u64 {
        let count = self.test_settings.get(ACCURACY_COUNT).and_then(|count| count.parse().ok());
        let count = count.filter(|count| *count > 0);
        count.map_or(self.dataset_samples, |count| self.dataset_samples.min(count))
    }

    /// What runs at each node.
    pub(super) fn running(&self) -> BTreeMap<&str, Running> {
        let machines = self.evidence.map(|evidence| &evidence.nodes);
        let of = |one: &Engine<'_>| {
            Said {
                engine: one.engine,
                model: one.model,
                model_sha256: one.model_sha256,
                software_version: one.software_version,
                machine: machines.and_then(|machines| machines.get(one.node)),
            }
            .running()
        };
        self.engines.iter().map(|one| (one.node, of(one))).collect()
    }

    /// Whether it measures accuracy.
    pub(super) fn is_accurate(&self) -> bool {
        matches!(self.mode, Mode::Accuracy | Mode::Submission)
    }
}

impl fmt::Display for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.shape.iter();
        let lengths = lengths.map(|n| if *n < 0 { "?".into() } else { n.to_string() });
        let lengths = lengths.collect::<Vec<_>>().join(", ");
        write!(f, "{} {}[{lengths}]", self.name, self.data_type)
    }
}
