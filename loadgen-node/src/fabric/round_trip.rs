//! Round trips of one message at a time.

use std::time::{Duration, Instant};

use netdiv_qdl::Settings;
use netdiv_receivers::ResponseSink;

use super::{
    client::connect,
    figures::{RoundTrip, Shape},
};
use crate::RunError;

/// Maximum number of round trips, even if there is time for more.
const ENOUGH: u64 = 20_000;

/// Times round trips of one message at a time, to a node and back, for at most `duration`.
pub(crate) fn round_trip(
    settings: &Settings,
    address: &str,
    bytes: usize,
    duration: Duration,
) -> Result<RoundTrip, RunError> {
    let alone = Settings {
        nodes: vec![address.to_owned()],
        connections_per_node: 1,
        streams_per_connection: 1,
        one_query_at_a_time: true,
        ..settings.clone()
    };
    let qdl = connect(alone, Shape { to_node: bytes, from_node: bytes }, ResponseSink)?;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < duration && count < ENOUGH {
        qdl.issue(&[Instant::now()]).map_err(RunError::failed)?;
        count += 1;
    }
    let report = qdl.report().remove(0);
    let latency = &report.latency;
    let histogram = latency.iter_log(1000, 2.0);
    Ok(RoundTrip {
        node: report.name,
        message_bytes: bytes,
        count,
        p50_ns: latency.value_at_quantile(0.5),
        p90_ns: latency.value_at_quantile(0.9),
        p99_ns: latency.value_at_quantile(0.99),
        p99_9_ns: latency.value_at_quantile(0.999),
        max_ns: latency.max(),
        histogram_ns: histogram
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
            .collect(),
    })
}
