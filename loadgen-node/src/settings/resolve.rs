//! Resolves the keys of a run to its settings: checks that the keys fit together, and fills in the
//! defaults.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZero, path::PathBuf};

use clap::{Args as _, Command};
use netdiv_contract::{NAME_RULE, is_name};
use netdiv_dataset::{self as dataset, SORTING};
use netdiv_machine::evidence::Statement;
use netdiv_node_common::{
    process::{parse_keys, with_absolute_paths},
    words::PartName,
};
use netdiv_qdl::{OnNodeLoss, Policy, Settings};
use netdiv_rules::{Division, Mode, Scenario, book::Benchmark};
use netdiv_transport::socket_address;
use serde_json::{Map, Value};
use tracing::warn;

use super::{
    NetworkArgs, QdlArgs, RunArgs, RunConfig, Target,
    bounds::{at_least_one, bytes, time, usage},
    network::DnsNames,
};
use crate::{RunError, own_loadgen};

impl RunArgs {
    /// Resolves the run. Reads the named files once: certificates, token, table of benchmarks, a
    /// node's settings. Looks up DNS names of nodes.
    pub fn resolve(&self) -> Result<RunConfig, RunError> {
        self.resolve_with(DnsNames::LookUp)
    }

    /// Like [`RunArgs::resolve`], with this treatment of DNS names.
    pub(crate) fn resolve_with(&self, names: DnsNames) -> Result<RunConfig, RunError> {
        let (scenario, mode) = self.test()?;
        let (division, rehearsal, strict) = self.division()?;
        let Some(benchmark) = self.benchmark.clone() else {
            return usage(
                "no benchmark; give --benchmark NAME: `loadgen-node benchmarks` lists those of the suite, digits is the demo's",
            );
        };
        if benchmark.is_empty() || benchmark.contains(|c: char| c.is_whitespace() || c == '/') {
            return usage(format!(
                "--benchmark `{benchmark}`: invalid name; write it without spaces and slashes"
            ));
        }
        let benchmarks = self.table.read()?;
        self.round.map_or(Ok(()), |round| own_loadgen::check_round(&benchmarks, round))?;
        if let Some(why) = benchmarks.refusal(&benchmark) {
            return usage(format!("--benchmark {why}"));
        }
        let known = benchmarks.find(&benchmark);
        let meant = benchmarks.meant(&benchmark);
        let is_embedded = dataset::EMBEDDED.contains(&benchmark.as_str());
        let dataset = match &self.dataset {
            Some(dataset) => dataset.clone(),
            None if is_embedded => benchmark.clone(),
            None => {
                return usage(format!("no data set for {benchmark}{meant}; give --dataset PATH"));
            }
        };
        if !meant.is_empty() && !is_embedded {
            warn!("--benchmark {benchmark}: not in the table of benchmarks{meant}");
        }
        let default_output = || PathBuf::from("out").join(format!("{benchmark}-{scenario}-{mode}"));
        let performance_samples = self.performance_samples;
        let target = self.target(scenario, names)?;
        Ok(RunConfig {
            dataset_part: self.part_of(&dataset, known)?,
            loadgen_model: known.map_or(&benchmark, |known| &known.loadgen_model).clone(),
            dataset,
            output: self.output.clone().unwrap_or_else(default_output),
            performance_samples: performance_samples
                .map(|samples| at_least_one("performance-samples", samples))
                .transpose()?,
            evidence: self.evidence()?,
            audit_config: self.audit_config()?,
            settings: self.loadgen_settings(&benchmark, scenario)?,
            metrics: self.metrics.as_deref().map(metrics_address).transpose()?,
            recorded_settings: self.recorded_settings(&target)?,
            target,
            scenario,
            mode,
            division,
            rehearsal,
            strict,
            digests: self.qdl.digests.unwrap_or(false),
            checksums: self.qdl.checksums.unwrap_or(false),
            labels: self.labels.clone(),
            user_conf: self.user_conf.clone(),
            min_free_bytes: self.min_free_bytes.bytes(),
            encoding: self.qdl.encoding,
            trace: self.trace.unwrap_or(false),
            quiet: self.quiet.unwrap_or(false),
            benchmarks,
            benchmark,
        })
    }

    fn test(&self) -> Result<(Scenario, Mode), RunError> {
        let Some(scenario) = self.scenario else {
            let words = Scenario::ALL.map(Scenario::word).join(", ");
            return usage(format!("no scenario; give --scenario with one of {words}"));
        };
        let mode = self.mode;
        if mode == Mode::FindPeak && scenario != Scenario::Server {
            return usage("--mode find-peak: LoadGen searches in the scenario server only");
        }
        Ok((scenario, mode))
    }

