//! `loadgen-node init`: initial settings files, and the next steps.

mod next_steps;
mod practice;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use netdiv_node_common::process::{absolute, with_page_paths};
use netdiv_rules::{
    Division, Scenario,
    book::{Benchmark, Round, RoundName, SampleForm, Table},
    eligibility::outside_suite,
    plan::RATES,
    template::{self, Engine, TemplateValues},
};
use netdiv_transport::{
    discovery::{self, Nodes, with_files},
    security::is_loopback,
};

use self::{
    next_steps::{format_host, next_steps},
    practice::Practice,
};
use crate::{
    RunError,
    output::{self, say},
    own_loadgen,
    settings::{TableArgs, usage, within},
};

/// Options of `loadgen-node init`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct InitArgs {
    /// Name of the benchmark; digits and sorting, the demo's, are for practice
    benchmark: String,
    /// Scenario of run.toml; the other files have all scenarios that the suite requires
    #[arg(long)]
    scenario: Scenario,
    /// SUT nodes, named as in docs/OPERATING.md#name-the-nodes
    #[arg(long, value_name = "NODES", required = true)]
    nodes: Vec<String>,
    /// Port of nodes that are named without a port [default: 50051]
    #[arg(long, value_name = "PORT")]
    nodes_port: Option<u16>,
    /// Division: network, closed or open [default: network]
    #[arg(long)]
    division: Option<Division>,
    /// Round, such as v5.0 [default: that of this program's LoadGen, or the latest with the benchmark]
    #[arg(long, value_name = "ROUND")]
    round: Option<RoundName>,
    /// Rate that all nodes together are expected to reach: target_qps in user.conf. Without it,
    /// user.conf has TODO instead
    #[arg(long, value_name = "SAMPLES_PER_SECOND")]
    rate: Option<f64>,
    /// Engine of node.toml [default: openai for language models except gptj, python for whisper, torch for others]
    #[arg(long)]
    engine: Option<Engine>,
    /// Folder for the files; none of them may exist [default: the benchmark's name]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
}

