//! Values of the settings files that are known in advance.

use crate::{
    Division, Scenario,
    book::{Benchmark, Round},
};

/// Settings of a run.
pub const RUN: &str = "run.toml";
/// Settings of a SUT node.
pub const NODE: &str = "node.toml";
/// LoadGen's own settings.
pub const USER_CONF: &str = "user.conf";
/// Settings of a submission.
pub const SUBMISSION: &str = "submission.toml";

/// Values of the settings files that are known in advance.
#[derive(Debug, Clone)]
pub struct TemplateValues<'a> {
    /// Benchmark of the submission.
    pub benchmark: &'a Benchmark,
    /// Round of the submission.
    pub round: &'a Round,
    /// Scenario of `run.toml`.
    pub scenario: Scenario,
    /// Division: network, closed or open.
    pub division: Division,
    /// Nodes, as `--nodes` names them.
    pub nodes: &'a [String],
    /// Port of nodes that are named without one, if it was set.
    pub nodes_port: Option<u16>,
    /// Port that nodes listen on.
    pub port: u16,
    /// True if all nodes are on this machine, where TLS is not required.
    pub is_local: bool,
    /// Samples per second that all nodes together are expected to reach; `None` leaves a
    /// placeholder.
    pub rate: Option<f64>,
}

impl TemplateValues<'_> {
    /// Returns the folder of a scenario's runs, from the folder of the files.
    pub(super) fn runs(scenario: Scenario) -> String {
        format!("runs/{scenario}")
    }

    /// Returns the folder of a run, from the folder of the files.
    pub fn folder(scenario: Scenario, run: &str) -> String {
        format!("{}/{run}", Self::runs(scenario))
    }
}
