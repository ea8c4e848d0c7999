//! Initial settings files for a benchmark. Every figure is from the table, and every key has a
//! comment. Values that the table lacks are placeholders, which the programs report when they read
//! them. The texts are in `*.j2`.

mod render;
#[cfg(test)]
mod tests;

pub use render::files;

use crate::{
    Division, Scenario,
    book::{Benchmark, Round, TokenLatencies},
};

/// Name of the settings file of a run.
pub const RUN: &str = "run.toml";
/// Name of the settings file of a SUT node.
pub const NODE: &str = "node.toml";
/// Name of LoadGen's own settings file.
pub const USER_CONF: &str = "user.conf";
/// Name of the settings file of a submission.
pub const SUBMISSION: &str = "submission.toml";

/// Engine of a SUT node, for which `node.toml` has keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::VariantArray)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[strum(serialize_all = "kebab-case")]
#[allow(missing_docs, reason = "docs/ENGINES.md describes the engines")]
pub enum Engine {
    Torch,
    Onnx,
    Decoder,
    Openai,
    Kserve,
    Python,
}

impl Engine {
    /// Returns the engine that suits a benchmark: a serving engine for a language model, libtorch
    /// for the others. GPT-J, whose tokens LoadGen infers, searches with beams, as only libtorch
    /// does here.
    pub fn of(benchmark: &Benchmark) -> Self {
        match benchmark.token_latencies {
            Some(TokenLatencies::Measured) => Self::Openai,
            Some(TokenLatencies::Inferred) | None => Self::Torch,
        }
    }
}

/// Values that the templates of the settings files need.
#[derive(Debug, Clone)]
pub struct TemplateValues<'a> {
    /// Benchmark of the submission.
    pub benchmark: &'a Benchmark,
    /// Round of the submission.
    pub round: &'a Round,
    /// Scenario in `run.toml`.
    pub scenario: Scenario,
    /// Division: network, closed or open.
    pub division: Division,
    /// Addresses of the nodes, in the form of the option `--nodes`.
    pub nodes: &'a [String],
    /// Port of the nodes that `nodes` names without a port; `None` if it was not set.
    pub nodes_port: Option<u16>,
    /// Port that nodes listen on.
    pub port: u16,
    /// True if all nodes run on the machine of the LoadGen node. They then need no TLS.
    pub is_local: bool,
    /// Samples per second that all nodes together are expected to reach; `None` leaves a
    /// placeholder.
    pub rate: Option<f64>,
    /// Engine in `node.toml`.
    pub engine: Engine,
}

impl TemplateValues<'_> {
    /// Returns the address on which a node listens.
    pub fn listen(&self) -> String {
        let host = if self.is_local { "127.0.0.1" } else { "0.0.0.0" };
        format!("{host}:{}", self.port)
    }

    /// Returns true if a run computes the accuracy from labels. Otherwise an official script
    /// computes it.
    pub fn has_labels(&self) -> bool {
        self.benchmark.quality.iter().any(|quality| quality.metric == "acc")
    }

    /// Returns the path of the folder with a scenario's runs, relative to the folder of the
    /// settings files.
    fn runs(scenario: Scenario) -> String {
        format!("runs/{scenario}")
    }

    /// Returns the path of the folder of a run, relative to the folder of the settings files.
    pub fn folder(scenario: Scenario, run: &str) -> String {
        format!("{}/{run}", Self::runs(scenario))
    }
}
