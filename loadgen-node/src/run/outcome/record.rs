//! Entries of `result.json` about nodes, versions and this process.

use std::collections::BTreeMap;

use netdiv_node_common::resources::{kernel, processor};
use netdiv_qdl::{NodeReport, TokenReport};
use netdiv_rules::{
    record::{Distribution, Node, Process, StageTimes, Tokens, Versions},
    submission::sources_sha256,
};

use crate::sources::SOURCES;

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

fn distribution(histogram: &hdrhistogram::Histogram<u64>) -> Distribution {
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
