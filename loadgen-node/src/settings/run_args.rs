//! Options of a run on the command line, and its keys in the settings file.

use std::{path::PathBuf, sync::Arc};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::{
    process::{ByteCount, TimeSpan},
    words::PartName,
};
use netdiv_qdl::{NetworkSettings, OnNodeLoss, Policy, Settings};
use netdiv_rules::{
    Division, Mode, Scenario,
    book::{RoundName, Table},
};
use serde::Serialize;

use super::NetworkArgs;
use crate::RunError;

/// Headings of options in the help.
const DISPATCH: &str = "Dispatch";
const FAILURES: &str = "Failures";
const RULES: &str = "Rules and evidence";
const OUTPUT: &str = "Output";

/// Options of `loadgen-node run`. Each is also a key of the settings file, with underscores instead
/// of hyphens.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Test")]
pub struct RunArgs {
    /// Keys of the connections to nodes.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// Division of the run. A run for the Network or the Closed division is refused if its settings
    /// break a rule of the division
    #[arg(long, default_value_t, help_heading = RULES)]
    pub division: Division,
    /// List the rules of the division that the settings break, and run anyway: for practice, not
    /// for a submission
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub rehearsal: Option<bool>,
    /// Also refuse a run for the Network or the Closed division if a rule cannot be decided
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub strict: Option<bool>,
    /// TOML file with facts about this machine that the program cannot detect; its keys are the
    /// fields of Machine in evidence.proto (docs/SUBMISSION.md#describe-the-machines)
    #[arg(long, value_name = "FILE", help_heading = RULES)]
    pub evidence: Option<PathBuf>,
    /// Keys of the QDL.
    #[command(flatten)]
    #[serde(flatten)]
    pub qdl: QdlArgs,
    /// Table of benchmarks.
    #[command(flatten)]
    #[serde(flatten)]
    pub table: TableArgs,
    /// Scenario, by which LoadGen issues queries
    #[arg(long)]
    pub scenario: Option<Scenario>,
    /// Mode of LoadGen's test
    #[arg(long, default_value_t)]
    pub mode: Mode,
    /// Benchmark, as `loadgen-node benchmarks` lists it, or a name of your own for exploratory
    /// runs; digits and sorting belong to the demo
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// Samples: a .npy file, a folder, several of these joined by + (a sample has one tensor of
    /// each), an .ids file of token ids, a .toml file that lists parts, synthetic:COUNTxBYTES,
    /// synthetic-ids:COUNTxMIN-MAX (@SEED after them varies them), digits, or sorting [default for
    /// these two benchmarks: their own]
    #[arg(long, value_name = "PATH")]
    pub dataset: Option<String>,
    /// Part of a data set that lists parts [default: that of the mode]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub dataset_part: Option<PartName>,
    /// Expected responses: integers in a .npy file, for top-1 accuracy, or outputs in a file of
    /// token ids, which must match completely [default for the data sets digits and sorting: their
    /// own]
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Number of samples used in performance mode [default: all]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub performance_samples: Option<usize>,
    /// Round of the submission. A run stops if LoadGen has the seeds of another round
    #[arg(long, value_name = "ROUND")]
    pub round: Option<RoundName>,
    /// LoadGen's user.conf
    #[arg(long, value_name = "FILE")]
    pub user_conf: Option<PathBuf>,
    /// LoadGen's audit.config, for compliance tests; `loadgen-node audit` writes it
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub audit_config: Option<PathBuf>,
    /// Field of LoadGen's TestSettings, for experiments; a submission sets fields in user.conf
    #[arg(long, value_name = "FIELD=VALUE")]
    pub setting: Option<Vec<String>>,
    /// Folder for the logs and result.json; it must not hold another run [default:
    /// out/BENCHMARK-SCENARIO-MODE]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Free space that the file system of --output must keep during the run
    // A performance run's logs take some hundred kilobytes, an accuracy run's twice its responses.
    #[arg(long, value_name = "BYTES", help_heading = FAILURES, hide_short_help = true)]
    #[arg(default_value = "64MiB")]
    pub min_free_bytes: ByteCount,
    /// Run the model in this process, without a network; FILE has the settings of a SUT node. For
    /// comparison: such a result does not belong to the Network division
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub in_process: Option<PathBuf>,
    /// Log each sample in mlperf_log_trace.json
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = OUTPUT, hide_short_help = true)]
    pub trace: Option<bool>,
    /// Do not show progress
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = OUTPUT)]
    pub quiet: Option<bool>,
    /// Address of the Prometheus endpoint during the run [default: none]
    #[arg(long, value_name = "IP:PORT", help_heading = "Observability")]
    pub metrics: Option<String>,
}

