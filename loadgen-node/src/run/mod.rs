//! A run, from its settings to its result.

mod eligibility;
mod guard;
pub(crate) mod outcome;
mod over_network;
mod progress;
mod setup;
mod system;

use netdiv_node_common::words::DatasetPart;
use tracing::{info, warn};

pub(crate) use self::guard::{
    free_space::check_free_space, interference::CLOCK_TOLERANCE, signals::Interruptions,
};
pub(crate) use self::{outcome::record::distribution, setup::latency_bounds::LatencyBounds};
pub use self::{
    outcome::record::{RunCounters, node as node_record, process},
    progress::metrics::Reading,
    setup::loadgen_test::LoadGenTest,
    system::{InProcessEngines, StartEngines, System},
};
use self::{
    over_network::Network,
    progress::metrics,
    setup::{
        machines::{self, Traffic},
        test_settings::{check_user_conf, long_accuracy_run},
    },
};
use crate::{
    RunConfig, RunError,
    record::{Carrier, Verdict},
    settings::{Target, usage},
};

/// Reads the files of a run and checks everything that needs no node: `run`, `--print-config` and
/// `doctor` begin with it. Nothing is written.
pub(crate) fn prepare(config: RunConfig) -> Result<LoadGenTest, RunError> {
    let test = LoadGenTest::new(config)?;
    let rules = test.config.target.nodes().map_or(Ok(()), |settings| {
        let transport = Carrier::Network(settings.network.options.transport);
        eligibility::findings(&test, RunCounters::new(transport)).map(drop)
    });
    match (rules, check_user_conf(&test.config, &test.user_conf)) {
        (Err(rules), Err(conf)) => return usage(format!("{rules}\n{conf}")),
        (rules, conf) => rules.and(conf)?,
    }
    machines::check_statement(&test.config)?;
    Ok(test)
}

/// Runs LoadGen against the nodes, or against a tool's engines in their place, writes
/// `result.json`, prints the closing table, and returns the verdict.
///
/// Call it once per process: LoadGen exists once per process, and a failed run leaves it unusable.
pub(crate) fn run(
    test: &LoadGenTest,
    in_process: Option<InProcessEngines>,
    interruptions: &Interruptions,
) -> Result<Verdict, RunError> {
    let RunConfig { output, min_free_bytes, target, metrics: address, .. } = &test.config;
    let _claim = interruptions.prepare(output)?;
    check_free_space(output, *min_free_bytes)
        .map_err(|why| RunError::Usage(format!("--output: {why}")))?;
    if let Some(text) = long_accuracy_run(&test.settings, test.library.total_samples()) {
        warn!("{text}");
    } else if let Some(text) = test.expected.announcement() {
        info!("{text}");
    }
    if let Some(DatasetPart { name, max_output_tokens }) = test.library.part() {
        info!("part {name} of the data set: outputs have at most {max_output_tokens} tokens");
    }
    // The socket is bound before the nodes are asked.
    let endpoint = address.map(metrics::bind).transpose()?;
    match (target, in_process) {
        (Target::Nodes(settings), _) => {
            let qdl = over_network::connect(test, settings)?;
            let evidence = machines::evidence(qdl.nodes(), &test.config)?;
            let traffic = Traffic::now(&evidence);
            let nodes = Network { test, settings, qdl, evidence, traffic };
            let findings = eligibility::findings(test, nodes.counted())?;
            system::measure(test, &nodes, &findings, endpoint, interruptions)
        }
        (Target::InProcess(file), Some(InProcessEngines { start, .. })) => {
            let system = start(test, file).map_err(RunError::Usage)?;
            system::measure(test, &*system, &[], endpoint, interruptions)
        }
        (Target::InProcess(_), None) => {
            Err(RunError::Usage("--in-process: this program has no engines".into()))
        }
    }
}
