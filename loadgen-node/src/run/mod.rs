//! A run, from its settings to its result.

pub(crate) mod accuracy;
mod conclude;
mod counted;
mod eligibility;
mod expected;
mod fitness;
mod footprint;
mod free_space;
#[cfg(feature = "in-process")]
mod in_process;
mod judgement;
pub(crate) mod labels;
mod library;
mod loadgen_bounds;
mod loadgen_test;
mod machines;
mod metrics;
mod over_network;
mod peak_search;
mod phases;
mod preparation;
mod process;
mod progress;
mod prompts;
mod record;
mod recorder;
mod signals;
mod sut;
mod test_settings;
mod watchdog;
mod witness;

pub use self::process::{cpu_seconds, process};
pub(crate) use self::{
    fitness::UNEVEN, free_space::has_room, library::Library, signals::Interruptions,
};
use netdiv_traces::Traces;
use tracing::warn;

pub(crate) use self::loadgen_test::LoadGenTest;
use self::{
    metrics::Endpoint,
    test_settings::{check_user_conf, long_accuracy_run},
};
use crate::{RunConfig, RunError, result::Verdict, settings::Target};

/// Reads the files of a run and refuses what is wrong without asking a node: `run`, `--print-config` and `doctor` begin with it.
/// Nothing is written.
pub(crate) fn prepare(config: RunConfig) -> Result<LoadGenTest, RunError> {
    let test = LoadGenTest::new(config)?;
    eligibility::findings(&test, &[], None)?;
    check_user_conf(&test.config, &test.user_conf)?;
    machines::check_statement(&test.config)?;
    #[cfg(feature = "in-process")]
    if let Target::InProcess(node) = &test.config.target {
        sut_node::check(node).map_err(|error| RunError::Usage(format!("--in-process: {error}")))?;
    }
    Ok(test)
}

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub(crate) fn run(test: &LoadGenTest, interruptions: &Interruptions) -> Result<Verdict, RunError> {
    let traces = test.config.observe.traces.as_ref();
    let instance = std::process::id().to_string();
    let traces = traces.map(|to| Traces::start(to, "loadgen-node", &instance)).transpose();
    // Kept to the end.
    let _traces = traces.map_err(|error| RunError::Usage(error.to_string()))?;
    let outcome = execute(test, interruptions);
    test.phases.record(&test.config, &outcome);
    outcome
}

fn execute(test: &LoadGenTest, interruptions: &Interruptions) -> Result<Verdict, RunError> {
    let RunConfig { output, min_free_bytes, target, observe, .. } = &test.config;
    if let Some(text) = long_accuracy_run(&test.settings, test.library.total_samples()) {
        warn!("{text}");
    }
    let _claim = interruptions.prepare(output)?;
    free_space::has_room(output, *min_free_bytes)
        .map_err(|why| RunError::Usage(format!("--output: {why}")))?;
    let endpoint = observe.metrics.map(Endpoint::bind).transpose()?;
    match target {
        Target::Nodes(settings) => over_network::run(test, settings, endpoint, interruptions),
        #[cfg(feature = "in-process")]
        Target::InProcess(node) => {
            let findings = eligibility::findings(test, &[], None)?;
            in_process::run(test, node, findings, endpoint, interruptions)
        }
    }
}
