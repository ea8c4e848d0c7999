//! Nodes as the system under test, over the network.

use std::sync::Arc;

use loadgen_sys::{AnswerTokens, StartTestError};
use netdiv_contract::v1::ServerRequests;
use netdiv_node_common::sanitise::sanitise;
use netdiv_qdl::{Failure, Progress, Qdl, SampleSource, Settings};
use netdiv_receivers::{NetworkSut, OfficialLoadGen, run_failure};
use tracing::info;

use crate::{
    RunError, node_times,
    record::{Carrier, Digests, Evidence, Shortage},
    run::{
        outcome::record::{self, RunCounters},
        progress::metrics::Reading,
        setup::{loadgen_test::LoadGenTest, machines::Traffic},
        system::System,
    },
};

/// System under test that consists of nodes, which it reaches over the network.
pub(super) struct Network<'a> {
    pub(super) test: &'a LoadGenTest,
    pub(super) settings: &'a Settings,
    pub(super) qdl: Qdl<OfficialLoadGen>,
    pub(super) evidence: Evidence,
    /// Counters of the interfaces before the run.
    pub(super) traffic: Traffic,
}

impl System for Network<'_> {
    fn reader(&self) -> Box<dyn Fn() -> Option<Reading> + Send> {
        let read = self.qdl.reader();
        Box::new(move || read().map(|(issued, nodes, failed)| Reading { issued, nodes, failed }))
    }

    fn stopper(&self) -> Box<dyn Fn(Failure) + Send + Sync> {
        Box::new(self.qdl.stopper())
    }

    fn progress(&self) -> Progress {
        self.qdl.progress()
    }

    fn failure(&self) -> Option<String> {
        self.qdl.failure().map(|why| run_failure(why).0)
    }

    fn counted(&self) -> RunCounters {
        let Self { test, settings, qdl, evidence, traffic } = self;
        // Read before the number of issued samples, which is then at least the number of completed
        // ones.
        let reports = qdl.report();
        RunCounters {
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
            interfaces: Traffic::now(evidence).since(traffic),
            evidence: Some(evidence.clone()),
            ..RunCounters::new(Carrier::Network(settings.network.options.transport))
        }
    }

    fn add_node_counts(&self, counted: &mut RunCounters) {
        // The run is complete: a node that has ended since then does not spoil it.
        for (place, now) in self.qdl.descriptions().unwrap_or_default() {
            let before = &self.qdl.nodes()[place].description;
            let spent = node_times::between(before, &now);
            let program = format!("node {}", before.node_name);
            counted.shortages.extend(Shortage::of(program, &spent, counted.took));
            let requests = |server: &ServerRequests| {
                let mut earlier = before.servers.iter();
                let earlier = earlier.find(|known| known.address == server.address);
                let earlier = earlier.map_or(0, |known| known.requests);
                (sanitise(&server.address), server.requests.saturating_sub(earlier))
            };
            counted.nodes[place].servers = now.servers.iter().map(requests).collect();
        }
    }

    fn digests(&self) -> Result<Option<Digests>, String> {
        let Some(witness) = &self.test.witness else { return Ok(None) };
        let (received, sent) = self.qdl.digests().map_err(|failure| failure.to_string())?;
        Ok(Some(witness.compare(&received, &sent)))
    }

    fn start(&self, test: &LoadGenTest) -> Result<(), StartTestError> {
        let (witness, owes_calls) = (test.witness.as_deref(), test.library.owes_calls());
        test.start(&NetworkSut { qdl: &self.qdl, witness, owes_calls })
    }
}

/// Connects to the nodes, which must accept the data set's samples.
pub(super) fn connect(
    test: &LoadGenTest,
    settings: &Settings,
) -> Result<Qdl<OfficialLoadGen>, RunError> {
    let library = &test.library;
    let source: Arc<dyn SampleSource> = library.clone();
    let takes_first_tokens = test.settings.answer_tokens() == AnswerTokens::First;
    let loadgen = OfficialLoadGen { witness: test.witness.clone(), takes_first_tokens };
    let settings = Settings {
        tokens: test.tokens,
        token_bounds: test.token_bounds,
        max_output_tokens: library.part().map(|part| part.max_output_tokens),
        ..settings.clone()
    };
    let qdl = netdiv_receivers::connect(settings, &library.expectation(), loadgen, source)?;
    let input = qdl.nodes().first().and_then(|node| node.description.input.clone());
    let limits = qdl.nodes().iter().map(|node| node.description.max_payload_bytes);
    library
        .prepare(input.unwrap_or_default(), limits.min().unwrap_or(u64::MAX))
        .map_err(RunError::Usage)?;
    let described: Vec<_> = qdl.nodes().iter().map(|node| &node.description).collect();
    library.check_tokens(&test.config, &described)?;
    for node in qdl.nodes() {
        let d = &node.description;
        info!(node = d.node_name, address = node.address, model = d.model_name, "connected");
    }
    Ok(qdl)
}
