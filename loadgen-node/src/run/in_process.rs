//! A run with LoadGen and a SUT node in one process, to compare network runs with. Behind a feature of its own.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use loadgen_sys::{Abort, AnswerTokens, ResponseId, Samples, SystemUnderTest};
use netdiv_contract::{
    encoding, limits,
    v1::{DescribeResponse, InferResponse, Part, Status},
};
use netdiv_qdl::{
    AnswerTimes, NodeInfo, NodeReport, Progress, SampleSource as _, TokenBounds, asked_for,
};
use netdiv_rules::{
    Finding,
    result::{self, Carrier},
};
use parking_lot::{Condvar, Mutex};
use sut_node::{Config, InProcess, NodeError};

use super::{
    conclude,
    counted::Counted,
    fitness::Fitness,
    library::Library,
    loadgen_test::LoadGenTest,
    metrics::{Endpoint, Reading, RunFacts},
    progress, record,
    recorder::{self, Latest},
    signals::Interruptions,
    watchdog,
};
use crate::{RunError, output::FAILED, result::Verdict};

/// The name of the SUT, which LoadGen logs for every reader.
const NAME: &str = "netdiv in-process SUT (not a Network division run)";

/// Samples of a query that are noted under one lock.
const NOTED_AT_ONCE: usize = 1024;

/// In every result, whatever the verdict.
const REMARK: &str =
    "this is not a Network division run: LoadGen and the system under test share a process";

/// Runs LoadGen against a node in this process.
pub(super) fn run(
    test: &LoadGenTest,
    config: &Config,
    findings: Vec<Finding>,
    endpoint: Option<Endpoint>,
    interruptions: &Interruptions,
) -> Result<Verdict, RunError> {
    test.phases.begin("load");
    let library = &test.library;
    let (counts_tokens, bounds) = (test.tokens != AnswerTokens::Uncounted, test.token_bounds);
    let shared = Arc::new(Shared { counts_tokens, bounds, ..Shared::default() });
    let node = InProcess::start(config, asked_for(test.tokens), {
        let shared = shared.clone();
        move |replies| shared.complete(replies)
    });
    let node = node.map_err(|error| RunError::Usage(error.to_string()))?;
    if counts_tokens && node.model().tokens.is_none() {
        return Err(RunError::Usage(NodeError::NoTokens(node.model().engine.clone()).to_string()));
    }
    library
        .prepare(node.model().input.clone(), config.max_payload_bytes as u64)
        .map_err(RunError::Usage)?;

    let read = {
        let shared = shared.clone();
        move || Some(shared.reading())
    };
    if let Some(endpoint) = endpoint {
        endpoint.serve(RunFacts::new(&test.config, &findings), read.clone())?;
    }
    let fitness =
        Fitness::new(interruptions.cut(), &test.config.output, test.config.min_free_bytes);
    let interrupted = {
        let shared = shared.clone();
        move |signal: &str| shared.fail(format!("interrupted by {signal}"))
    };
    interruptions.end_run(interrupted);
    let (began, started) = (SystemTime::now(), Instant::now());
    let counted = || Counted {
        began,
        took: started.elapsed(),
        findings: findings.clone(),
        ..shared.counted(&node, config)
    };
    let give_up = |reason| conclude::give_up(test, counted(), reason);
    let sut = InProcessSut { node: &node, shared: &shared, library };
    let failure = || {
        fitness.check().unwrap_or_else(|why| shared.fail(why));
        shared.failure()
    };
    let latest = Latest::default();
    test.phases.begin("test");
    let outcome = watchdog::guard(failure, library.owes_calls(), give_up, || {
        progress::while_running(
            &test.config,
            &test.expected,
            || shared.progress(),
            &latest,
            || recorder::while_running(&test.config.output, read, &latest, || test.start(&sut)),
        )
    });
    test.phases.begin("conclude");
    let spoiled = |()| fitness.check_ended().map_err(|reason| conclude::spoiled(test, reason));
    conclude::finish(test, counted(), outcome.and_then(spoiled))
}

struct InProcessSut<'a> {
    node: &'a InProcess,
    shared: &'a Shared,
    library: &'a Library,
}

/// What LoadGen's threads and the engines' threads share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    answered: Condvar,
    /// Looked at before the lock is taken.
    failed: AtomicBool,
    counts_tokens: bool,
    bounds: Option<TokenBounds>,
}

#[derive(Default)]
struct State {
    /// Samples that were issued and not answered, by the id that the reply will carry.
    waiting: HashMap<u64, Waiting>,
    issued: u64,
    /// Samples whose answers LoadGen has got.
    completed: u64,
    report: Option<NodeReport>,
    failure: Option<String>,
}

/// A sample that is not answered.
struct Waiting {
    ticket: ResponseId,
    issued: Instant,
    /// When its first token came.
    first: Option<Instant>,
}

impl State {
    fn report(&mut self) -> &mut NodeReport {
        self.report.get_or_insert_with(|| NodeReport::new("in-process", "none"))
    }
}

impl Shared {
    fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// The first reason stays.
    fn fail(&self, reason: String) {
        let reason = format!("{FAILED}{reason}");
        self.state.lock().failure.get_or_insert(reason);
        self.failed.store(true, Ordering::SeqCst);
        self.answered.notify_all();
    }

