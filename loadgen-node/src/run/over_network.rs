//! A run against nodes, over the network.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use loadgen_sys::StartTestError;
use netdiv_qdl::{Failure, Qdl, SampleSource, Settings};
use tracing::info;

use super::{
    conclude,
    counted::Counted,
    eligibility,
    fitness::Fitness,
    loadgen_test::LoadGenTest,
    machines::{self, Traffic},
    metrics::{Endpoint, Reading, RunFacts},
    progress, record,
    recorder::{self, Latest},
    signals::Interruptions,
    sut::{self, NetworkSut, OfficialLoadGen},
    watchdog,
};
use crate::{
    RunError,
    result::{Carrier, Digests, Verdict},
};

/// Runs LoadGen against the nodes.
pub(super) fn run(
    test: &LoadGenTest,
    settings: &Settings,
    endpoint: Option<Endpoint>,
    interruptions: &Interruptions,
) -> Result<Verdict, RunError> {
    test.phases.begin("connect");
    let qdl = connect(test, settings)?;
    test.phases.begin("check");
    let evidence = machines::evidence(qdl.nodes(), &test.config)?;
    let findings = eligibility::findings(test, qdl.nodes(), Some(&evidence))?;
    let (read, fails) = (qdl.reader(), qdl.fails());
    let read = move || read().map(|(issued, nodes)| Reading { issued, nodes, failed: fails() });
    if let Some(endpoint) = endpoint {
        endpoint.serve(RunFacts::new(&test.config, &findings), read.clone())?;
    }
    let (stop, unfit) = (qdl.stopper(), qdl.stopper());
    let fitness =
        Fitness::new(interruptions.cut(), &test.config.output, test.config.min_free_bytes);
    interruptions.end_run(move |signal| stop(Failure::Interrupted(signal.into())));
    let (began, started) = (SystemTime::now(), Instant::now());
    let traffic = Traffic::now(&evidence);

    let counted = |digests| Counted {
        began,
        took: started.elapsed(),
        interfaces: Traffic::now(&evidence).since(&traffic),
        findings: findings.clone(),
        evidence: Some(evidence.clone()),
        digests,
        ..count(test, &qdl, settings)
    };
    let failure = || {
        if qdl.failure().is_none() {
            fitness.check().unwrap_or_else(|why| unfit(Failure::Unfit(why)));
        }
        qdl.failure().map(sut::reason)
    };
    let give_up = |reason| conclude::give_up(test, counted(None), reason);
    let (witness, owes_calls) = (test.witness.as_deref(), test.library.owes_calls());
    let latest = Latest::default();
    test.phases.begin("test");
    let outcome = watchdog::guard(failure, owes_calls, give_up, || {
        progress::while_running(
            &test.config,
            &test.expected,
            || qdl.progress(),
            &latest,
            || {
                recorder::while_running(&test.config.output, read, &latest, || {
                    test.start(&NetworkSut { qdl: &qdl, witness, owes_calls })
                })
            },
        )
    });
    test.phases.begin("conclude");
    let (digests, outcome) = match outcome.and_then(|()| prove(test, &qdl, &fitness)) {
        Ok(digests) => (digests, Ok(())),
        Err(error) => (None, Err(error)),
    };
    conclude::finish(test, counted(digests), outcome)
}

/// Connects to the nodes, which must take the data set's samples.
fn connect(test: &LoadGenTest, settings: &Settings) -> Result<Qdl<OfficialLoadGen>, RunError> {
    let library = &test.library;
    let source: Arc<dyn SampleSource> = library.clone();
    let loadgen = OfficialLoadGen { witness: test.witness.clone() };
    let settings =
        Settings { tokens: test.tokens, token_bounds: test.token_bounds, ..settings.clone() };
    let qdl = Qdl::connect(settings, &library.expectation(), loadgen, source)?;
    let input = qdl.nodes().first().and_then(|node| node.description.input.clone());
    let limits = qdl.nodes().iter().map(|node| node.description.max_payload_bytes);
    library
        .prepare(input.unwrap_or_default(), limits.min().unwrap_or(u64::MAX))
        .map_err(RunError::Usage)?;
    for node in qdl.nodes() {
        let d = &node.description;
        info!(node = d.node_name, address = node.address, model = d.model_name, "connected");
    }
    Ok(qdl)
}

/// What the QDL has counted until now.
fn count(test: &LoadGenTest, qdl: &Qdl<OfficialLoadGen>, settings: &Settings) -> Counted {
    // Before the samples that were issued, so that these are at least as many as those that were answered.
    let reports = qdl.report();
    Counted {
        tls: settings.network.options.tls.is_some(),
        connections_per_node: settings.connections_per_node as u64,
        streams_per_connection: settings.streams_per_connection as u64,
        nodes: {
            let node = |(info, report)| record::node(info, report, test.token_bounds.is_some());
            qdl.nodes().iter().zip(&reports).map(node).collect()
        },
        reports,
        issued: qdl.progress().issued,
        input: qdl.nodes().first().and_then(|node| node.description.input.clone()),
        failure: qdl.failure().map(ToString::to_string),
        ..Counted::new(Carrier::Network(settings.network.options.transport))
    }
}

/// What spoils a run although LoadGen has ended its test well: this machine, since the last look at it; or digests, which
/// were asked for as a proof and cannot be had.
fn prove(
    test: &LoadGenTest,
    qdl: &Qdl<OfficialLoadGen>,
    fitness: &Fitness,
) -> Result<Option<Digests>, StartTestError> {
    let digests = || match &test.witness {
        None => Ok(None),
        Some(witness) => {
            let (received, sent) = qdl.digests().map_err(|failure| failure.to_string())?;
            Ok(Some(witness.compare(&received, &sent)))
        }
    };
    fitness.check_ended().and_then(|()| digests()).map_err(|reason| conclude::spoiled(test, reason))
}
