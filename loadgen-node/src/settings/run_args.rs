//! The keys of a run, on the command line and in the settings file.

use std::{net::SocketAddr, path::PathBuf};

use netdiv_node_common::process::ByteCount;
use netdiv_rules::{Division, Mode, Scenario, book::RoundName};
use netdiv_transport::socket_address;
use serde::{Deserialize, Serialize};

use super::{
    NetworkArgs, QdlArgs, TableArgs,
    qdl_args::{FAILURES, RULES},
    usage,
};
use crate::RunError;

/// Heading of options in the help.
const OUTPUT: &str = "Output";

/// Keys of `loadgen-node run`. Each is also a key of the settings file, with underscores instead of hyphens.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Test")]
pub struct RunArgs {
    /// The network side.
    #[command(flatten)]
    #[serde(flatten)]
    pub network: NetworkArgs,
    /// What the run is for [default: exploratory]. A run for the Network or the Closed division is refused if its settings
    /// break a rule of the division
    #[arg(long, help_heading = RULES)]
    pub division: Option<Division>,
    /// List the rules of the division that are broken, and run anyway: for practice, not for a submission
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub rehearsal: Option<bool>,
    /// Refuse a run for the Network or the Closed division also if it cannot be told whether it keeps a rule
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = RULES)]
    pub strict: Option<bool>,
    /// Facts about this machine that cannot be read from it, in TOML; docs/SUBMISSION.md lists the keys
    #[arg(long, value_name = "FILE", help_heading = RULES)]
    pub evidence: Option<PathBuf>,
    /// The QDL.
    #[command(flatten)]
    #[serde(flatten)]
    pub qdl: QdlArgs,
    /// The table of benchmarks.
    #[command(flatten)]
    #[serde(flatten)]
    pub table: TableArgs,
    /// How LoadGen issues queries
    #[arg(long)]
    pub scenario: Option<Scenario>,
    /// What LoadGen does with the scenario [default: performance]
    #[arg(long)]
    pub mode: Option<Mode>,
    /// The benchmark: the model's name in user.conf; `loadgen-node benchmarks` lists those of the suite, and digits and sorting
    /// are the demo's
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// Samples: a .npy file, a folder, several of these joined by + (a sample has one tensor of each),
    /// synthetic:COUNTxBYTES, synthetic:COUNTxBYTES@SEED, digits, or sorting [default for the benchmarks digits and sorting:
    /// that of the name]
    #[arg(long, value_name = "PATH")]
    pub dataset: Option<String>,
    /// What the answers have to be: whole numbers in a .npy file, for top-1 accuracy, or outputs in a file of token ids, of which
    /// whole ones count [default for the data sets digits and sorting: their own]
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Samples used in performance mode [default: all]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub performance_samples: Option<usize>,
    /// The round of the submission. A run stops if LoadGen has the seeds of another round
    #[arg(long, value_name = "ROUND")]
    pub round: Option<RoundName>,
    /// LoadGen's user.conf
    #[arg(long, value_name = "FILE")]
    pub user_conf: Option<PathBuf>,
    /// LoadGen's audit.config, for compliance tests; `loadgen-node audit` makes them
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub audit_config: Option<PathBuf>,
    /// Any field of LoadGen's TestSettings, for experiments; a submission sets them in user.conf
    #[arg(long, value_name = "FIELD=VALUE")]
    pub setting: Option<Vec<String>>,
    /// Folder for the logs and result.json; it must not hold another run [default: out/BENCHMARK-SCENARIO-MODE]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Free space that the file system of --output must keep during the run [default: 64MiB]
    #[arg(long, value_name = "BYTES", help_heading = FAILURES, hide_short_help = true)]
    pub min_free_bytes: Option<ByteCount>,
    /// Run the model in this process, without a network; FILE has the settings of a SUT node. For comparison: such a result
    /// is not one of the Network division
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub in_process: Option<PathBuf>,
    /// Let LoadGen log each sample in mlperf_log_trace.json
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = OUTPUT, hide_short_help = true)]
    pub trace: Option<bool>,
    /// Do not show progress
    #[arg(long, num_args = 0..=1, default_missing_value = "true", help_heading = OUTPUT)]
    pub quiet: Option<bool>,
    /// What others can see of the run.
    #[command(flatten)]
    #[serde(flatten)]
    pub observe: ObserveArgs,
}

/// Keys of what others can see of a run.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Observability")]
pub struct ObserveArgs {
    /// Address of the Prometheus endpoint, while the run lasts [default: none]
    #[arg(long, value_name = "IP:PORT")]
    pub metrics: Option<String>,
}

impl ObserveArgs {
    /// Returns the address of the Prometheus endpoint.
    pub(super) fn resolve(&self) -> Result<Option<SocketAddr>, RunError> {
        self.metrics.as_deref().map(address).transpose()
    }
}

fn address(text: &str) -> Result<SocketAddr, RunError> {
    match socket_address(text) {
        Ok(address) if address.port() == 0 => {
            usage("--metrics with port 0 takes any free port, which nobody would know; name a port")
        }
        Ok(address) => Ok(address),
        Err(why) => usage(format!("--metrics {text}: {why}")),
    }
}
