//! A run, from its settings to its result.

mod accuracy;
mod conclude;
mod counted;
mod eligibility;
mod expected;
mod fitness;
mod footprint;
#[cfg(feature = "in-process")]
mod in_process;
mod judgement;
mod library;
mod loadgen_bounds;
mod loadgen_test;
mod machines;
mod metrics;
mod over_network;
mod peak_search;
mod preparation;
mod process;
mod progress;
mod prompts;
mod record;
mod signals;
mod sut;
mod test_settings;
mod watchdog;
mod witness;

pub(crate) use self::library::Library;
pub use self::process::{cpu_seconds, process};
use self::{loadgen_test::LoadGenTest, metrics::Endpoint, test_settings::check_user_conf};
use crate::{RunConfig, RunError, output, result::Verdict, settings::Target};

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub fn run(config: RunConfig) -> Result<Verdict, RunError> {
    let test = LoadGenTest::new(config)?;
    let RunConfig { output, min_free_bytes, target, observe, .. } = &test.config;
    // What is wrong without asking a node is said before one is asked.
    #[cfg_attr(
        not(feature = "in-process"),
        allow(unused_variables, reason = "nodes are asked for more")
    )]
    let findings = eligibility::findings(&test, &[], None)?;
    check_user_conf(&test.config, &test.warnings)?;
    let _claim = output::prepare(output)?;
    fitness::has_room(output, *min_free_bytes)
        .map_err(|why| RunError::Usage(format!("--output: {why}")))?;
    let endpoint = observe.metrics.map(Endpoint::bind).transpose()?;
    match target {
        Target::Nodes(settings) => over_network::run(&test, settings, endpoint),
        #[cfg(feature = "in-process")]
        Target::InProcess(node) => in_process::run(&test, node, findings, endpoint),
    }
}
