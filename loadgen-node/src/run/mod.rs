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

use self::{
    loadgen_test::LoadGenTest,
    metrics::Endpoint,
    test_settings::{check_user_conf, long_accuracy_run},
};
use crate::{RunConfig, RunError, result::Verdict, settings::Target};

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub(crate) fn run(config: RunConfig, interruptions: &Interruptions) -> Result<Verdict, RunError> {
    let traces = config.observe.traces.as_ref();
    let instance = std::process::id().to_string();
    let traces = traces.map(|to| Traces::start(to, "loadgen-node", &instance)).transpose();
    // Kept to the end.
    let _traces = traces.map_err(|error| RunError::Usage(error.to_string()))?;
    let test = LoadGenTest::new(config)?;
    let outcome = execute(&test, interruptions);
    test.phases.record(&test.config, &outcome);
    outcome
}

/// Why a run would be refused before it asks a node, if it would be. Nothing is written.
pub(crate) fn refusal(config: RunConfig) -> Option<RunError> {
    let test = match LoadGenTest::new(config) {
        Ok(test) => test,
        Err(why) => return Some(why),
    };
    let checked = eligibility::findings(&test, &[], None).map(drop);
    checked.and_then(|()| check_user_conf(&test.config, &test.user_conf)).err()
}

fn execute(test: &LoadGenTest, interruptions: &Interruptions) -> Result<Verdict, RunError> {
    let RunConfig { output, min_free_bytes, target, observe, .. } = &test.config;
    // What is wrong without asking a node is said before one is asked.
    #[cfg_attr(
        not(feature = "in-process"),
        allow(unused_variables, reason = "nodes are asked for more")
    )]
    let findings = eligibility::findings(test, &[], None)?;
    check_user_conf(&test.config, &test.user_conf)?;
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
        Target::InProcess(node) => in_process::run(test, node, findings, endpoint, interruptions),
    }
}
