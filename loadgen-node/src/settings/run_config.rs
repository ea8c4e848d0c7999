//! A resolved run, as all later steps receive it.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc};

use netdiv_contract::encoding::Encoding;
use netdiv_machine::evidence::Statement;
use netdiv_qdl::Settings;
use netdiv_rules::{Division, Mode, Scenario, book::Table};

/// Run whose settings fit together. Its certificates, token, table of benchmarks and statement have
/// been read.
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
    /// Statement of the operator about this machine.
    pub(crate) evidence: Option<Statement>,
    pub(crate) benchmarks: Arc<Table>,
    /// Settings as the operator gave them, by key.
    pub(crate) recorded_settings: BTreeMap<String, serde_json::Value>,
    pub(crate) dataset: String,
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
    /// Address of the Prometheus endpoint.
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) trace: bool,
    pub(crate) quiet: bool,
}

/// The system under test.
#[derive(Debug)]
pub(crate) enum Target {
    /// Nodes, over the network.
    Nodes(Box<Settings>),
    /// A tool's engines in this process, with this settings file of a SUT node.
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
