//! How `result.json` is filled with what was counted.

use std::fs;

use netdiv_proto::encoding::{self, Encoding};
use netdiv_qdl::NodeReport;
use netdiv_rules::result::{Distribution, Node, Process, StageTimes, Verdict, Versions};

use crate::{error::EXIT_FAILED, sources};

/// The process's exit code.
pub const fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Valid | Verdict::Complete => 0,
        Verdict::Invalid => 1,
        Verdict::Failed => EXIT_FAILED,
    }
}

/// What this process has used so far, from Linux's `/proc`.
pub fn process() -> Process {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let status = read("/proc/self/status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    Process {
        peak_resident_bytes: kibibytes.unwrap_or(0) * 1024,
        cpu_seconds: cpu_seconds(&read("/proc/self/stat")),
    }
}

/// User and system time in the text of `/proc/PID/stat`, in seconds.
pub fn cpu_seconds(stat: &str) -> f64 {
    // After the name in brackets, which may hold anything, the 12th and 13th fields, in ticks of 10 ms.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let ticks = fields.into_iter().flatten().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() as f64 / 100.0
}

/// Versions of this program.
pub(crate) fn versions() -> Versions {
    Versions {
        loadgen_node: env!("CARGO_PKG_VERSION").into(),
        sources_sha256: sources::sha256(),
        loadgen: loadgen_sys::version(),
        loadgen_origin: loadgen_sys::origin().into(),
        wire_contract: netdiv_proto::PROTOCOL_VERSION,
    }
}

/// A node, from what it said of itself and what was counted.
pub(crate) fn node(info: &netdiv_qdl::NodeInfo, report: &NodeReport) -> Node {
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
        bytes_sent: report.bytes_sent,
        bytes_received: report.bytes_received,
        response_encodings: report.response_encodings.iter().map(encoding_name).collect(),
        batches: report.samples_by_batch.iter().map(batches).collect(),
        latency_ns: distribution(&report.latency),
        stages_ns: StageTimes {
            qdl_queue: distribution(&report.stages.qdl_queue),
            network: distribution(&report.stages.network),
            sut_queue: distribution(&report.stages.sut_queue),
            compute: distribution(&report.stages.compute),
        },
    }
}

fn encoding_name(number: &i32) -> String {
    let known = Encoding::try_from(*number).map(encoding::name);
    known.map_or_else(|_| number.to_string(), Into::into)
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
