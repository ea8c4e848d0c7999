//! Every metric of the node, by name. Nothing is emitted for each sample alone: streams count what they read
//! at once, engines count batches.

use std::{net::SocketAddr, time::Duration};

use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{
    BuildError,
    Matcher::{Full, Suffix},
    PrometheusBuilder, PrometheusHandle,
};
use tokio::{net::TcpListener, time::sleep};

use crate::node::endpoint;

const SAMPLES: &str = "netdiv_samples_received_total";
const REFUSED: &str = "netdiv_samples_refused_total";
const QUEUED: &str = "netdiv_samples_queued";
const BATCH_SAMPLES: &str = "netdiv_batch_samples";
const COMPUTE: &str = "netdiv_batch_compute_seconds";
const FAILED: &str = "netdiv_batches_failed_total";
const ABANDONED: &str = "netdiv_samples_abandoned_total";
const ABORTED: &str = "netdiv_streams_aborted_total";
const SLOTS: &str = "netdiv_slots";
const CACHE_BYTES: &str = "netdiv_cache_bytes";
const WELL: &str = "netdiv_well";
const CONNECTIONS: &str = "netdiv_connections";
const RPCS: &str = "netdiv_rpcs_total";
const RPC_SECONDS: &str = "netdiv_rpc_seconds";

/// Bounds of the histograms: batch sizes, and seconds from 10 µs to 10 s.
const BATCH_BOUNDS: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];
const SECONDS_BOUNDS: [f64; 13] =
    [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0];

/// How often what was recorded is put together, also where nobody asks for it.
const UPKEEP: Duration = Duration::from_secs(5);

/// Serves the metrics over HTTP at `/metrics`. The error says why that is impossible.
pub(crate) async fn serve(address: SocketAddr) -> Result<(), String> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let recorded = install().map_err(|error| error.to_string())?;
    let page = recorded.clone();
    tokio::spawn(endpoint::serve(listener, move || page.render()));
    tokio::spawn(async move {
        loop {
            sleep(UPKEEP).await;
            recorded.run_upkeep();
        }
    });
    Ok(())
}

/// Records the metrics from now on.
fn install() -> Result<PrometheusHandle, BuildError> {
    let recorded = PrometheusBuilder::new()
        .set_buckets_for_metric(Full(BATCH_SAMPLES.into()), &BATCH_BOUNDS)?
        .set_buckets_for_metric(Suffix("_seconds".into()), &SECONDS_BOUNDS)?
        .install_recorder()?;
    describe_counter!(SAMPLES, Unit::Count, "Samples read from streams");
    describe_counter!(REFUSED, Unit::Count, "Samples that could not be read");
    describe_gauge!(QUEUED, Unit::Count, "Samples that wait for a batch");
    describe_histogram!(BATCH_SAMPLES, Unit::Count, "Samples in a batch");
    describe_histogram!(COMPUTE, Unit::Seconds, "Time the engine took for a batch");
    describe_counter!(FAILED, Unit::Count, "Batches that the engine could not run");
    describe_counter!(ABANDONED, Unit::Count, "Samples dropped because their client had gone");
    describe_counter!(ABORTED, Unit::Count, "Streams ended because an engine did not come back");
    describe_gauge!(
        SLOTS,
        Unit::Count,
        "Samples that a plug-in's language model has under way, at most"
    );
    describe_gauge!(CACHE_BYTES, Unit::Bytes, "Device memory for its keys and values");
    describe_gauge!(WELL, "1 while the node is ready to serve, else 0");
    describe_gauge!(CONNECTIONS, Unit::Count, "Connections of clients, over both transports");
    describe_counter!(RPCS, Unit::Count, "Calls, by method");
    describe_histogram!(RPC_SECONDS, Unit::Seconds, "Time until a call's answer began, by method");
    // Counters are there from the start, so that the first failure shows as a change.
    for name in [SAMPLES, REFUSED, FAILED, ABANDONED, ABORTED] {
        counter!(name).increment(0);
    }
    Ok(recorded)
}

pub(crate) fn samples(received: usize, refused: usize, queued: usize) {
    counter!(SAMPLES).increment(received as u64);
    counter!(REFUSED).increment(refused as u64);
    gauge!(QUEUED).set(queued as f64);
}

pub(crate) fn batch(samples: usize, compute: Duration) {
    histogram!(BATCH_SAMPLES).record(samples as f64);
    histogram!(COMPUTE).record(compute);
}

pub(crate) fn queued(samples: usize) {
    gauge!(QUEUED).set(samples as f64);
}

pub(crate) fn failed_batch() {
    counter!(FAILED).increment(1);
}

pub(crate) fn abandoned(samples: usize) {
    counter!(ABANDONED).increment(samples as u64);
}

pub(crate) fn aborted(streams: usize) {
    counter!(ABORTED).increment(streams as u64);
}

pub(crate) fn token_room(slots: usize, cache_bytes: u64) {
    gauge!(SLOTS).set(slots as f64);
    gauge!(CACHE_BYTES).set(cache_bytes as f64);
}

pub(crate) fn well(well: bool) {
    gauge!(WELL).set(f64::from(u8::from(well)));
}

pub(crate) fn connections(open: usize) {
    gauge!(CONNECTIONS).set(open as f64);
}

pub(crate) fn rpc(method: &'static str, time: Duration) {
    counter!(RPCS, "method" => method).increment(1);
    histogram!(RPC_SECONDS, "method" => method).record(time);
}