    /// Returns the part of the data set that the run uses; `None` if the data set has no parts.
    fn part_of(
        &self,
        dataset: &str,
        known: Option<&Benchmark>,
    ) -> Result<Option<PartName>, RunError> {
        let has_parts = dataset::has_parts(dataset);
        let is_of_two_sets = has_parts || known.is_some_and(|known| known.own_performance_set);
        match (self.dataset_part, self.mode) {
            (Some(part), _) if !has_parts => usage(format!(
                "--dataset-part {part}: {dataset} is not a .toml file that lists parts; leave --dataset-part out"
            )),
            (_, Mode::Submission) if is_of_two_sets => usage(
                "--mode submission: performance and accuracy have a data set each here, and LoadGen's test has one; make two \
                 runs, with --mode performance and --mode accuracy",
            ),
            (part, mode) => Ok(part.or(mode.part()).filter(|_| has_parts)),
        }
    }

    /// Returns the division, whether the run is a rehearsal that only lists broken rules, and
    /// whether an undecided rule is refused.
    fn division(&self) -> Result<(Division, bool, bool), RunError> {
        let division = self.division;
        let (rehearsal, strict) = (self.rehearsal.unwrap_or(false), self.strict.unwrap_or(false));
        for (given, option) in [(rehearsal, "--rehearsal"), (strict, "--strict")] {
            if given && !division.has_rules() {
                return usage(format!(
                    "{option} is about the rules of a division; give --division network or closed"
                ));
            }
        }
        if rehearsal && strict {
            return usage("--rehearsal notes what --strict refuses: give one of them");
        }
        let title = division.title();
        if division.has_rules() && self.in_process.is_some() {
            return usage(format!(
                "--in-process: a run of the {title} division needs SUT nodes; leave out --in-process or --division"
            ));
        }
        if division.has_rules() && self.mode == Mode::FindPeak {
            return usage(format!(
                "--mode find-peak: a run of the {title} division has the mode performance, accuracy or submission; give one of \
                 these, or leave out --division"
            ));
        }
        Ok((division, rehearsal, strict))
    }

    fn evidence(&self) -> Result<Option<Statement>, RunError> {
        let stated = self.evidence.as_deref().map(Statement::read).transpose();
        stated.map_err(|error| RunError::Usage(format!("--evidence: {error}")))
    }

    fn audit_config(&self) -> Result<Option<PathBuf>, RunError> {
        match &self.audit_config {
            Some(path) if !path.exists() => {
                usage(format!("--audit-config {}: no such file", path.display()))
            }
            given => Ok(given.clone()),
        }
    }

    /// Returns fields of LoadGen's settings, and their values. The demo's fields are first, so that
    /// the operator's fields override them.
    fn loadgen_settings(
        &self,
        benchmark: &str,
        scenario: Scenario,
    ) -> Result<Vec<(String, String)>, RunError> {
        let demo = self.user_conf.is_none().then(|| demo_settings(benchmark, scenario));
        let demo = demo
            .into_iter()
            .flatten()
            .map(|(field, value)| Ok((field.to_string(), value.to_string())));
        let field = |pair: &String| match pair.split_once('=') {
            Some((field, value)) => Ok((field.to_owned(), value.to_owned())),
            None => usage(format!("--setting {pair}: write FIELD=VALUE")),
        };
        demo.chain(self.setting.iter().flatten().map(field)).collect()
    }

    fn target(&self, scenario: Scenario, names: DnsNames) -> Result<Target, RunError> {
        let Some(file) = &self.in_process else { return self.nodes(scenario, names) };
        let given = self.given()?;
        let of_network = QdlArgs::augment_args(NetworkArgs::augment_args(Command::new("")));
        let keys = of_network.get_arguments().map(|option| option.get_id().as_str());
        // An option with its default value has no effect, and is harmless.
        let is_used = |key: &&str| given.get(*key).is_some_and(|value| *value != false);
        let unused: Vec<_> = keys.filter(is_used).collect();
        if !unused.is_empty() {
            let unused = unused.join(", ");
            return usage(format!("--in-process uses no network: {unused} cannot be set"));
        }
        Ok(Target::InProcess(file.clone()))
    }

