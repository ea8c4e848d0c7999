//! Settings of a run: the keys of the command line and the file, and what they become.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use loadgen_sys::{Mode, Scenario};
use netdiv_dataset as dataset;
use netdiv_proto::encoding::{self, Encoding};
use netdiv_qdl::{OnNodeLoss, Policy, Settings};
use netdiv_rules::{benchmarks::Table, result::Division};
use serde::{Deserialize, Serialize};

use crate::{
    RunError,
    network::{NetworkArgs, at_least_one, set_ms},
};

/// Keys of `loadgen-node run`. Each is also a key of the settings file, with underscores.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct RunArgs {
    /// The network side.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// What the run is for: network or open. Without it the run is exploratory, and its outputs say so; a run for the
    /// Network division is refused when its settings break a rule of the division
    #[arg(long)]
    pub division: Option<String>,
    /// Run although rules of the division are broken, and list them: for practice, not for a submission
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub rehearsal: Option<bool>,
    /// Prove that every byte arrived as it was sent: digests of each sample and response at both ends. Costs time
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub digests: Option<bool>,
    /// What cannot be read about this machine, stated in TOML; docs/SUBMISSION.md lists the keys
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// Another table of benchmarks than the built-in one, in TOML
    #[arg(long, value_name = "FILE")]
    pub benchmarks: Option<PathBuf>,
    /// offline, server, single-stream or multi-stream
    #[arg(long)]
    pub scenario: Option<String>,
    /// performance, accuracy, submission (both) or find-peak [default: performance]
    #[arg(long)]
    pub mode: Option<String>,
    /// The benchmark: the model's name in user.conf [default: digits]
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// Samples: a .npy file, a folder, several of these joined by + (one tensor of each in a sample),
    /// synthetic:COUNTxBYTES or synthetic:COUNTxBYTES@SEED, or digits [default: digits, for the benchmark digits]
    #[arg(long, value_name = "PATH")]
    pub dataset: Option<String>,
    /// Labels of the samples, a .npy file, for top-1 accuracy [default: those of digits, for that data set]
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Samples used in performance mode [default: all]
    #[arg(long, value_name = "N")]
    pub performance_samples: Option<usize>,
    /// LoadGen's user.conf
    #[arg(long, value_name = "FILE")]
    pub user_conf: Option<PathBuf>,
    /// LoadGen's audit.config, for compliance tests [default: audit.config, where there is one]
    #[arg(long, value_name = "FILE")]
    pub audit_config: Option<PathBuf>,
    /// Any field of LoadGen's TestSettings; outside user.conf it is for experiments
    #[arg(long, value_name = "FIELD=VALUE")]
    pub setting: Option<Vec<String>>,
    /// Folder for logs and result.json; it must not hold another run
    /// [default: out/BENCHMARK-SCENARIO-MODE]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How samples are encoded: none, zstd or lz4 [default: none]
    #[arg(long)]
    pub encoding: Option<String>,
    /// Name of the cluster, the first part of the SUT's name [default: netdiv]
    #[arg(long, value_name = "NAME")]
    pub cluster_name: Option<String>,
    /// Which connection gets which sample: pull, least-outstanding or round-robin
    /// [default: pull for offline, else least-outstanding]
    #[arg(long)]
    pub policy: Option<String>,
    /// Samples in flight to each node [default: what the node takes]
    #[arg(long, value_name = "SAMPLES")]
    pub window_samples: Option<usize>,
    /// Payload bytes in flight to each node [default: what the node takes]
    #[arg(long, value_name = "BYTES")]
    pub window_bytes: Option<usize>,
    /// How long a node may owe answers without giving one [default: 60000]
    #[arg(long, value_name = "MS")]
    pub sample_timeout_ms: Option<u64>,
    /// How long one sample may be unanswered while its node answers others [default: 300000]
    #[arg(long, value_name = "MS")]
    pub sample_deadline_ms: Option<u64>,
    /// When a node is lost: fail, or redispatch its unanswered samples to the others [default: fail]
    #[arg(long, value_name = "WHAT")]
    pub on_node_loss: Option<String>,
    /// Give every message a checksum (CRC32C), so that a bit that changes on the way is found. Costs time
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub checksums: Option<bool>,
    /// Room that the file system of the output must keep during the run, in bytes [default: 67108864]
    #[arg(long, value_name = "BYTES")]
    pub min_free_bytes: Option<u64>,
    /// Run the model in this process instead of asking nodes; FILE has the settings of a SUT node. For comparison: no such
    /// result is one of the Network division
    #[arg(long, value_name = "FILE")]
    pub in_process: Option<PathBuf>,
    /// Let LoadGen write a line for each sample into mlperf_log_trace.json
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub trace: Option<bool>,
    /// Show no progress
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub quiet: Option<bool>,
}

