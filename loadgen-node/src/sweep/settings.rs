//! Settings of a sweep, and those of its runs.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use netdiv_node_common::process::TimeSpan;
use netdiv_rules::{Division, Mode, Scenario, statistics::min_queries};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::loads::Loads;
use crate::{
    RunArgs, RunError,
    checkpoint::sha256_of_files,
    recording::sweep::{Bounds, Load},
    run::{LatencyBounds, LoadGenTest, prepare},
    settings::{DnsNames, usage, within},
    units,
};

/// Options of `loadgen-node sweep`, besides those of its runs.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Sweep")]
pub(crate) struct SweepArgs {
    /// Rates in queries per second, in the scenario server: a list such as 100,200,400, or a range
    /// FROM..TO of 8 rates [default: 8 rates up to the one that the nodes reach in offline]
    #[arg(long, value_name = "RATES", value_parser = Loads::rates, conflicts_with = "concurrency")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) rates: Option<Loads>,
    /// Samples in flight over all nodes, instead of rates: a list, or a range. Exploratory:
    /// latencies are netdiv's own, measured from sending
    #[arg(long, value_name = "SAMPLES", value_parser = Loads::concurrencies, num_args = 0..=1)]
    #[arg(default_missing_value = "1..128")]
    pub(crate) concurrency: Option<Loads>,
    /// Sets of nodes: 1,2,4 repeats the steps with the first node, the first two and the first four
    /// [default: all nodes]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) nodes_of: Option<Vec<usize>>,
    /// Minimum duration of a step. The steady-state window needs 13 s
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) step_time: TimeSpan,
    /// Minimum number of samples of a step. A step has whole passes of the data set, which
    /// --performance-samples makes smaller
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) step_samples: u64,
    /// Do not search for the highest VALID rate after the steps
    #[arg(long)]
    pub(crate) no_search: bool,
}

/// Settings of a sweep, checked, and those of its runs.
pub(crate) struct SweepSettings {
    pub(crate) benchmark: String,
    pub(crate) load: Load,
    /// Requested loads; `None` if they follow from the rate that the nodes reach.
    pub(crate) loads: Option<Loads>,
    pub(crate) is_searched: bool,
    pub(crate) nodes: Vec<String>,
    pub(crate) node_sets: Vec<usize>,
    pub(crate) step_time: Duration,
    pub(crate) step_samples: u64,
    /// Number of samples that LoadGen loads: those of a pass.
    pub(crate) pass: u64,
    pub(crate) bounds: Bounds,
    pub(crate) output: PathBuf,
    pub(crate) is_quiet: bool,
    /// Keys of every run.
    pub(crate) of_runs: BTreeMap<String, Value>,
    /// Keys of the sweep and its runs that a continued sweep must have again.
    pub(crate) recorded: BTreeMap<String, Value>,
    pub(crate) files: BTreeMap<String, String>,
}

/// Fields of LoadGen's TestSettings that each step sets.
const OWN_FIELDS: [&str; 6] = [
    "server_target_qps",
    "offline_expected_qps",
    "min_query_count",
    "max_query_count",
    "min_duration_ms",
    "sample_concatenate_permutation",
];

/// Keys of a run that do not change its figures. They may differ when a sweep continues, as may the
/// files of TLS and of the token.
const HARMLESS: [&str; 10] = [
    "connect_timeout",
    "control_timeout",
    "metrics",
    "min_free_bytes",
    "output",
    "quiet",
    "tls_ca",
    "tls_certificate",
    "tls_key",
    "token_file",
];

/// Keys of a sweep about all its nodes, which each step replaces or does not have.
const OF_ALL_NODES: [&str; 2] = ["nodes", "nodes_expected"];

/// Returns the settings that two runs of one step have in common.
pub(super) fn decisive(settings: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut settings = settings.clone();
    settings.retain(|key, _| !HARMLESS.contains(&&**key));
    settings
}

