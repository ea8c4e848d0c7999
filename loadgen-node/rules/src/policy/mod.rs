//! What a run may not choose, looked at before it starts: a run of ten minutes that breaks a rule is ten minutes lost.
//!
//! `samples.rs` looks at what is sent, `settings.rs` at LoadGen's settings, `machines.rs` at the evidence.

#[cfg(test)]
mod cases;
mod machines;
mod samples;
mod settings;

use std::collections::BTreeMap;

pub use machines::machines;

use crate::{
    Finding, Rule, Scenario,
    benchmarks::{Benchmark, Suite, Table},
    result::{Division, Evidence},
};

/// What a run is about to do.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// `--benchmark`.
    pub benchmark: &'a str,
    /// `--scenario`.
    pub scenario: Scenario,
    /// `--mode`: performance, accuracy, submission or find-peak.
    pub mode: &'a str,
    /// `--encoding`: none, zstd or lz4.
    pub encoding: &'a str,
    /// What a sample holds once decoded; empty where it is bytes of unknown meaning, `None` where nothing is known.
    pub input: Option<&'a [Tensor<'a>]>,
    /// Samples of the data set.
    pub dataset_samples: u64,
    /// Samples in performance mode, where LoadGen's settings do not name another number.
    pub performance_samples: u64,
    /// LoadGen's TestSettings, as they will be used; without what an audit.config changes.
    pub test_settings: &'a BTreeMap<String, String>,
    /// What the SUT's name will contain whatever the nodes are called.
    pub sut_name_part: &'a str,
    /// Whether the run is made for its digests (`--digests`): it stands beside a result, and may be short.
    pub digests: bool,
    /// Whether the model runs in this process.
    pub in_process: bool,
    /// What the machines are; `None` where nobody has asked them.
    pub evidence: Option<&'a Evidence>,
}

/// One tensor of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    /// The name that the model gives it.
    pub name: &'a str,
    /// uint8, int8, int32, int64, float16 or float32.
    pub data_type: &'a str,
    /// Length of each dimension; below 0 where it differs from sample to sample.
    pub shape: &'a [i64],
}

impl Choice<'_> {
    /// Whether the run measures performance.
    fn performs(&self) -> bool {
        self.mode != "accuracy" && !self.digests
    }

    /// Whether it measures accuracy.
    fn is_accurate(&self) -> bool {
        matches!(self.mode, "accuracy" | "submission")
    }
}

/// The rules of the division that the run would break, or of which it cannot be told; empty when it may start.
///
/// The Open division prescribes none of this (section 4.1.2), and an exploratory run is nobody's result: nothing is
/// found for them.
pub fn before_run(table: &Table, division: Division, choice: &Choice<'_>) -> Vec<Finding> {
    if division != Division::Network {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if !matches!(choice.mode, "performance" | "accuracy" | "submission") {
        findings.push(Finding::fail(
            Rule::new(32),
            "mode",
            format!(
                "{} is no run of a submission; choose performance, accuracy or submission",
                choice.mode
            ),
        ));
    }
    if !choice.sut_name_part.contains("Network SUT") {
        findings.push(Finding::fail(
            Rule::new(13),
            "SUT name",
            format!("`{}` does not contain `Network SUT`; name it so", choice.sut_name_part),
        ));
    }
    match table.find(choice.benchmark) {
        Some(benchmark) => {
            findings.extend(suite(table, benchmark));
            if benchmark.suite != Suite::Retired {
                findings.extend(samples::check(benchmark, choice));
                findings.extend(settings::check(table, benchmark, choice));
            }
        }
        None => findings.push(Finding::fail(
            Rule::new(1),
            "benchmark",
            unknown(table, choice.benchmark),
        )),
    }
    findings.extend(settings::seeds(table, choice));
    findings.extend(machines::check(choice));
    findings
}

fn suite(table: &Table, benchmark: &Benchmark) -> Option<Finding> {
    let what = match benchmark.suite {
        Suite::Datacenter => return None,
        Suite::Edge => "belongs to the edge suite only",
        Suite::Retired => "is no benchmark any more",
    };
    let names = datacenter(table, |_| true);
    let text = format!("{} {what}; the Network division has {names}", benchmark.name);
    Some(Finding::fail(Rule::new(1), "benchmark", text))
}

fn unknown(table: &Table, name: &str) -> String {
    let alike = |other: &str| {
        let family = name.split('-').next().unwrap_or(name);
        !family.is_empty() && other.starts_with(family)
    };
    let names = match datacenter(table, alike) {
        alike if !alike.is_empty() => alike,
        _ => datacenter(table, |_| true),
    };
    format!("there is no benchmark `{name}`; choose one of {names}")
}

/// Names of the datacenter suite that a test holds for.
fn datacenter(table: &Table, holds: impl Fn(&str) -> bool) -> String {
    let names = table.benchmarks.iter().filter(|benchmark| benchmark.suite == Suite::Datacenter);
    let names = names.map(|benchmark| benchmark.name.as_str()).filter(|name| holds(name));
    names.collect::<Vec<_>>().join(", ")
}