/// A run whose settings fit together.
#[derive(Debug)]
pub(crate) struct RunConfig {
    pub(crate) scenario: Scenario,
    pub(crate) mode: Mode,
    pub(crate) benchmark: String,
    /// The benchmark's name in LoadGen's mlperf.conf and user.conf.
    pub(crate) loadgen_model: String,
    pub(crate) division: Division,
    pub(crate) rehearsal: bool,
    pub(crate) digests: bool,
    pub(crate) checksums: bool,
    pub(crate) evidence: Option<PathBuf>,
    pub(crate) benchmarks: Arc<Table>,
    /// The settings as they were given.
    pub(crate) given: BTreeMap<String, serde_json::Value>,
    pub(crate) dataset: String,
    pub(crate) labels: Option<PathBuf>,
    pub(crate) performance_samples: Option<usize>,
    pub(crate) user_conf: Option<PathBuf>,
    pub(crate) audit_config: PathBuf,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) output: PathBuf,
    pub(crate) min_free_bytes: u64,
    pub(crate) encoding: Encoding,
    pub(crate) target: Target,
    pub(crate) trace: bool,
    pub(crate) quiet: bool,
}

/// The system under test.
#[derive(Debug)]
pub(crate) enum Target {
    /// Over the network.
    Nodes(Box<Settings>),
    /// A SUT node in this process.
    #[cfg(feature = "in-process")]
    InProcess(Box<sut_node::Config>),
}

/// The words for scenarios, modes and policies.
const SCENARIOS: [(&str, Scenario); 4] = [
    (netdiv_rules::Scenario::Offline.word(), Scenario::Offline),
    (netdiv_rules::Scenario::Server.word(), Scenario::Server),
    (netdiv_rules::Scenario::SingleStream.word(), Scenario::SingleStream),
    (netdiv_rules::Scenario::MultiStream.word(), Scenario::MultiStream),
];
const MODES: [(&str, Mode); 4] = [
    ("performance", Mode::PerformanceOnly),
    ("accuracy", Mode::AccuracyOnly),
    ("submission", Mode::SubmissionRun),
    ("find-peak", Mode::FindPeakPerformance),
];
const POLICIES: [(&str, Policy); 3] = [
    ("pull", Policy::Pull),
    ("least-outstanding", Policy::LeastOutstanding),
    ("round-robin", Policy::RoundRobin),
];

const LOSSES: [(&str, OnNodeLoss); 2] =
    [("fail", OnNodeLoss::Fail), ("redispatch", OnNodeLoss::Redispatch)];

/// Room for LoadGen's logs where nothing else is said: a performance run's are some hundred kilobytes, an accuracy run's
/// twice its answers.
const MIN_FREE_BYTES: u64 = 64 << 20;

const DIVISIONS: [(&str, Division); 2] = [("network", Division::Network), ("open", Division::Open)];

/// What a word stands for.
pub(crate) fn choose<T: Copy>(key: &str, word: &str, choices: &[(&str, T)]) -> Result<T, RunError> {
    choices.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        RunError::Usage(format!("--{key} {word}: choose one of {}", names.join(", ")))
    })
}

/// The word for a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    MODES.iter().find(|(_, known)| *known == mode).map_or("", |(name, _)| name)
}

/// The word for a scenario.
pub(crate) fn scenario_name(scenario: Scenario) -> &'static str {
    scenario_of(scenario).word()
}

/// The table of benchmarks: that of a file, or the built-in one.
pub(crate) fn table(file: Option<&Path>) -> Result<Arc<Table>, RunError> {
    let usage = |error: &dyn std::fmt::Display| RunError::Usage(format!("--benchmarks: {error}"));
    Ok(Arc::new(match file {
        Some(file) => Table::read(file).map_err(|error| usage(&error))?,
        None => Table::builtin().clone(),
    }))
}

