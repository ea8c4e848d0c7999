//! Settings of a run after their resolution, as all later steps receive them.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc};

use netdiv_contract::encoding::Encoding;
use netdiv_dataset::{Dataset, DatasetError, open, open_part};
use netdiv_machine::evidence::Statement;
use netdiv_node_common::words::PartName;
use netdiv_qdl::Settings;
use netdiv_rules::{
    Division, Mode, Scenario, book::Table, eligibility::check_decoding, record::Decoding,
};

/// Settings of a run, which have been checked against each other. Its certificates, token and table
/// of benchmarks, and the operator's statement about this machine, have been read.
#[derive(Debug)]
pub struct RunConfig {
    pub(crate) scenario: Scenario,
    pub(crate) mode: Mode,
    pub(crate) benchmark: String,
    /// The benchmark's name in LoadGen's mlperf.conf and user.conf.
    pub(crate) loadgen_model: String,
    pub(crate) division: Division,
    pub(crate) rehearsal: bool,
    pub(crate) strict: bool,
    pub(crate) digests: bool,
    pub(crate) checksums: bool,
    /// Facts about this machine that the operator states (`--evidence`).
    pub(crate) evidence: Option<Statement>,
    pub(crate) benchmarks: Arc<Table>,
    /// Settings that are not the defaults, by key.
    pub(crate) recorded_settings: BTreeMap<String, serde_json::Value>,
    pub(crate) dataset: String,
    /// Part of the data set, if it has parts.
    pub(crate) dataset_part: Option<PartName>,
    pub(crate) labels: Option<PathBuf>,
    pub(crate) performance_samples: Option<usize>,
    pub(crate) user_conf: Option<PathBuf>,
    pub(crate) audit_config: Option<PathBuf>,
    /// Fields of LoadGen's TestSettings and their values.
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) output: PathBuf,
    pub(crate) min_free_bytes: u64,
    pub(crate) encoding: Encoding,
    pub(crate) target: Target,
    /// Address on which the run serves its metrics to Prometheus, over HTTP; missing if it serves
    /// none.
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) trace: bool,
    pub(crate) quiet: bool,
}

impl RunConfig {
    /// Opens the data set, or the part of it that the run uses.
    pub(crate) fn open_dataset(&self) -> Result<Box<dyn Dataset>, DatasetError> {
        self.dataset_part.map_or_else(|| open(&self.dataset), |part| open_part(&self.dataset, part))
    }

    /// Returns the reason why nodes that choose tokens in this way do not suit the benchmark. The
    /// Open division permits any.
    pub(crate) fn check_decoding(&self, decoding: Decoding) -> Option<String> {
        let known = self.benchmarks.find(&self.benchmark)?;
        check_decoding(known, decoding).filter(|_| self.division != Division::Open)
    }
}

/// The system under test.
#[derive(Debug)]
pub(crate) enum Target {
    /// Nodes, over the network.
    Nodes(Box<Settings>),
    /// Engines of a SUT node in this process, which a separate tool adds to this program. They use
    /// this settings file of a SUT node.
    InProcess(PathBuf),
}

impl Target {
    /// Returns the QDL's settings if there is a network.
    pub(crate) fn nodes(&self) -> Option<&Settings> {
        match self {
            Self::Nodes(settings) => Some(settings),
            Self::InProcess(_) => None,
        }
    }
}
