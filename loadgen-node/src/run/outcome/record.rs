//! Counters of a run on the path to the SUT, and entries of `result.json` about nodes, versions and
//! this process.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use netdiv_contract::layout::InputLayout;
use netdiv_node_common::resources::{
    kernel,
    processor::{self, ProcessorTimes},
};
use netdiv_qdl::{NodeReport, TokenReport};
use netdiv_rules::{
    Finding,
    record::{
        Carrier, Digests, Distribution, Evidence, InterfaceTraffic, Node, Process, Shortage,
        StageTimes, Tokens, Versions,
    },
    submission::sources_sha256,
};

use crate::{
    run::setup::latency_bounds::{LatencyBound, LatencyBounds},
    sources::SOURCES,
};

/// Counters of a run on the path to the SUT.
#[derive(Debug)]
pub struct RunCounters {
    /// Transport of the messages.
    pub transport: Carrier,
    /// Set if TLS protects the connections between LoadGen node and SUT nodes.
    pub tls: bool,
    /// Number of samples that LoadGen has issued.
    pub issued: u64,
    /// Counters of each node.
    pub reports: Vec<NodeReport>,
    /// Nodes, as `result.json` describes them.
    pub nodes: Vec<Node>,
    /// Number of connections to each node.
    pub connections_per_node: u64,
    /// Number of streams on each connection.
    pub streams_per_connection: u64,
    /// Input that the nodes accept.
    pub input: Option<InputLayout>,
    /// Start of LoadGen's test.
    pub began: SystemTime,
    /// Length of LoadGen's test.
    pub took: Duration,
    /// Programs that were short of processor time.
    pub shortages: Vec<Shortage>,
    /// Bytes that the interfaces to the nodes carried during the test.
    pub interfaces: Vec<InterfaceTraffic>,
    /// Rules that the settings break, if the run is for a division.
    pub findings: Vec<Finding>,
    /// Evidence about the machines of the run.
    pub evidence: Option<Evidence>,
    /// Digests, if the run has them.
    pub digests: Option<Digests>,
    /// Reason for the run's failure, if the system under test knows it better than LoadGen.
    pub failure: Option<String>,
    /// Remark that every reader of the result needs.
    pub remark: Option<String>,
}

impl RunCounters {
    /// Returns the number of completed samples.
    pub fn completed(&self) -> u64 {
        self.nodes.iter().map(|node| node.answered).sum()
    }

    /// Adds the shortage of this program, if it was short of processor time during the test.
    pub(crate) fn add_own_shortage(&mut self, spent: &ProcessorTimes) {
        let machine = self.evidence.as_ref().map(|evidence| &evidence.loadgen_node);
        let host =
            machine.and_then(|machine| machine.host_name.as_deref()).unwrap_or("this machine");
        self.shortages.extend(Shortage::of(Shortage::loadgen_node(host), spent, self.took));
    }

    /// Adds the number of late answers of each node in a performance test with these bounds, and its
    /// time without samples at the end.
    pub(crate) fn add_lateness(&mut self, bounds: LatencyBounds) {
        let last = self.reports.iter().filter_map(|report| report.last_answered).max();
        for (node, report) in self.nodes.iter_mut().zip(&self.reports) {
            let late = |bound: LatencyBound| report.latency.count_between(bound.ns, u64::MAX);
            let within_bounds = node.tokens.as_ref().and_then(|tokens| tokens.within_bounds);
            let late_tokens = within_bounds.map(|within| node.answered.saturating_sub(within));
            node.late = bounds.latency.map(late).or(late_tokens);
            let idle = last.zip(report.last_answered).map(|(last, own)| last.duration_since(own));
            node.idle_at_end_seconds = idle.map(|idle| idle.as_secs_f64());
        }
    }

    /// Creates empty counters for a transport.
    pub fn new(transport: Carrier) -> Self {
        Self {
            transport,
            tls: false,
            issued: 0,
            reports: Vec::new(),
            nodes: Vec::new(),
            connections_per_node: 0,
            streams_per_connection: 0,
            input: None,
            began: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            shortages: Vec::new(),
            interfaces: Vec::new(),
            findings: Vec::new(),
            evidence: None,
            digests: None,
            failure: None,
            remark: None,
        }
    }
}

