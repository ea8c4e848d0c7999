//! What is known when the files are made.

use crate::{
    Division, Scenario,
    book::{Benchmark, Round},
};

/// Settings of a run.
pub const RUN: &str = "run.toml";
/// Settings of a SUT node.
pub const NODE: &str = "node.toml";
/// LoadGen's own.
pub const USER_CONF: &str = "user.conf";
/// Settings of a submission.
pub const SUBMISSION: &str = "submission.toml";

/// What is known when the files are made.
#[derive(Debug, Clone)]
pub struct Template<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// The round of the submission.
    pub round: &'a Round,
    /// The scenario of `run.toml`.
    pub scenario: Scenario,
    /// Network, closed or open.
    pub division: Division,
    /// The nodes, as `--nodes` names them.
    pub nodes: &'a [String],
    /// The port of nodes that are named without one, where it was given.
    pub nodes_port: Option<u16>,
    /// The port that nodes listen on.
    pub port: u16,
    /// Whether all nodes are on this machine, where TLS is not asked for.
    pub is_local: bool,
    /// Samples per second that all nodes together are expected to reach; `None` leaves a placeholder.
    pub rate: Option<f64>,
}

impl Template<'_> {
    /// Returns the folder of a scenario's runs, from the folder of the files.
    pub(super) fn runs(scenario: Scenario) -> String {
        format!("runs/{scenario}")
    }

    /// Returns the folder of a run, from the folder of the files.
    pub fn folder(scenario: Scenario, run: &str) -> String {
        format!("{}/{run}", Self::runs(scenario))
    }
}
