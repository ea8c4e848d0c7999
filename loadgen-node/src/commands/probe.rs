//! `loadgen-node probe`: one sample to every node, and its answer.

use std::path::PathBuf;

use netdiv_dataset::{self as dataset, Dataset};
use netdiv_process::SettingsFile;
use netdiv_rules::Scenario;
use netdiv_transport::discovery::DiscoveryError;
use serde::{Deserialize, Serialize};

use crate::{
    RunArgs, RunConfig, RunError,
    error::EXIT_FAILED,
    output::{self, say},
    probe::{self, Findings},
    qsl::labels,
    report,
    run::Interruptions,
    settings::{Names, usage},
};

/// The name that a benchmark has where none is given: a sample is one whatever it belongs to.
const NAMELESS: &str = "probe";

/// `loadgen-node probe`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProbeCommand {
    #[command(flatten)]
    file: SettingsFile,
    #[command(flatten)]
    args: ProbeArgs,
}

/// Keys of `loadgen-node probe`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub(super) struct ProbeArgs {
    /// Those of a run; what is about LoadGen has no effect.
    #[command(flatten)]
    #[serde(flatten)]
    run: RunArgs,
    /// Write the findings as JSON into this file, or with - to standard output in place of the table
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,
}

/// What is asked, and where the findings go.
struct Probe {
    config: RunConfig,
    data: Box<dyn Dataset>,
    json: Option<PathBuf>,
}

impl ProbeArgs {
    fn resolve(&self, names: Names) -> Result<Probe, RunError> {
        if self.run.in_process.is_some() {
            return usage("probe asks nodes over the network; leave --in-process out");
        }
        if self.run.network.nodes.as_ref().is_none_or(Vec::is_empty) {
            return usage(DiscoveryError::NoNodes { option: "--nodes" }.to_string());
        }
        let mut run = self.run.clone();
        run.scenario.get_or_insert(Scenario::Offline);
        if run.benchmark.is_none() && run.dataset.is_some() {
            run.benchmark = Some(NAMELESS.into());
        }
        let config = run.resolve_with(names)?;
        let data = dataset::open(&config.dataset)?;
        // The answers are not compared with them, and a run would refuse what is wrong with them.
        labels::of_run(&config, data.sample_count())?;
        Ok(Probe { config, data, json: self.json.clone() })
    }
}

impl ProbeCommand {
    /// Asks every node and prints what it answered.
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        Interruptions::listen()?;
        let names = Names::of(&self.file);
        let probe = self.file.resolve(&self.args, |args: &ProbeArgs| args.resolve(names))?;
        let Some(Probe { config, data, json }) = probe else { return Ok(0) };
        let Some(settings) = config.target.nodes() else {
            return usage("no nodes; give --nodes HOST:PORT,…");
        };
        let findings = probe::ask(&config, data, settings)?;
        let table = || report::probe::render(&findings);
        match json {
            None => say(table())?,
            Some(path) => {
                let text = serde_json::to_string_pretty(&findings)
                    .map_err(|error| RunError::Failed(error.to_string()))?;
                if path.as_os_str() == "-" {
                    say(text)?;
                } else {
                    output::write(&path, format!("{text}\n").as_bytes())?;
                    output::report(table());
                }
            }
        }
        Ok(exit_code(&findings))
    }
}

/// The worst that was found.
fn exit_code(findings: &Findings) -> u8 {
    match findings.nodes.iter().any(|node| node.lost) {
        true => EXIT_FAILED,
        false => u8::from(!findings.alike),
    }
}
