//! Metrics of a run under way. They are computed from the run's own counters at each request.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use netdiv_node_common::metrics::{
    Buckets, Metric, Page, SECONDS_BOUNDS,
    loadgen_node::{
        ANSWERED, BOUND, BUILD, FAILED, FINDINGS, FIRST_TOKEN, FURTHER_TOKEN, IN_FLIGHT, ISSUED,
        LATENCY, LOST, NODE_LOST, RECEIVED_BYTES, REDISPATCHED, RUN, SENT, SENT_BYTES, STAGE,
        TOKENS, UNMATCHED, WAITING,
    },
    process_page, version_labels,
};
use netdiv_qdl::NodeReport;
use netdiv_rules::{Finding, Outcome, eligibility::is_required};
use parking_lot::Mutex;

use crate::{
    RunError,
    run::setup::{
        latency_bounds::{LatencyBound, LatencyBounds},
        loadgen_test::LoadGenTest,
    },
};

/// Minimum interval between two readings of the counters, however many clients ask: reading delays
/// each stream for a moment.
const FRESH: Duration = Duration::from_millis(500);

/// Labels, findings and bounds of the run.
pub(crate) struct RunFacts {
    /// Benchmark, scenario, mode and division.
    labels: [String; 4],
    /// Number of findings with each outcome: pass, cannot-tell and fail.
    findings: [(&'static str, usize); 3],
    bounds: LatencyBounds,
}

/// Counters of a run at one time.
pub struct Reading {
    /// Number of samples that LoadGen has issued.
    pub issued: u64,
    /// Counters of each node.
    pub nodes: Vec<NodeReport>,
    /// Set once the run has failed.
    pub failed: bool,
}

/// Binds the socket of the Prometheus endpoint.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, RunError> {
    let refused = |error| RunError::Usage(format!("--metrics {address}: {error}"));
    TcpListener::bind(address).map_err(refused)
}

/// Serves the metrics over HTTP until the process ends. `read` returns the counters; once it
/// returns `None`, the last metrics are served.
pub(crate) fn serve(
    endpoint: TcpListener,
    run: RunFacts,
    read: impl Fn() -> Option<Reading> + Send + 'static,
) -> Result<(), RunError> {
    let last: Arc<Mutex<(Option<Instant>, String, _)>> =
        Arc::new(Mutex::new((None, String::new(), read)));
    let page = move || {
        let (made, text, read) = &mut *last.lock();
        if made.is_none_or(|made| made.elapsed() >= FRESH) {
            if let Some(reading) = read() {
                *text = page(&run, &reading);
            }
            *made = Some(Instant::now());
        }
        text.clone()
    };
    let page = Arc::new(page);
    netdiv_node_common::metrics::serve_on_thread(endpoint, move || page())
        .map_err(|error| RunError::Failed(format!("cannot serve metrics: {error}")))
}

impl RunFacts {
    pub(crate) fn new(test: &LoadGenTest, findings: &[Finding]) -> Self {
        let LoadGenTest { config, bounds, .. } = test;
        let is_asked = |finding: &&Finding| is_required(config.division, finding.rule);
        let asked = || findings.iter().filter(is_asked);
        let count = |outcome| asked().filter(|finding| finding.outcome == outcome).count();
        Self {
            labels: [
                config.benchmark.clone(),
                config.scenario.to_string(),
                config.mode.word().into(),
                config.division.to_string(),
            ],
            findings: [
                ("pass", count(Outcome::Pass)),
                ("cannot-tell", count(Outcome::CannotTell)),
                ("fail", count(Outcome::Fail)),
            ],
            bounds: *bounds,
        }
    }
}

fn page(run: &RunFacts, Reading { issued, nodes, failed }: &Reading) -> String {
    let mut page = Page::default();
    let RunFacts { labels, findings, bounds } = run;
    let [version, revision] = version_labels(env!("NETDIV_VERSION"));
    page.values(&BUILD, [(vec![version, revision, &loadgen_sys::version()[..]], 1)]);
    page.values(&RUN, [(labels.iter().map(String::as_str).collect(), 1)]);
    page.values(&FAILED, [(vec![], u8::from(*failed))]);
    page.values(&FINDINGS, findings.iter().map(|(outcome, count)| (vec![*outcome], count)));
    let sent = nodes.iter().map(|node| node.sent).sum();
    page.values(&ISSUED, [(vec![], issued)]);
    page.values(&WAITING, [(vec![], issued.saturating_sub(sent))]);
    let answered = nodes.iter().map(|node| node.answered).sum();
    let lost = if *failed { issued.saturating_sub(answered) } else { 0 };
    page.values(&LOST, [(vec![], lost)]);
    let mut of_nodes = |metric: &Metric, value: fn(&NodeReport) -> u64| {
        page.values(metric, nodes.iter().map(|node| (vec![&node.name[..]], value(node))));
    };
    of_nodes(&SENT, |node| node.sent);
    of_nodes(&ANSWERED, |node| node.answered);
    of_nodes(&IN_FLIGHT, |node| node.sent.saturating_sub(node.answered + node.taken_back));
    of_nodes(&REDISPATCHED, |node| node.redispatched);
    of_nodes(&UNMATCHED, |node| node.unmatched);
    of_nodes(&NODE_LOST, |node| u64::from(node.lost.is_some()));
    of_nodes(&SENT_BYTES, |node| node.bytes_sent);
    of_nodes(&RECEIVED_BYTES, |node| node.bytes_received);
    let LatencyBounds { latency, first_token, further_token } = *bounds;
    for (measure, bound) in
        [("sample", latency), ("first_token", first_token), ("further_token", further_token)]
    {
        let Some(LatencyBound { ns, share }) = bound else { continue };
        page.values(&BOUND, [(vec![measure, &share.to_string()[..]], ns as f64 / 1e9)]);
    }
    let times = nodes.iter().map(|node| (vec![&node.name[..]], seconds(&node.latency, latency)));
    page.histograms(&LATENCY, times);
    page.histograms(
        &STAGE,
        nodes.iter().flat_map(|node| {
            let stages = &node.stages;
            [
                ("qdl_queue", &stages.qdl_queue),
                ("network", &stages.network),
                ("sut_queue", &stages.sut_queue),
                ("compute", &stages.compute),
            ]
            .map(|(stage, times)| (vec![&node.name[..], stage], seconds(times, None)))
        }),
    );
    let tokens =
        || nodes.iter().filter_map(|node| Some((vec![&node.name[..]], node.tokens.as_deref()?)));
    page.values(&TOKENS, tokens().map(|(node, tokens)| (node, tokens.tokens)));
    let first = tokens().map(|(node, tokens)| (node, seconds(&tokens.first, first_token)));
    page.histograms(&FIRST_TOKEN, first);
    let further = tokens().map(|(node, tokens)| (node, seconds(&tokens.further, further_token)));
    page.histograms(&FURTHER_TOKEN, further);
    page.text() + &process_page()
}

/// Converts a histogram of nanoseconds to buckets of seconds. A bucket ends at LoadGen's bound, so
/// that Prometheus can see on which side of it a percentile is.
fn seconds(times: &Histogram<u64>, bound: Option<LatencyBound>) -> Buckets {
    let bound = bound.map(|bound| bound.ns as f64 / 1e9);
    let mut buckets = Buckets::new(SECONDS_BOUNDS.into_iter().chain(bound));
    for time in times.iter_recorded() {
        buckets.add(time.value_iterated_to() as f64 / 1e9, time.count_since_last_iteration());
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_samples_and_the_bound_are_seen_by_prometheus() {
        let bound = LatencyBound { ns: 15_000_000, share: 0.97 };
        let run = RunFacts {
            labels: ["digits", "server", "performance", "exploratory"].map(String::from),
            findings: [("pass", 0), ("cannot-tell", 0), ("fail", 0)],
            bounds: LatencyBounds { latency: Some(bound), ..LatencyBounds::default() },
        };
        let mut node = NodeReport { answered: 7, ..NodeReport::new("a", "127.0.0.1:1") };
        node.latency.record_n(12_000_000, 6).unwrap();
        node.latency.record(18_000_000).unwrap();
        let page = |failed| page(&run, &Reading { issued: 10, nodes: vec![node.clone()], failed });
        assert!(page(false).contains("\nnetdiv_loadgen_samples_lost 0\n"));
        let failed = page(true);
        for line in [
            "netdiv_loadgen_samples_lost 3",
            "netdiv_loadgen_latency_bound_seconds{measure=\"sample\",percentile=\"0.97\"} 0.015",
            "netdiv_loadgen_sample_duration_seconds_bucket{node=\"a\",le=\"0.01\"} 0",
            "netdiv_loadgen_sample_duration_seconds_bucket{node=\"a\",le=\"0.015\"} 6",
            "netdiv_loadgen_sample_duration_seconds_bucket{node=\"a\",le=\"0.03\"} 7",
        ] {
            assert!(failed.lines().any(|one| one == line), "`{line}` in\n{failed}");
        }
    }
}