impl SweepArgs {
    /// Checks the settings, with those of the runs. Reads all files that they name.
    pub(crate) fn resolve(
        &self,
        run: &RunArgs,
        names: DnsNames,
    ) -> Result<SweepSettings, RunError> {
        let load = if self.concurrency.is_some() { Load::Concurrency } else { Load::Rate };
        let scenario = self.check_run(run, load)?;
        within("step-samples", self.step_samples, 1..=1_000_000_000)?;
        let step_time = crate::settings::time("step-time", self.step_time)?;
        let mut args = run.clone();
        args.scenario = Some(scenario);
        let given = args.setting.clone().unwrap_or_default();
        // Any rate: each step has its own.
        args.setting.get_or_insert_default().push("server_target_qps=1".into());
        let default_output = || {
            PathBuf::from("out").join(format!("{}-sweep", args.benchmark.as_deref().unwrap_or("")))
        };
        let output = args.output.clone().unwrap_or_else(default_output);
        let config = args.resolve_with(names)?;
        let Some(nodes) = config.target.nodes().map(|settings| settings.nodes.clone()) else {
            return usage("--in-process: a sweep needs nodes; leave --in-process out");
        };
        let node_sets = self.node_sets(nodes.len())?;
        let mut of_runs = config.recorded_settings.clone();
        of_runs.insert("setting".into(), given.into());
        let mut recorded = decisive(&of_runs);
        let own = serde_json::to_value(self).map_err(RunError::failed)?;
        let own = own.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        recorded.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        of_runs.retain(|key, _| !OF_ALL_NODES.contains(&&**key));
        let test = prepare(config)?;
        let (pass, enough) = (test.loaded_samples().max(1), min_queries(0, PERCENTILE));
        if load == Load::Rate && self.step_samples.max(pass) < enough {
            warn!(
                "--step-samples {}: LoadGen's early stopping calls a step of fewer than {enough} samples INVALID",
                self.step_samples
            );
        }
        Ok(SweepSettings {
            benchmark: test.config.benchmark.clone(),
            load,
            loads: self.concurrency.clone().or_else(|| self.rates.clone()),
            is_searched: !self.no_search && load == Load::Rate,
            nodes,
            node_sets,
            step_time,
            step_samples: self.step_samples,
            pass,
            bounds: bounds(&test),
            output,
            is_quiet: args.quiet.unwrap_or(false),
            files: digests(&decisive(&of_runs))?,
            of_runs,
            recorded,
        })
    }

    /// Returns the scenario of the steps. Fails for settings of a run that a step cannot have.
    fn check_run(&self, run: &RunArgs, load: Load) -> Result<Scenario, RunError> {
        let (scenario, option) = match load {
            Load::Rate => (Scenario::Server, "rates"),
            Load::Concurrency => (Scenario::Offline, "concurrency"),
        };
        if let Some(other) = run.scenario.filter(|other| *other != scenario) {
            return usage(format!(
                "--scenario {other}: a sweep of {option} runs in the scenario {scenario}; add --scenario {scenario}"
            ));
        }
        if run.mode != Mode::Performance {
            return usage(format!("--mode {}: a sweep runs in the mode performance", run.mode));
        }
        if run.division != Division::Exploratory {
            return usage(format!(
                "--division {}: the runs of a sweep are exploratory; add --division exploratory",
                run.division
            ));
        }
        if run.qdl.max_in_flight.is_some() {
            return usage("--max-in-flight is set by each step; give --concurrency");
        }
        if run.audit_config.is_some() {
            return usage("--audit-config: a sweep runs no compliance test; leave it out");
        }
        let fields = run.setting.iter().flatten().filter_map(|pair| pair.split('=').next());
        match fields.into_iter().find(|field| OWN_FIELDS.contains(field)) {
            Some(field) => usage(format!(
                "--setting {field}: each step sets it; give --rates, --step-time and --step-samples"
            )),
            None => Ok(scenario),
        }
    }