pub(crate) fn versions() -> Versions {
    Versions {
        loadgen_node: env!("CARGO_PKG_VERSION").into(),
        sources_sha256: sources_sha256(SOURCES),
        loadgen: loadgen_sys::version(),
        loadgen_origin: loadgen_sys::origin().into(),
        wire_contract: netdiv_contract::PROTOCOL_VERSION,
    }
}

/// Returns the resources that this process has used so far, from Linux's `/proc`.
pub fn process() -> Process {
    let status = kernel::read("/proc/self/status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    Process {
        peak_resident_bytes: kibibytes.unwrap_or(0) * 1024,
        cpu_seconds: processor::in_stat(&kernel::read("/proc/self/stat")).unwrap_or(0.0),
    }
}

/// Returns the entry of a node, from its description and its counters.
pub fn node(info: &netdiv_qdl::NodeInfo, report: &NodeReport, has_bounds: bool) -> Node {
    let d = &info.description;
    // Each reply names its batch's size, so a batch of n samples is counted n times.
    let batches = |(size, samples): (&u32, &u64)| (*size, samples.div_ceil((*size).max(1).into()));
    Node {
        name: d.node_name.clone(),
        address: info.address.clone(),
        round_trip_ns: u64::try_from(info.round_trip.as_nanos()).unwrap_or(u64::MAX),
        engine: d.engine.clone(),
        model: d.model_name.clone(),
        model_sha256: d.model_sha256.clone(),
        config_sha256: d.config_sha256.clone(),
        software_version: d.software_version.clone(),
        decoding: d.decoding(),
        sampling_seed: d.sampling_seed,
        sent: report.sent,
        acknowledged: report.acknowledged,
        answered: report.answered,
        lost: report.lost.clone(),
        redispatched: report.redispatched,
        unmatched_replies: report.unmatched,
        impossible_responses: report.impossible,
        bytes_sent: report.bytes_sent,
        bytes_received: report.bytes_received,
        response_encodings: report.response_encodings.iter().collect(),
        cached_prompt_tokens: report.cached_prompt_tokens,
        // Nodes report them after the test.
        servers: BTreeMap::new(),
        batches: report.samples_by_batch.iter().map(batches).collect(),
        late: None,
        idle_at_end_seconds: None,
        latency_ns: distribution(&report.latency),
        stages_ns: StageTimes {
            qdl_queue: distribution(&report.stages.qdl_queue),
            network: distribution(&report.stages.network),
            sut_queue: distribution(&report.stages.sut_queue),
            compute: distribution(&report.stages.compute),
        },
        tokens: report.tokens.as_deref().map(|report| tokens(report, has_bounds)),
    }
}

fn tokens(report: &TokenReport, has_bounds: bool) -> Tokens {
    Tokens {
        total: report.tokens,
        one_token_answers: report.one_token,
        finished_by_length: report.cut,
        within_bounds: has_bounds.then_some(report.within_bounds),
        per_answer: distribution(&report.lengths),
        first_ns: distribution(&report.first),
        further_ns: distribution(&report.further),
        prefill_ns: distribution(&report.prefill),
        decode_ns: distribution(&report.decode),
    }
}

/// Returns the figures of a histogram.
pub(crate) fn distribution(histogram: &hdrhistogram::Histogram<u64>) -> Distribution {
    Distribution {
        mean: histogram.mean(),
        p50: histogram.value_at_quantile(0.5),
        p90: histogram.value_at_quantile(0.9),
        p99: histogram.value_at_quantile(0.99),
        p99_9: histogram.value_at_quantile(0.999),
        max: histogram.max(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_has_used_resources() {
        let used = super::process();
        assert!(used.peak_resident_bytes > 0 && used.cpu_seconds >= 0.0, "{used:?}");
    }
}
