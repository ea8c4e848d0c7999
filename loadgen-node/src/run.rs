//! A run, from its settings to its result.

use std::{sync::Arc, time::Instant};

use loadgen_sys::StartTestError;
use netdiv_qdl::{Failure, Qdl, SampleSource, Settings};
use tracing::{error, info};

use crate::{
    RunArgs, RunError,
    args::{RunConfig, Target},
    conclude::{self, Counted},
    fitness::{self, Fitness},
    machines::{self, Traffic},
    network::transport_name,
    output,
    prepared::Prepared,
    progress, purpose, record,
    result::Verdict,
    signals::end_on_signal,
    sut::{self, NetworkSut, OfficialLoadGen},
    test_settings::check_user_conf,
    watchdog,
};

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub fn run(args: RunArgs) -> Result<Verdict, RunError> {
    let mut run = Prepared::new(args.resolve()?)?;
    let RunConfig { output, min_free_bytes, .. } = &run.config;
    // What is wrong without asking a node is said before one is asked.
    run.findings = purpose::findings(&run, None)?;
    check_user_conf(&run.config, &run.warnings)?;
    output::prepare(output)?;
    fitness::has_room(output, *min_free_bytes)
        .map_err(|why| RunError::Usage(format!("--output: {why}")))?;
    match &run.config.target {
        Target::Nodes(settings) => over_network(&run, settings),
        #[cfg(feature = "in-process")]
        Target::InProcess(node) => crate::in_process::run(&run, node),
    }
}

fn over_network(run: &Prepared, settings: &Settings) -> Result<Verdict, RunError> {
    let library = &run.library;
    let source: Arc<dyn SampleSource> = library.clone();
    let expected = library.expectation();
    let loadgen = OfficialLoadGen { witness: run.witness.clone() };
    let qdl = Qdl::connect(settings.clone(), &expected, loadgen, source)?;
    let input = qdl.nodes().first().and_then(|node| node.description.input.clone());
    let limits = qdl.nodes().iter().map(|node| node.description.max_payload_bytes);
    library
        .prepare(input.unwrap_or_default(), limits.min().unwrap_or(u64::MAX))
        .map_err(RunError::Usage)?;
    for node in qdl.nodes() {
        let d = &node.description;
        info!(node = d.node_name, address = node.address, model = d.model_name, "connected");
    }

    let (settings_text, settings_sha256) = run.config.in_words();
    let stated = run.config.evidence.as_deref();
    let evidence = machines::evidence(qdl.nodes(), settings_text, settings_sha256, stated)?;
    let findings = purpose::findings(run, Some(&evidence))?;

    let (stop, unfit) = (qdl.stopper(), qdl.stopper());
    end_on_signal(move |signal| stop(Failure::Interrupted(signal.into())))?;
    let fitness = Fitness::new(&run.config.output, run.config.min_free_bytes);
    let started = Instant::now();
    let traffic = Traffic::now(&evidence);
    let counted = |digests| Counted {
        transport: transport_name(settings.network.options.transport),
        tls: settings.network.options.tls.is_some(),
        connections_per_node: settings.connections_per_node as u64,
        streams_per_connection: settings.streams_per_connection as u64,
        issued: qdl.progress().issued,
        nodes: qdl.nodes().iter().zip(&qdl.report()).map(|(i, r)| record::node(i, r)).collect(),
        input: qdl.nodes().first().and_then(|node| node.description.input.clone()),
        test_seconds: started.elapsed().as_secs_f64(),
        interfaces: Traffic::now(&evidence).since(&traffic),
        findings: findings.clone(),
        evidence: Some(evidence.clone()),
        digests,
        failure: qdl.failure().map(ToString::to_string),
        remark: None,
    };
    let failure = || {
        if qdl.failure().is_none() {
            fitness.check().unwrap_or_else(|why| unfit(Failure::Unfit(why)));
        }
        qdl.failure().map(sut::reason)
    };
    let give_up = |reason| conclude::give_up(run, counted(None), reason);
    let witness = run.witness.as_deref();
    let outcome = watchdog::guard(failure, library.owes_calls(), give_up, || {
        progress::while_running(
            run.config.quiet,
            || qdl.progress(),
            || run.start_test(&NetworkSut { qdl: &qdl, witness, owes_calls: library.owes_calls() }),
        )
    });
    let ended = outcome.is_ok();
    // What happened after the last look spoils the run as well.
    let outcome = outcome.and_then(|()| fitness.check().map_err(StartTestError::Aborted));
    // A failure here is the run's: the proof was asked for.
    let tallies = witness.filter(|_| outcome.is_ok()).map(|witness| (witness, qdl.digests()));
    let (digests, outcome) = match tallies {
        Some((witness, Ok((received, sent)))) => (Some(witness.compare(&received, &sent)), outcome),
        Some((_, Err(failure))) => (None, Err(StartTestError::Aborted(failure.to_string()))),
        None => (None, outcome),
    };
    if let (true, Err(error)) = (ended, &outcome) {
        // LoadGen has closed its logs, which may say VALID. A result that says why is wanted all the same.
        let marked = output::mark_failed(&run.config.output, &error.to_string());
        marked.unwrap_or_else(|error| {
            error!("{error}: LoadGen's own log does not say that the run failed")
        });
    }
    conclude::finish(run, counted(digests), outcome)
}