    fn node_sets(&self, count: usize) -> Result<Vec<usize>, RunError> {
        let mut sets = self.nodes_of.clone().unwrap_or_else(|| vec![count]);
        sets.sort_unstable();
        sets.dedup();
        match sets.iter().find(|set| !(1..=count).contains(*set)) {
            Some(set) => usage(format!(
                "--nodes-of {set}: --nodes names {}; give numbers from 1 to {count}",
                units::count(count, "node")
            )),
            None => Ok(sets),
        }
    }
}

impl SweepSettings {
    /// Returns the number of samples of a step that lasts for `step_time` at a rate. LoadGen draws the
    /// times between queries, and the margin covers their spread.
    pub(crate) fn samples_at(&self, rate: f64) -> u64 {
        let mean = rate * self.step_time.as_secs_f64();
        self.whole_passes(mean + SPREAD * mean.sqrt())
    }

    /// Returns the number of samples of a step that has at least `samples`: whole passes.
    pub(crate) fn whole_passes(&self, samples: f64) -> u64 {
        // The conversion saturates.
        (samples.ceil() as u64).max(self.step_samples).div_ceil(self.pass).saturating_mul(self.pass)
    }
}

/// Number of standard deviations by which a random schedule may be shorter or longer than its mean.
pub(super) const SPREAD: f64 = 4.0;

/// Percentile that steps are judged by.
const PERCENTILE: f64 = 0.99;

/// Returns LoadGen's bounds of a test. A bound of another percentile is left out.
fn bounds(test: &LoadGenTest) -> Bounds {
    let LatencyBounds { latency, first_token, further_token } = test.bounds;
    let [latency_ns, first_token_ns, further_token_ns] = [latency, first_token, further_token]
        .map(|bound| bound.filter(|bound| bound.share == PERCENTILE).map(|bound| bound.ns as f64));
    Bounds { latency_ns, first_token_ns, further_token_ns }
}

/// Returns the digest of each file that the settings name, by its key.
fn digests(settings: &BTreeMap<String, Value>) -> Result<BTreeMap<String, String>, RunError> {
    let mut digests = BTreeMap::new();
    for (key, value) in settings {
        let named = value.as_str().map(Path::new).filter(|path| path.is_absolute());
        let Some(named) = named else { continue };
        // The files of a data set are joined by +, which a name may also contain.
        let text = named.to_string_lossy();
        let parts: Vec<_> = match named.exists() {
            true => vec![named],
            false => text.split('+').map(Path::new).filter(|part| part.exists()).collect(),
        };
        for path in parts {
            digests.insert(format!("{key} {}", path.display()), digest(path)?);
        }
    }
    Ok(digests)
}

/// Maximum length of a file whose content is read for its digest.
const MAX_READ_BYTES: u64 = 256 << 20;

/// Returns the digest of a file's content, or of the length and the time of a long file. That of a
/// folder covers the names, lengths and times of its files.
fn digest(path: &Path) -> Result<String, RunError> {
    let failed = |error: io::Error| RunError::Usage(format!("{}: {error}", path.display()));
    let about = fs::metadata(path).map_err(failed)?;
    if about.is_file() && about.len() <= MAX_READ_BYTES {
        return sha256_of_files(&[path.to_owned()]);
    }
    let mut files = vec![path.to_owned()];
    if about.is_dir() {
        let entries = fs::read_dir(path).map_err(failed)?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>();
        files = paths.map_err(failed)?;
        files.sort();
    }
    let mut hash = Sha256::new();
    for file in files {
        let about = fs::metadata(&file).map_err(failed)?;
        let changed = about.modified().map_err(failed)?.duration_since(UNIX_EPOCH);
        hash.update(format!("{file:?} {} {:?}\n", about.len(), changed.unwrap_or_default()));
    }
    Ok(hex::encode(hash.finalize()))
}