impl InitArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        if let Some(practice) = practice::find(&self.benchmark) {
            return self.practise(practice);
        }
        let table = self.table.read()?;
        let benchmark = self.benchmark(&table)?;
        let round = self.round(&table, benchmark)?;
        let division = self.division.unwrap_or(Division::Network);
        if division == Division::Exploratory {
            return usage(
                "--division exploratory: init writes files for a submission; give network, closed or open. An exploratory run \
                 needs only options of loadgen-node run",
            );
        }
        if let Some(rate) = self.rate {
            within("rate", rate, RATES)?;
        }
        let engine = self.engine(benchmark)?;
        let hosts = self.hosts()?;
        let nodes = self.nodes()?;
        let known = TemplateValues {
            benchmark,
            round,
            scenario: self.scenario,
            division,
            nodes: &nodes,
            nodes_port: self.nodes_port,
            port: hosts.first().map_or(discovery::PORT, |(_, port)| *port),
            is_local: hosts.iter().all(|(host, port)| is_loopback(&address(host, *port))),
            rate: self.rate,
            engine,
        };
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from(&benchmark.name));
        let files = template::files(&known).map_err(RunError::failed)?;
        write(&folder, &files)?;
        say(next_steps(&known, &folder, &hosts, &table))?;
        Ok(0)
    }

    /// Writes files for a benchmark of the demo. They suit no submission, so that the options about
    /// one do not apply.
    fn practise(&self, practice: &Practice) -> Result<u8, RunError> {
        for (option, is_given) in [
            ("--division", self.division.is_some()),
            ("--round", self.round.is_some()),
            ("--rate", self.rate.is_some()),
            ("--engine", self.engine.is_some()),
        ] {
            if is_given {
                return usage(format!(
                    "{option}: {} is the demo's benchmark, for practice; leave {option} out",
                    self.benchmark
                ));
            }
        }
        let hosts = self.hosts()?;
        let port = hosts.first().map_or(discovery::PORT, |(_, port)| *port);
        if !hosts.iter().all(|(host, port)| is_loopback(&address(host, *port))) {
            return usage(format!(
                "--nodes: {} is for practice on this machine; give an address such as 127.0.0.1:50051",
                self.benchmark
            ));
        }
        let listen = format!("127.0.0.1:{port}");
        let nodes = toml::Value::from(self.nodes()?).to_string();
        let files = practice::files(practice, self.scenario, &nodes, &listen);
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from(&self.benchmark));
        write(&folder, &files)?;
        say(practice::next_steps(&folder, self.scenario))?;
        Ok(0)
    }

    /// Returns the nodes as run.toml names them.
    fn nodes(&self) -> Result<Vec<String>, RunError> {
        // In run.toml, the path of a file of nodes would be relative to run.toml.
        let nodes = self.nodes.iter().map(|nodes| with_files(nodes, &mut absolute));
        nodes.collect::<Result<_, _>>().map_err(RunError::Usage)
    }

    /// Returns the benchmark. Fails if the suite does not have it, or not in this scenario.
    fn benchmark<'a>(&self, table: &'a Table) -> Result<&'a Benchmark, RunError> {
        let name = &self.benchmark;
        let benchmark = table.known(name).map_err(RunError::Usage)?;
        if let Some(why) = table.refusal(name) {
            return usage(format!("{why} (docs/ENGINES.md)"));
        }
        if benchmark.rounds.is_empty() {
            let why =
                outside_suite(table, name).unwrap_or_else(|| format!("{name} is of no round"));
            return usage(why);
        }
        if !benchmark.scenarios.contains(&self.scenario) {
            let required: Vec<_> = benchmark.scenarios.iter().map(ToString::to_string).collect();
            return usage(format!(
                "--scenario {}: the suite has {name} in {}",
                self.scenario,
                required.join(" and ")
            ));
        }
        Ok(benchmark)
    }

    /// Returns the round of --round, or else LoadGen's. If LoadGen's round does not have the
    /// benchmark, returns the latest round that does.
    fn round<'a>(&self, table: &'a Table, benchmark: &Benchmark) -> Result<&'a Round, RunError> {
        let has_it = |round: &&Round| benchmark.rounds.contains(&round.name);
        let Some(name) = self.round else {
            let own = own_loadgen::round(table).filter(has_it);
            let Some(round) = own.or_else(|| table.rounds.iter().rfind(has_it)) else {
                return usage(format!("the table has no round of {}", benchmark.name));
            };
            return Ok(round);
        };
        let Some(round) = table.round(name).filter(has_it) else {
            let rounds: Vec<_> = benchmark.rounds.iter().map(ToString::to_string).collect();
            return usage(format!(
                "--round {name}: {} belongs to {}",
                benchmark.name,
                rounds.join(", ")
            ));
        };
        Ok(round)
    }

    /// Returns the engine of --engine, or else the one that suits the benchmark. Fails if the engine
    /// cannot run the benchmark: it does not sample outputs, or takes no waveforms.
    fn engine(&self, benchmark: &Benchmark) -> Result<Engine, RunError> {
        let engine = self.engine.unwrap_or_else(|| Engine::of(benchmark));
        if benchmark.sampled && !matches!(engine, Engine::Openai | Engine::Python) {
            return usage(format!(
                "--engine {engine}: outputs of {} are sampled; give openai or python",
                benchmark.name
            ));
        }
        if benchmark.form == SampleForm::Waveform && engine != Engine::Python {
            return usage(format!(
                "--engine {engine}: samples of {} are waveforms; give python",
                benchmark.name
            ));
        }
        Ok(engine)
    }

    fn hosts(&self) -> Result<Vec<(String, u16)>, RunError> {
        let port = self.nodes_port.unwrap_or(discovery::PORT);
        let (option, patience) = ("--nodes", Duration::ZERO);
        let nodes = Nodes { option, named: &self.nodes, port, expected: None, patience };
        nodes.hosts().map_err(RunError::invalid)
    }
}

fn address(host: &str, port: u16) -> String {
    format!("{}:{port}", format_host(host))
}

/// Writes all files or none. Fails if one of them exists.
fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), RunError> {
    for (name, _) in files {
        let path = folder.join(name);
        match path.symlink_metadata() {
            Ok(_) => {
                return usage(format!(
                    "{} exists already; choose another --output, or move it away",
                    path.display()
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(output::unwritten(&path, error)),
        }
    }
    fs::create_dir_all(folder).map_err(|error| output::unwritten(folder, error))?;
    let mut made = Vec::new();
    let written = files.iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        output::write(&path, with_page_paths(text).as_bytes())?;
        made.push(path);
        Ok(())
    });
    if written.is_err() {
        // One file without the others would block the next attempt. The first error is the one to
        // report.
        made.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    written
}