    fn abort(&self) -> Result<(), Abort> {
        if self.failed.load(Ordering::SeqCst) {
            return Err(Abort(self.failure().unwrap_or_default()));
        }
        Ok(())
    }

    /// Notes what is issued and gives it its ids.
    fn note(&self, samples: Vec<(ResponseId, Bytes)>) -> Vec<(u64, Bytes)> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let mut noted = Vec::with_capacity(samples.len());
        for (ticket, payload) in samples {
            let id = state.issued;
            state.issued += 1;
            state.report().bytes_sent += payload.len() as u64;
            state.report().sent += 1;
            state.waiting.insert(id, Waiting { ticket, issued: now, first: None });
            noted.push((id, payload));
        }
        noted
    }

    fn complete(&self, replies: Vec<InferResponse>) {
        let now = Instant::now();
        let (mut tickets, mut payloads) = (Vec::new(), Vec::new());
        let mut state = self.state.lock();
        for reply in replies {
            if reply.part() == Part::First {
                if let Some(waiting) = state.waiting.get_mut(&reply.id) {
                    waiting.first = Some(now);
                    loadgen_sys::first_token(&mut waiting.ticket, &reply.payload);
                }
                continue;
            }
            let waiting = state.waiting.remove(&reply.id);
            let Some(Waiting { ticket, issued, first }) = waiting else { continue };
            let limit = limits::MAX_PAYLOAD_BYTES;
            let payload =
                encoding::decode(reply.encoding, reply.payload.clone(), reply.decoded_bytes, limit);
            let failure = match (reply.status(), payload) {
                (Status::Ok, Ok(payload)) => {
                    state.report().received(reply.payload.len(), reply.encoding());
                    let times = AnswerTimes::new(Duration::ZERO, now - issued, &reply);
                    state.report().count_answers(&times, 1);
                    if self.counts_tokens {
                        let tokens = state.report().tokens.get_or_insert_default();
                        tokens.count(
                            &reply,
                            now - issued,
                            first.map(|at| at - issued),
                            self.bounds,
                        );
                    }
                    tickets.push(ticket);
                    payloads.push(payload);
                    continue;
                }
                (Status::Ok, Err(error)) => error.to_string(),
                _ => reply.error,
            };
            drop(state);
            self.fail(failure);
            state = self.state.lock();
        }
        drop(state);
        let count = tickets.len() as u64;
        loadgen_sys::complete(tickets.into_iter().zip(payloads.iter().map(|bytes| &bytes[..])));
        self.state.lock().completed += count;
        self.answered.notify_all();
    }

    fn progress(&self) -> Progress {
        let mut state = self.state.lock();
        let issued = state.issued;
        let NodeReport { sent, answered, latency_sum_ns, .. } = *state.report();
        Progress { issued, sent, answered, latency_sum_ns }
    }

    fn reading(&self) -> Reading {
        let mut state = self.state.lock();
        let (issued, failed) = (state.issued, state.failure.is_some());
        Reading { issued, nodes: vec![state.report().clone()], failed }
    }

    fn counted(&self, node: &InProcess, config: &Config) -> Counted {
        let model = node.model();
        let description = DescribeResponse {
            node_name: config.name.clone(),
            software_version: env!("CARGO_PKG_VERSION").into(),
            engine: model.engine.clone(),
            model_name: model.name.clone(),
            model_sha256: model.sha256.clone(),
            ..DescribeResponse::default()
        };
        let mut state = self.state.lock();
        let info =
            NodeInfo { address: "this process".into(), description, round_trip: Duration::ZERO };
        Counted {
            issued: state.issued,
            nodes: vec![record::node(&info, state.report(), self.bounds.is_some())],
            reports: vec![state.report().clone()],
            input: Some(model.input.clone()),
            failure: state.failure.clone(),
            remark: Some(REMARK.into()),
            ..Counted::new(Carrier::Process(result::InProcess::InProcess))
        }
    }
}

impl SystemUnderTest for InProcessSut<'_> {
    fn name(&self) -> Result<String, Abort> {
        self.shared.abort()?;
        Ok(NAME.into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        self.shared.abort()?;
        let loaded = self.library.loaded();
        let mut samples = samples.map(|sample| {
            let payload = loaded.get(sample.index).and_then(Option::as_ref);
            let payload =
                payload.ok_or_else(|| Abort(format!("sample {} is not loaded", sample.index)))?;
            Ok((sample.response_id, payload.bytes.clone()))
        });
        loop {
            // The engines have work before a long query is noted to its end.
            let some = samples.by_ref().take(NOTED_AT_ONCE).collect::<Result<Vec<_>, Abort>>()?;
            if some.is_empty() {
                return Ok(());
            }
            self.shared.abort()?;
            self.node.push(self.shared.note(some).into_iter()).map_err(|why| {
                self.shared.fail(why);
                Abort(self.shared.failure().unwrap_or_default())
            })?;
        }
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        self.node.flush();
        let mut state = self.shared.state.lock();
        while state.completed < state.issued && state.failure.is_none() {
            self.shared.answered.wait(&mut state);
        }
        drop(state);
        self.shared.abort()?;
        self.library.owes_calls().store(false, Ordering::SeqCst);
        Ok(())
    }

    /// The watchdog sees the failure and ends the process.
    fn abandoned(&self, Abort(reason): Abort) {
        self.shared.fail(reason);
    }
}
