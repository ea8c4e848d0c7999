//! The engines of a SUT node in this process, as the system under test.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use loadgen_node::{
    Library, LoadGenTest, Reading, RunCounters, System, node_record,
    record::{self, Carrier, Digests},
    run_failure,
};
use loadgen_sys::{Abort, AnswerTokens, StartTestError, SystemUnderTest};
use netdiv_contract::v1::DescribeResponse;
use netdiv_qdl::{Failure, NodeInfo, Progress, SampleSource as _, requested_tokens};
use sut_node::{Args, Config, InProcess};

use crate::samples::Samples;

/// Name of the SUT, which LoadGen logs.
const NAME: &str = "netdiv in-process SUT (not a Network division run)";

/// Maximum number of a query's samples that are recorded under one lock.
const NOTED_AT_ONCE: usize = 1024;

/// Remark in every result, whatever the verdict.
const REMARK: &str =
    "this is not a Network division run: LoadGen and the system under test share a process";

/// The engines, and the samples in flight.
struct Engines {
    node: InProcess,
    samples: Arc<Samples>,
    library: Arc<Library>,
    /// Description of the node in the record.
    info: NodeInfo,
    has_bounds: bool,
}

/// Fails if a node's settings file is invalid.
pub(crate) fn check(settings: &Path) -> Result<(), String> {
    sut_node::check(&config(settings)?).map_err(|error| error.to_string())
}

fn config(settings: &Path) -> Result<Config, String> {
    let args = netdiv_node_common::process::read_settings::<Args>(settings);
    let args = args.map_err(|error| error.to_string())?;
    args.resolve().map_err(|error| error.to_string())
}

/// Starts the engines of a node with these settings.
pub(crate) fn start(test: &LoadGenTest, settings: &Path) -> Result<Box<dyn System>, String> {
    let config = config(settings)?;
    let counts_tokens = test.tokens != AnswerTokens::Uncounted;
    let samples = Arc::new(Samples::new(counts_tokens, test.token_bounds));
    let answers = samples.clone();
    let node = InProcess::start(&config, requested_tokens(test.tokens), move |replies| {
        answers.complete(replies)
    })
    .map_err(|error| error.to_string())?;
    let model = node.model();
    if counts_tokens && model.tokens.is_none() && !model.token_counts {
        return Err(sut_node::NodeError::NoTokens(model.engine.clone()).to_string());
    }
    test.library.prepare(model.input.clone(), config.node.max_payload_bytes as u64)?;
    let description = DescribeResponse {
        node_name: config.name.clone(),
        software_version: env!("CARGO_PKG_VERSION").into(),
        engine: model.engine.clone(),
        model_name: model.name.clone(),
        model_sha256: model.sha256.clone(),
        ..DescribeResponse::default()
    };
    let address = "this process".into();
    let info = NodeInfo { address, description, round_trip: Duration::ZERO };
    let (library, has_bounds) = (test.library.clone(), test.token_bounds.is_some());
    Ok(Box::new(Engines { node, samples, library, info, has_bounds }))
}

impl System for Engines {
    fn reader(&self) -> Box<dyn Fn() -> Option<Reading> + Send> {
        let samples = self.samples.clone();
        Box::new(move || Some(samples.reading()))
    }

    fn stopper(&self) -> Box<dyn Fn(Failure) + Send + Sync> {
        let samples = self.samples.clone();
        Box::new(move |failure| samples.fail(failure.to_string()))
    }

    fn progress(&self) -> Progress {
        self.samples.progress()
    }

    fn failure(&self) -> Option<String> {
        self.samples.failure().map(|why| run_failure(why).0)
    }

    fn counted(&self) -> RunCounters {
        let Reading { issued, nodes: reports, .. } = self.samples.reading();
        RunCounters {
            issued,
            nodes: reports
                .iter()
                .map(|report| node_record(&self.info, report, self.has_bounds))
                .collect(),
            reports,
            input: Some(self.node.model().input.clone()),
            failure: self.samples.failure(),
            remark: Some(REMARK.into()),
            ..RunCounters::new(Carrier::Process(record::InProcess::InProcess))
        }
    }

    fn digests(&self) -> Result<Option<Digests>, String> {
        Ok(None)
    }

    fn start(&self, test: &LoadGenTest) -> Result<(), StartTestError> {
        test.start(self)
    }
}

impl SystemUnderTest for Engines {
    fn name(&self) -> Result<String, Abort> {
        self.samples.check()?;
        Ok(NAME.into())
    }

    fn issue_query(&self, samples: loadgen_sys::Samples<'_>) -> Result<(), Abort> {
        self.samples.check()?;
        let loaded = self.library.loaded();
        let mut samples = samples.map(|sample| {
            let payload = loaded.get(sample.index).and_then(Option::as_ref);
            let payload =
                payload.ok_or_else(|| Abort(format!("sample {} is not loaded", sample.index)))?;
            Ok((sample.response_id, payload.bytes.clone()))
        });
        loop {
            // The engines get work before a long query is recorded to its end.
            let some = samples.by_ref().take(NOTED_AT_ONCE).collect::<Result<Vec<_>, Abort>>()?;
            if some.is_empty() {
                return Ok(());
            }
            self.samples.check()?;
            if let Err(why) = self.node.push(self.samples.note(some).into_iter()) {
                self.samples.fail(why);
                self.samples.check()?;
            }
        }
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        self.node.flush();
        self.samples.wait()?;
        self.library.owes_calls().store(false, Ordering::SeqCst);
        Ok(())
    }

    /// The watchdog detects the failure and ends the process.
    fn abandoned(&self, Abort(reason): Abort) {
        self.samples.fail(reason);
    }
}