/// The scenario, as the rules know it.
pub(crate) fn scenario_of(scenario: Scenario) -> netdiv_rules::Scenario {
    match scenario {
        Scenario::Offline => netdiv_rules::Scenario::Offline,
        Scenario::Server => netdiv_rules::Scenario::Server,
        Scenario::SingleStream => netdiv_rules::Scenario::SingleStream,
        Scenario::MultiStream => netdiv_rules::Scenario::MultiStream,
    }
}

impl RunArgs {
    /// Checks that the settings fit together.
    pub fn check(&self) -> Result<(), RunError> {
        self.clone().resolve().map(drop)
    }

    /// Checks the settings and fills in the defaults.
    pub(crate) fn resolve(self) -> Result<RunConfig, RunError> {
        let usage = |text: String| RunError::Usage(text);
        let scenario = self.scenario.as_deref().ok_or_else(|| {
            usage(
                "no scenario; give --scenario offline, server, single-stream or multi-stream"
                    .into(),
            )
        })?;
        let scenario = choose("scenario", scenario, &SCENARIOS)?;
        let mode = choose("mode", self.mode.as_deref().unwrap_or("performance"), &MODES)?;
        if mode == Mode::FindPeakPerformance && scenario != Scenario::Server {
            return Err(usage(
                "--mode find-peak: LoadGen searches in the scenario server only".into(),
            ));
        }
        let benchmark = self.benchmark.clone().unwrap_or_else(|| dataset::DIGITS.into());
        if benchmark.is_empty() || benchmark.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(usage(format!("--benchmark `{benchmark}`: not a name")));
        }
        let division = self.division.as_deref();
        let division = division.map(|word| choose("division", word, &DIVISIONS)).transpose()?;
        let division = division.unwrap_or_default();
        let rehearsal = self.rehearsal.unwrap_or(false);
        if rehearsal && division != Division::Network {
            return Err(usage(
                "--rehearsal: say --division network, whose rules it is about".into(),
            ));
        }
        if self.digests.unwrap_or(false) && self.in_process.is_some() {
            return Err(usage("--digests: in one process nothing is sent".into()));
        }
        let benchmarks = table(self.benchmarks.as_deref())?;
        if let Some(file) = &self.evidence {
            netdiv_evidence::check(file).map_err(|error| usage(format!("--evidence: {error}")))?;
        }
        let dataset = match &self.dataset {
            Some(dataset) => dataset.clone(),
            None if benchmark == dataset::DIGITS => dataset::DIGITS.into(),
            None => {
                return Err(usage(format!("no data set for {benchmark}; give --dataset PATH")));
            }
        };
        if let Some(path) = self.audit_config.as_ref().filter(|path| !path.is_file()) {
            return Err(usage(format!("--audit-config {}: no such file", path.display())));
        }
        let encoding = self.encoding.as_deref().unwrap_or("none");
        let encoding = encoding::from_name(encoding).ok_or_else(|| {
            usage(format!("--encoding {encoding}: choose one of none, zstd, lz4"))
        })?;
        let settings = self.setting.iter().flatten().map(|pair| {
            let split = pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
            split.ok_or_else(|| usage(format!("--setting {pair}: write FIELD=VALUE")))
        });
        let settings = settings.collect::<Result<_, _>>()?;
        let output = self.output.clone().unwrap_or_else(|| {
            let (scenario, mode) = (scenario_name(scenario), mode_name(mode));
            PathBuf::from("out").join(format!("{benchmark}-{scenario}-{mode}"))
        });
        Ok(RunConfig {
            loadgen_model: match benchmarks.find(&benchmark) {
                Some(known) => known.loadgen_model.clone(),
                None => benchmark.clone(),
            },
            division,
            rehearsal,
            digests: self.digests.unwrap_or(false),
            checksums: self.checksums.unwrap_or(false),
            evidence: self.evidence.clone(),
            benchmarks,
            given: self.given(),
            scenario,
            mode,
            dataset,
            labels: self.labels.clone(),
            performance_samples: self
                .performance_samples
                .map(|n| at_least_one("performance-samples", n))
                .transpose()?,
            user_conf: self.user_conf.clone(),
            audit_config: self.audit_config.clone().unwrap_or_else(|| "audit.config".into()),
            settings,
            output,
            min_free_bytes: self.min_free_bytes.unwrap_or(MIN_FREE_BYTES),
            encoding,
            target: self.target(scenario, encoding)?,
            trace: self.trace.unwrap_or(false),
            quiet: self.quiet.unwrap_or(false),
            benchmark,
        })
    }

    #[cfg(feature = "in-process")]
    fn target(&self, scenario: Scenario, encoding: Encoding) -> Result<Target, RunError> {
        let Some(file) = &self.in_process else {
            return Ok(Target::Nodes(Box::new(self.qdl(scenario)?)));
        };
        let network = toml::Table::try_from(&self.network).unwrap_or_default();
        let own = [
            ("policy", self.policy.is_some()),
            ("window_samples", self.window_samples.is_some()),
            ("window_bytes", self.window_bytes.is_some()),
            ("sample_timeout_ms", self.sample_timeout_ms.is_some()),
            ("sample_deadline_ms", self.sample_deadline_ms.is_some()),
            ("on_node_loss", self.on_node_loss.is_some()),
            ("checksums", self.checksums.is_some()),
            ("cluster_name", self.cluster_name.is_some()),
        ];
        let own = own.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| *key);
        let unused: Vec<_> = network.keys().map(String::as_str).chain(own).collect();
        if !unused.is_empty() {
            let unused = unused.join(", ");
            return Err(RunError::Usage(format!(
                "--in-process uses no network: {unused} cannot be set"
            )));
        }
        if encoding != Encoding::None {
            return Err(RunError::Usage(
                "--in-process: samples go no way, --encoding must be none".into(),
            ));
        }
        let usage =
            |error: &dyn std::fmt::Display| RunError::Usage(format!("--in-process: {error}"));
        let settings = node_process::layered(&sut_node::Args::default(), Some(file));
        let config =
            settings.map_err(|error| usage(&error))?.resolve().map_err(|error| usage(&error))?;
        Ok(Target::InProcess(Box::new(config)))
    }

    #[cfg(not(feature = "in-process"))]
    fn target(&self, scenario: Scenario, _: Encoding) -> Result<Target, RunError> {
        match self.in_process {
            None => Ok(Target::Nodes(Box::new(self.qdl(scenario)?))),
            Some(_) => Err(RunError::Usage(
                "--in-process: this program was built without the feature in-process".into(),
            )),
        }
    }

    fn qdl(&self, scenario: Scenario) -> Result<Settings, RunError> {
        let mut settings = self.network.resolve()?;
        let limit = &mut settings.network.sample_timeout;
        set_ms("sample-timeout-ms", limit, self.sample_timeout_ms)?;
        let limit = &mut settings.network.sample_deadline;
        set_ms("sample-deadline-ms", limit, self.sample_deadline_ms)?;
        let policy = match (&self.policy, scenario) {
            (Some(policy), _) => choose("policy", policy, &POLICIES)?,
            (None, Scenario::Offline) => Policy::Pull,
            (None, _) => Policy::LeastOutstanding,
        };
        settings.policy = policy;
        settings.cluster_name = self.cluster_name.clone().unwrap_or(settings.cluster_name);
        if !netdiv_proto::is_name(&settings.cluster_name) {
            let name = settings.cluster_name;
            return Err(RunError::Usage(format!(
                "--cluster-name `{name}`: a name is not empty and has no comma, bracket, quote or backslash"
            )));
        }
        settings.window_samples =
            self.window_samples.map(|n| at_least_one("window-samples", n)).transpose()?;
        settings.window_bytes =
            self.window_bytes.map(|n| at_least_one("window-bytes", n)).transpose()?;
        settings.digests = self.digests.unwrap_or(false);
        settings.checksums = self.checksums.unwrap_or(false);
        if let Some(word) = &self.on_node_loss {
            settings.on_node_loss = choose("on-node-loss", word, &LOSSES)?;
        }
        if settings.digests && settings.on_node_loss == OnNodeLoss::Redispatch {
            return Err(RunError::Usage(
                "--digests: what a lost node has received cannot be asked, so --on-node-loss must be fail".into(),
            ));
        }
        settings.one_query_at_a_time =
            matches!(scenario, Scenario::SingleStream | Scenario::MultiStream);
        Ok(settings)
    }
}
