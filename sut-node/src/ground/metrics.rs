//! Metrics of the node, which `netdiv_node_common::metrics` names. No metric is emitted per sample:
//! streams count the samples of each read, engines count batches.

use std::{net::SocketAddr, sync::LazyLock, time::Duration};

use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use metrics_exporter_prometheus::{
    BuildError,
    Matcher::{Full, Suffix},
    PrometheusBuilder, PrometheusHandle,
};
use netdiv_node_common::metrics::{
    Kind, SAMPLES_BOUNDS, SECONDS_BOUNDS, process_page,
    sut_node::{
        ALL, BATCH_COMPUTE, BATCH_QUEUE, BATCH_SAMPLES, BATCHES_FAILED, BUILD, CACHE_BYTES,
        CONNECTIONS, READY, RPC_DURATION, RPCS, SAMPLES_ABANDONED, SAMPLES_IN_FLIGHT,
        SAMPLES_QUEUED, SAMPLES_RECEIVED, SAMPLES_REFUSED, SLOTS, STREAMS_ABORTED,
    },
    version_labels,
};
use tokio::{net::TcpListener, time::sleep};

/// Interval in which recorded values are aggregated, even if no client reads them.
const UPKEEP: Duration = Duration::from_secs(5);

/// Interval in which samples are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

// Metrics of each read and batch: looking a metric up takes longer than changing it. The recorder is
// installed before the first samples arrive.
static RECEIVED: LazyLock<Counter> = LazyLock::new(|| counter!(SAMPLES_RECEIVED.name));
static SAMPLES: LazyLock<Histogram> = LazyLock::new(|| histogram!(BATCH_SAMPLES.name));
static QUEUE: LazyLock<Histogram> = LazyLock::new(|| histogram!(BATCH_QUEUE.name));
static COMPUTE: LazyLock<Histogram> = LazyLock::new(|| histogram!(BATCH_COMPUTE.name));

/// Serves the metrics over HTTP at `/metrics`. Fails with a text if that is impossible. `version` is
/// the text that `--version` prints.
pub(crate) async fn serve(address: SocketAddr, version: &'static str) -> Result<(), String> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let recorded = install().map_err(|error| error.to_string())?;
    let [version, revision] = version_labels(version);
    gauge!(BUILD.name, "version" => version, "revision" => revision).set(1.0);
    let recorder = recorded.clone();
    let page = move || recorder.render() + &process_page();
    tokio::spawn(netdiv_node_common::metrics::serve(listener, page));
    tokio::spawn(async move {
        loop {
            sleep(UPKEEP).await;
            recorded.run_upkeep();
        }
    });
    Ok(())
}

/// Installs the recorder of all metrics. Returns a handle that renders them.
fn install() -> Result<PrometheusHandle, BuildError> {
    let recorded = PrometheusBuilder::new()
        .set_buckets_for_metric(Full(BATCH_SAMPLES.name.into()), &SAMPLES_BOUNDS)?
        .set_buckets_for_metric(Suffix("_seconds".into()), &SECONDS_BOUNDS)?
        .install_recorder()?;
    for metric in ALL {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help),
            Kind::Gauge => describe_gauge!(metric.name, metric.help),
            Kind::Histogram => describe_histogram!(metric.name, metric.help),
        }
        // Counters exist from the start, so that the first failure shows as a change.
        if metric.kind == Kind::Counter && metric.labels.is_empty() {
            counter!(metric.name).increment(0);
        }
    }
    Ok(recorded)
}

/// Records the numbers of samples in flight and of samples that wait, which the functions return, at
/// regular intervals for as long as the process lives.
pub(crate) fn watch_samples(
    in_flight: impl Fn() -> usize + Send + 'static,
    queued: impl Fn() -> usize + Send + 'static,
) {
    tokio::spawn(async move {
        loop {
            gauge!(SAMPLES_IN_FLIGHT.name).set(in_flight() as f64);
            gauge!(SAMPLES_QUEUED.name).set(queued() as f64);
            sleep(COUNT_INTERVAL).await;
        }
    });
}

pub(crate) fn samples(received: usize, refused: usize) {
    RECEIVED.increment(received as u64);
    if refused > 0 {
        counter!(SAMPLES_REFUSED.name).increment(refused as u64);
    }
}

/// Records a batch, the time that its oldest sample waited for it, and the engine's time.
pub(crate) fn batch(samples: usize, queue: Duration, compute: Duration) {
    SAMPLES.record(samples as f64);
    QUEUE.record(queue);
    COMPUTE.record(compute);
}

pub(crate) fn failed_batch() {
    counter!(BATCHES_FAILED.name).increment(1);
}

pub(crate) fn abandoned(samples: usize) {
    counter!(SAMPLES_ABANDONED.name).increment(samples as u64);
}

pub(crate) fn aborted(streams: usize) {
    counter!(STREAMS_ABORTED.name).increment(streams as u64);
}

pub(crate) fn token_room(slots: usize, cache_bytes: u64) {
    gauge!(SLOTS.name).set(slots as f64);
    gauge!(CACHE_BYTES.name).set(cache_bytes as f64);
}

pub(crate) fn ready(ready: bool) {
    gauge!(READY.name).set(f64::from(u8::from(ready)));
}

pub(crate) fn connections(open: usize) {
    gauge!(CONNECTIONS.name).set(open as f64);
}

pub(crate) fn rpc(method: &'static str, time: Duration) {
    counter!(RPCS.name, "method" => method).increment(1);
    histogram!(RPC_DURATION.name, "method" => method).record(time);
}