/// Keys of the QDL. A run in one process uses none of them.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct QdlArgs {
    /// Policy that assigns samples to streams [default: pull for offline, else least-outstanding]
    #[arg(long, help_heading = DISPATCH)]
    pub policy: Option<Policy>,
    /// Encoding of samples
    #[arg(long, default_value_t = Encoding::None, help_heading = DISPATCH)]
    pub encoding: Encoding,
    /// Name of the cluster, the first part of the SUT's name
    #[arg(long, value_name = "NAME", help_heading = DISPATCH, hide_short_help = true)]
    #[arg(default_value = Settings::new(Vec::new()).cluster_name)]
    pub cluster_name: String,
    /// Window: maximum number of samples in flight to each node [default: as many as the node
    /// accepts]
    #[arg(long, value_name = "SAMPLES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_samples: Option<usize>,
    /// Window: maximum payload bytes in flight to each node [default: as many as the node accepts]
    #[arg(long, value_name = "BYTES", help_heading = DISPATCH, hide_short_help = true)]
    pub window_bytes: Option<ByteCount>,
    /// Maximum number of samples in flight to all nodes together, for an exploratory run of the
    /// scenario offline. Latencies are then netdiv's own, measured from sending: a step of `sweep
    /// --concurrency`
    #[arg(long, value_name = "SAMPLES", help_heading = DISPATCH, hide_short_help = true)]
    pub max_in_flight: Option<usize>,
    /// Maximum time without a response from a node that has samples in flight
    #[arg(long, value_name = "TIME", help_heading = FAILURES)]
    #[arg(default_value_t = NetworkSettings::default().sample_timeout.into())]
    pub sample_timeout: TimeSpan,
    /// Deadline of each sample, even while its node completes other samples
    #[arg(long, value_name = "TIME", help_heading = FAILURES, hide_short_help = true)]
    #[arg(default_value_t = NetworkSettings::default().sample_deadline.into())]
    pub sample_deadline: TimeSpan,
    /// Action when a node is lost
    #[arg(long, default_value_t, help_heading = FAILURES)]
    pub on_node_loss: OnNodeLoss,
    /// Add a checksum (CRC32C) to every message, which detects bits that change on the way. Costs
    /// time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = FAILURES, hide_short_help = true)]
    pub checksums: Option<bool>,
    /// Prove that every byte arrived as it was sent, by digests of each sample and response at both
    /// ends. Costs time
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub digests: Option<bool>,
}

/// Key that selects the table of benchmarks.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
#[command(next_help_heading = "Test")]
pub struct TableArgs {
    /// Use this table of benchmarks, in TOML, instead of the built-in one
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub benchmarks: Option<PathBuf>,
}

impl TableArgs {
    /// Reads the table from the file; without a file, returns the built-in one.
    pub(crate) fn read(&self) -> Result<Arc<Table>, RunError> {
        let usage = |error| RunError::Usage(format!("--benchmarks: {error}"));
        Ok(Arc::new(match &self.benchmarks {
            Some(file) => Table::read(file).map_err(usage)?,
            None => Table::builtin().map_err(usage)?.clone(),
        }))
    }
}
