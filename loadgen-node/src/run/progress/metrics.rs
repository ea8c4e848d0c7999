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
        ANSWERED, FAILED, FINDINGS, FIRST_TOKEN, FURTHER_TOKEN, IN_FLIGHT, ISSUED, LATENCY,
        NODE_LOST, RECEIVED_BYTES, REDISPATCHED, RUN, SENT, SENT_BYTES, STAGE, TOKENS, UNMATCHED,
        WAITING,
    },
};
use netdiv_qdl::NodeReport;
use netdiv_rules::{Finding, Outcome, eligibility::is_required};
use parking_lot::Mutex;

use crate::{RunConfig, RunError};

/// Minimum interval between two readings of the counters, however many clients ask: reading delays
/// each stream for a moment.
const FRESH: Duration = Duration::from_millis(500);

/// Labels and findings of the run.
pub(crate) struct RunFacts {
    /// Benchmark, scenario, mode and division.
    labels: [String; 4],
    /// Number of findings with each outcome: pass, cannot-tell and fail.
    findings: [(&'static str, usize); 3],
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
    pub(crate) fn new(config: &RunConfig, findings: &[Finding]) -> Self {
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
        }
    }
}

fn page(run: &RunFacts, Reading { issued, nodes, failed }: &Reading) -> String {
    let mut page = Page::default();
    let RunFacts { labels, findings } = run;
    page.values(&RUN, [(labels.iter().map(String::as_str).collect(), 1)]);
    page.values(&FAILED, [(vec![], u8::from(*failed))]);
    page.values(&FINDINGS, findings.iter().map(|(outcome, count)| (vec![*outcome], count)));
    let sent = nodes.iter().map(|node| node.sent).sum();
    page.values(&ISSUED, [(vec![], issued)]);
    page.values(&WAITING, [(vec![], issued.saturating_sub(sent))]);
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
    page.histograms(&LATENCY, nodes.iter().map(|n| (vec![&n.name[..]], seconds(&n.latency))));
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
            .map(|(stage, times)| (vec![&node.name[..], stage], seconds(times)))
        }),
    );
    let tokens: Vec<_> =
        nodes.iter().filter_map(|node| Some((&node.name[..], node.tokens.as_deref()?))).collect();
    if !tokens.is_empty() {
        page.values(&TOKENS, tokens.iter().map(|(node, tokens)| (vec![*node], tokens.tokens)));
        page.histograms(&FIRST_TOKEN, tokens.iter().map(|(n, t)| (vec![*n], seconds(&t.first))));
        page.histograms(
            &FURTHER_TOKEN,
            tokens.iter().map(|(n, t)| (vec![*n], seconds(&t.further))),
        );
    }
    page.text()
}

/// Converts a histogram of nanoseconds to buckets of seconds.
fn seconds(times: &Histogram<u64>) -> Buckets {
    let mut buckets = Buckets::new(&SECONDS_BOUNDS);
    for time in times.iter_recorded() {
        buckets.add(time.value_iterated_to() as f64 / 1e9, time.count_since_last_iteration());
    }
    buckets
}
