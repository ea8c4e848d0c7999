//! What is known when the files are made.

use crate::{
    Division, Scenario,
    book::{Benchmark, Round},
};

/// What a placeholder begins with; `placeholder.rs` knows it.
pub const TODO: &str = "TODO";

/// Settings of a run.
pub const RUN: &str = "run.toml";
/// Settings of a SUT node.
pub const NODE: &str = "node.toml";
/// LoadGen's own.
pub const USER_CONF: &str = "user.conf";
/// Settings of a submission.
pub const SUBMISSION: &str = "submission.toml";

/// What is known when the files are made.
#[derive(Debug)]
pub struct Template<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// The round of the submission.
    pub round: &'a Round,
    /// The scenario of `run.toml`.
    pub scenario: Scenario,
    /// Network, or open.
    pub division: Division,
    /// The nodes, as `--nodes` names them.
    pub nodes: &'a [String],
    /// The port of nodes that are named without one, where it was given.
    pub nodes_port: Option<u16>,
    /// The port that nodes listen on.
    pub port: u16,
    /// Whether all nodes are on this machine, where TLS is not asked for.
    pub is_local: bool,
    /// Samples per second that all nodes together are expected to reach; `None`: the least that the rules ask of a run.
    pub rate: Option<f64>,
}

impl Template<'_> {
    /// The folder of a run, from the folder of the files.
    pub fn folder(scenario: Scenario, run: &str) -> String {
        format!("runs/{scenario}/{run}")
    }

    /// The rate that LoadGen aims at, in samples per second.
    pub fn rate_of(&self, scenario: Scenario) -> f64 {
        self.rate.unwrap_or_else(|| {
            let seconds = self.round.min_duration_ms as f64 / 1000.0;
            (self.least_samples(scenario) as f64 / seconds).ceil().max(1.0)
        })
    }

    /// Samples that a run has at least: Offline's query, or each loaded sample once.
    pub(super) fn least_samples(&self, scenario: Scenario) -> u64 {
        match scenario {
            Scenario::Offline => self.benchmark.offline_samples,
            Scenario::Server | Scenario::SingleStream | Scenario::MultiStream => {
                self.benchmark.qsl_size
            }
        }
    }

    /// Where a figure of the benchmark comes from, in brackets.
    pub(super) fn source(&self, figure: &str) -> String {
        let source = self.benchmark.sources.get(figure);
        source.map(|source| format!(" [{source}]")).unwrap_or_default()
    }
}