    /// Returns the nodes as the target, with the QDL's settings.
    fn nodes(&self, scenario: Scenario, names: DnsNames) -> Result<Target, RunError> {
        let mut settings = self.network.resolve(names)?;
        let network = &mut settings.network;
        network.sample_timeout = time("sample-timeout", self.qdl.sample_timeout)?;
        network.sample_deadline = time("sample-deadline", self.qdl.sample_deadline)?;
        let cluster_name = self.qdl.cluster_name.clone();
        if !is_name(&cluster_name) {
            let said = netdiv_node_common::sanitise::sanitise(&cluster_name);
            return usage(format!("--cluster-name `{said}`: {NAME_RULE}"));
        }
        let digests = self.qdl.digests.unwrap_or(false);
        let on_node_loss = self.qdl.on_node_loss;
        if digests && on_node_loss == OnNodeLoss::Redispatch {
            return usage(
                "--digests needs --on-node-loss fail: a lost node cannot be asked what it has received",
            );
        }
        let window = |key, given: Option<usize>| given.map(|n| at_least_one(key, n)).transpose();
        let max_in_flight = window("max-in-flight", self.qdl.max_in_flight)?;
        let is_experiment =
            self.division == Division::Exploratory && self.mode == Mode::Performance;
        if max_in_flight.is_some() && (scenario != Scenario::Offline || !is_experiment) {
            return usage(
                "--max-in-flight is for exploratory runs of the scenario offline in the mode performance; leave it out, or \
                 leave out --division and --mode",
            );
        }
        let default_policy = match scenario {
            Scenario::Offline if max_in_flight.is_none() => Policy::Pull,
            Scenario::Offline
            | Scenario::Server
            | Scenario::SingleStream
            | Scenario::MultiStream => Policy::LeastOutstanding,
        };
        Ok(Target::Nodes(Box::new(Settings {
            policy: self.qdl.policy.unwrap_or(default_policy),
            window_samples: window("window-samples", self.qdl.window_samples)?,
            window_bytes: self
                .qdl
                .window_bytes
                .map(|given| bytes("window-bytes", given, 1..=usize::MAX))
                .transpose()?,
            checksums: self.qdl.checksums.unwrap_or(false),
            max_in_flight: max_in_flight.and_then(NonZero::new),
            one_query_at_a_time: matches!(scenario, Scenario::SingleStream | Scenario::MultiStream),
            cluster_name,
            digests,
            on_node_loss,
            ..settings
        })))
    }

    /// Returns the settings of file and command line, with absolute paths and the nodes that were
    /// found. They mean the same in every folder and at every time.
    fn recorded_settings(&self, target: &Target) -> Result<BTreeMap<String, Value>, RunError> {
        let mut args = self.clone();
        if let Some(settings) = target.nodes() {
            args.network.nodes = Some(settings.nodes.clone());
        }
        Ok(args.given()?.into_iter().collect())
    }

    /// Returns the settings that are not the defaults, by key, with absolute paths.
    fn given(&self) -> Result<Map<String, Value>, RunError> {
        let defaults = with_absolute_paths(&parse_keys::<Self>([""; 0])?)?;
        let mut given = with_absolute_paths(self)?;
        given.retain(|key, value| defaults.get(key) != Some(value));
        Ok(given)
    }
}

/// Parses the address of the Prometheus endpoint.
fn metrics_address(text: &str) -> Result<SocketAddr, RunError> {
    match socket_address(text) {
        Ok(address) if address.port() == 0 => usage(
            "--metrics with port 0 takes any free port, which no client would know; name a port",
        ),
        Ok(address) => Ok(address),
        Err(why) => usage(format!("--metrics {text}: {why}")),
    }
}

/// LoadGen's settings for the demo's language model if there is no user.conf. They issue enough
/// queries for a verdict, at a rate that two nodes on one small machine sustain. The latency bounds
/// are those of Llama 2 70B.
const DEMO_TOKENS: [(&str, &str); 7] = [
    ("use_token_latencies", "true"),
    ("server_ttft_latency", "2000000000"),
    ("server_tpot_latency", "200000000"),
    ("server_target_qps", "100"),
    ("min_query_count", "700"),
    ("min_duration_ms", "8000"),
    ("single_stream_expected_latency_ns", "5000000"),
];

/// LoadGen's settings for the demo's language model in Offline. Its only query has as many samples
/// as the demo's nodes complete in a few seconds.
const DEMO_TOKENS_OFFLINE: [(&str, &str); 3] = [
    ("use_token_latencies", "true"),
    ("offline_expected_qps", "5000"),
    ("min_duration_ms", "1000"),
];

/// Returns LoadGen's settings for a benchmark of the demo, as fields and values; empty for any
/// other benchmark.
fn demo_settings(benchmark: &str, scenario: Scenario) -> &'static [(&'static str, &'static str)] {
    match scenario {
        _ if benchmark != SORTING => &[],
        Scenario::Offline => &DEMO_TOKENS_OFFLINE,
        Scenario::Server | Scenario::SingleStream | Scenario::MultiStream => &DEMO_TOKENS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_are_settings_that_mean_the_same_in_every_folder() {
        let options = [
            "--dataset=Cargo.toml+synthetic:4x16",
            "--user-conf=user.conf",
            "--setting=min_query_count=1",
            "--mode=performance",
        ];
        let args: RunArgs = parse_keys(options).unwrap();
        let nodes = vec!["a:1".to_owned(), "n@10.0.0.1:5".to_owned()];
        let target = Target::Nodes(Box::new(netdiv_qdl::Settings::new(nodes.clone())));
        let here = std::env::current_dir().unwrap();
        let file = here.join("Cargo.toml").display().to_string();
        let want = serde_json::json!({
            "dataset": format!("{file}+synthetic:4x16"), "nodes": nodes,
            "setting": ["min_query_count=1"], "user_conf": here.join("user.conf"),
        });
        assert_eq!(Value::from_iter(args.recorded_settings(&target).unwrap()), want);
    }
}
