//! Interface of a run to its system under test, and the run itself.

use std::{
    net::TcpListener,
    path::Path,
    time::{Instant, SystemTime},
};

use loadgen_sys::{Mode, StartTestError};
use netdiv_node_common::resources::processor::ProcessorTimes;
use netdiv_qdl::{Failure, Progress};
use netdiv_rules::Finding;

use crate::{
    RunError,
    record::{Digests, Verdict},
    run::{
        guard::{interference::InterferenceWatch, signals::Interruptions, watchdog},
        outcome::{conclude, record::RunCounters},
        progress::{
            self,
            metrics::{self, Reading, RunFacts},
            recorder::{self, Latest},
        },
        setup::loadgen_test::LoadGenTest,
    },
};

/// A system under test: nodes over the network, or the engines of a tool in its own process.
pub trait System: Sync {
    /// Returns a function that reads the counters. It does not keep the system alive, and returns
    /// `None` once the system is gone.
    fn reader(&self) -> Box<dyn Fn() -> Option<Reading> + Send>;

    /// Returns a function that ends the run. It does not keep the system alive.
    fn stopper(&self) -> Box<dyn Fn(Failure) + Send + Sync>;

    /// Returns the progress of the run.
    fn progress(&self) -> Progress;

    /// Returns the reason for the run's failure, as LoadGen's log has it.
    fn failure(&self) -> Option<String>;

    /// Returns all counters, without the time of the test, findings and digests.
    fn counted(&self) -> RunCounters;

    /// Adds counts that the nodes keep themselves, after LoadGen's test. `counted` has its length.
    /// Nodes that do not answer any more are left out.
    fn add_node_counts(&self, _counted: &mut RunCounters) {}

    /// Returns the digests of a run that has them, after LoadGen's test.
    ///
    /// # Errors
    ///
    /// Fails if digests were requested and cannot be obtained.
    fn digests(&self) -> Result<Option<Digests>, String>;

    /// Runs LoadGen's test against the system.
    ///
    /// # Errors
    ///
    /// Fails if LoadGen cannot run, or was told to stop.
    fn start(&self, test: &LoadGenTest) -> Result<(), StartTestError>;
}

/// Function that starts the engines of a SUT node with a settings file. Its error is the reason why
/// they cannot run.
pub type StartEngines = fn(&LoadGenTest, &Path) -> Result<Box<dyn System>, String>;

/// Engines of a SUT node in this process, to compare with runs over the network. A separate tool
/// adds them to this program.
#[derive(Clone, Copy)]
pub struct InProcessEngines {
    /// Checks a settings file of a SUT node: fails if the engines cannot use it.
    pub check: fn(&Path) -> Result<(), String>,
    /// Starts the engines of a SUT node with these settings.
    pub start: StartEngines,
}

/// Runs LoadGen against a system, writes `result.json`, prints the closing table, and returns the
/// verdict.
pub(super) fn measure(
    test: &LoadGenTest,
    system: &dyn System,
    findings: &[Finding],
    endpoint: Option<TcpListener>,
    interruptions: &Interruptions,
) -> Result<Verdict, RunError> {
    let config = &test.config;
    if let Some(endpoint) = endpoint {
        metrics::serve(endpoint, RunFacts::new(test, findings), system.reader())?;
    }
    let fitness =
        InterferenceWatch::new(interruptions.cut.clone(), &config.output, config.min_free_bytes);
    let stop = system.stopper();
    interruptions.end_run(move |signal| stop(Failure::Interrupted(signal.into())));
    let (began, started) = (SystemTime::now(), Instant::now());
    let own_times = ProcessorTimes::now();

    let counted = |digests| RunCounters {
        began,
        took: started.elapsed(),
        findings: findings.to_vec(),
        digests,
        ..system.counted()
    };
    let unfit = system.stopper();
    let failure = || {
        if system.failure().is_none() {
            fitness.check().unwrap_or_else(|why| unfit(Failure::Unfit(why)));
        }
        system.failure()
    };
    let give_up = |reason| conclude::give_up(test, counted(None), reason);
    let latest = Latest::default();
    let run =
        || recorder::while_running(&config.output, system.reader(), &latest, || system.start(test));
    let (outcome, late) = watchdog::guard(failure, test.library.owes_calls(), give_up, || {
        progress::while_running(test, || system.progress(), &latest, run)
    });
    // LoadGen's test has succeeded. Interference since the last check, or missing digests, may
    // still spoil the run.
    let proven = outcome.and_then(|()| {
        let digests = fitness.check_ended().and_then(|()| system.digests());
        digests.map_err(|reason| conclude::mark_spoiled(test, reason))
    });
    let (digests, outcome) = match proven {
        Ok(digests) => (digests, Ok(())),
        Err(error) => (None, Err(error)),
    };
    let mut counted = counted(digests);
    if outcome.is_ok() {
        let spent = ProcessorTimes::now().since(&own_times);
        counted.add_own_shortage(&ProcessorTimes { late, ..spent });
        system.add_node_counts(&mut counted);
        if config.mode == Mode::Performance {
            counted.add_lateness(test.bounds);
        }
    }
    conclude::finish(test, counted, outcome)
}
