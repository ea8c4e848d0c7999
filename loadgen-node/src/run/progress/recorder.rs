//! Recorder of a run while it goes on, in a separate thread off the path of samples: it reads the
//! run's own counters.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use netdiv_qdl::NodeReport;
use parking_lot::Mutex;
use tracing::warn;

use crate::{
    recording::series::{SeriesRow, Writer},
    run::progress::metrics::Reading,
};

/// Rows of the last complete interval, and the counters of all nodes together at its end. Empty
/// before the first interval ends.
pub(crate) type Latest = Mutex<(Vec<SeriesRow>, Option<Arc<NodeReport>>)>;

/// Length of an interval.
const PERIOD: Duration = Duration::from_secs(1);

/// Minimum length of an interval, as a multiple of the time for reading the counters, because
/// reading delays each stream for a moment.
const READINGS: u32 = 100;

/// Maximum length of an interval.
const LONGEST: Duration = Duration::from_secs(10);

const WITHOUT: &str = "the run goes on without a record of each second";

/// Writes the series of a run into its folder while `work` runs. Returns the result of `work`.
pub(crate) fn while_running<T>(
    folder: &Path,
    read: impl Fn() -> Option<Reading> + Send,
    latest: &Latest,
    work: impl FnOnce() -> T,
) -> T {
    let (done, ended) = mpsc::channel::<()>();
    // Read before the work begins, so that nothing of it is missed.
    let begin = (Instant::now(), read());
    thread::scope(|scope| {
        let recording = move || {
            if let (started, Some(first)) = begin {
                record(folder, started, first, &read, latest, &ended);
            }
        };
        let recorder = thread::Builder::new().name("recorder".into());
        if let Err(error) = recorder.spawn_scoped(scope, recording) {
            warn!("{WITHOUT}: {error}");
        }
        let result = work();
        drop(done);
        result
    })
}

fn record(
    folder: &Path,
    started: Instant,
    mut before: Reading,
    read: &impl Fn() -> Option<Reading>,
    latest: &Latest,
    ended: &mpsc::Receiver<()>,
) {
    let give_up = |error: &io::Error| warn!("{WITHOUT}: {error}");
    let mut series = Writer::create(folder).inspect_err(give_up).ok();
    let (mut at, mut period, mut over) = (0.0, PERIOD, false);
    let mut took = Duration::ZERO;
    while !over {
        over = ended.recv_timeout(period) != Err(RecvTimeoutError::Timeout);
        let now = Instant::now();
        let Some(reading) = read() else { break };
        // An interrupted reading takes longer than it needs: the shorter of the last two times
        // counts.
        let last = std::mem::replace(&mut took, now.elapsed());
        period = (took.min(last) * READINGS).clamp(PERIOD, LONGEST);
        // An interval has at least a millisecond.
        let end = round_to_ms((now - started).as_secs_f64()).max(round_to_ms(at + 0.001));
        let (rows, all) = rows([at, end], &before, &reading);
        if let Some(Err(error)) = series.as_mut().map(|series| series.add(&rows)) {
            give_up(&error);
            series = None;
        }
        *latest.lock() = (rows, Some(Arc::new(all)));
        (at, before) = (end, reading);
    }
}

fn round_to_ms(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Returns the rows between two readings: all nodes together, then each node. Returns also the last
/// counters of all nodes together.
fn rows(
    [start_seconds, end_seconds]: [f64; 2],
    before: &Reading,
    now: &Reading,
) -> (Vec<SeriesRow>, NodeReport) {
    let (all_before, all_now) = (sum(before), sum(now));
    let sent = all_now.sent.saturating_sub(all_now.taken_back);
    let all = SeriesRow {
        issued: Some(now.issued.saturating_sub(before.issued)),
        waiting: Some(now.issued.saturating_sub(sent)),
        ..row(&all_before, &all_now)
    };
    let nodes = before.nodes.iter().zip(&now.nodes).map(|(before, now)| row(before, now));
    let rows = [all].into_iter().chain(nodes);
    let rows = rows.map(|row| SeriesRow { start_seconds, end_seconds, ..row });
    (rows.collect(), all_now)
}

/// Returns the report of all nodes together. It has no name.
fn sum(reading: &Reading) -> NodeReport {
    let mut all = NodeReport::new("", "");
    reading.nodes.iter().for_each(|node| all.merge(node));
    all
}

/// Returns the counts between two reports of a node, or of all nodes together.
fn row(before: &NodeReport, now: &NodeReport) -> SeriesRow {
    let since = |count: fn(&NodeReport) -> u64| count(now).saturating_sub(count(before));
    let at = |times: &Histogram<u64>, quantile| {
        (!times.is_empty()).then(|| times.value_at_quantile(quantile))
    };
    let latency = subtract(&now.latency, Some(&before.latency));
    let (tokens, earlier) = (now.tokens.as_deref(), before.tokens.as_deref());
    let first_token =
        tokens.map(|tokens| subtract(&tokens.first, earlier.map(|earlier| &earlier.first)));
    let first = |quantile| at(first_token.as_ref()?, quantile);
    SeriesRow {
        node: now.name.clone(),
        sent: since(|report| report.sent),
        completed: since(|report| report.answered),
        in_flight: now.sent.saturating_sub(now.answered + now.taken_back),
        p50_ns: at(&latency, 0.5),
        p99_ns: at(&latency, 0.99),
        max_ns: at(&latency, 1.0),
        bytes_sent: since(|report| report.bytes_sent),
        bytes_received: since(|report| report.bytes_received),
        first_tokens: first_token.as_ref().map(Histogram::len),
        first_p50_ns: first(0.5),
        first_p99_ns: first(0.99),
        tokens: tokens.map(|_| since(|report| report.tokens.as_ref().map_or(0, |one| one.tokens))),
        ..SeriesRow::default()
    }
}

/// Returns the values that `now` has in addition to the earlier histogram `before`.
fn subtract(now: &Histogram<u64>, before: Option<&Histogram<u64>>) -> Histogram<u64> {
    let mut lately = now.clone();
    if let Some(before) = before {
        // Counts only grow, and the bounds are the same, so subtracting cannot fail.
        let _ = lately.subtract(before);
    }
    lately
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::recording::series;

    fn node(name: &str, sent: u64, latencies: &[u64]) -> NodeReport {
        let mut report = NodeReport::new(name, "");
        report.sent = sent;
        report.answered = latencies.len() as u64;
        latencies.iter().for_each(|ns| report.latency.record(*ns).unwrap());
        report
    }

    fn reading(issued: u64, nodes: [NodeReport; 2]) -> Reading {
        Reading { issued, nodes: nodes.into(), failed: false }
    }

    #[test]
    fn an_interval_has_what_happened_in_it_alone() {
        let before = reading(20, [node("a", 4, &[1000, 1000]), node("b", 3, &[9000; 3])]);
        let mut a = node("a", 9, &[1000, 1000, 5, 7, 900]);
        (a.redispatched, a.taken_back) = (4, 1);
        let now = reading(25, [a, node("b", 3, &[9000; 3])]);
        let (rows, _) = rows([1.0, 2.0], &before, &now);
        let [all, a, b] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&*all.node, &*a.node, &*b.node), ("", "a", "b"));
        assert!(rows.iter().all(|row| (row.start_seconds, row.end_seconds) == (1.0, 2.0)));
        assert_eq!((all.issued, all.waiting, a.issued, a.waiting), (Some(5), Some(14), None, None));
        assert_eq!((all.sent, all.completed, all.in_flight), (5, 3, 3));
        assert_eq!((a.sent, a.completed, a.in_flight), (5, 3, 3));
        assert_eq!((a.p50_ns, a.p99_ns, a.max_ns), (Some(7), Some(900), Some(900)));
        assert_eq!((all.p50_ns, all.max_ns), (a.p50_ns, a.max_ns));
        assert_eq!((b.sent, b.completed, b.p50_ns, b.max_ns), (0, 0, None, None));
        assert_eq!((all.tokens, all.first_tokens, all.first_p50_ns), (None, None, None));
    }

    #[test]
    fn tokens_of_all_nodes_are_added_up() {
        let tokens = |tokens, first: &[u64]| {
            let mut report = node("a", 2, &[]);
            let counted = report.tokens.get_or_insert_default();
            counted.tokens = tokens;
            first.iter().for_each(|ns| counted.first.record(*ns).unwrap());
            report
        };
        let before = reading(4, [node("a", 0, &[]), tokens(5, &[100])]);
        let now = reading(4, [tokens(7, &[30, 30]), tokens(9, &[100, 50])]);
        let (rows, _) = rows([0.0, 1.0], &before, &now);
        let told =
            |row: &SeriesRow| (row.tokens, row.first_tokens, row.first_p50_ns, row.first_p99_ns);
        assert_eq!(told(&rows[0]), (Some(11), Some(3), Some(30), Some(50)));
        assert_eq!(told(&rows[1]), (Some(7), Some(2), Some(30), Some(30)));
        assert_eq!(told(&rows[2]), (Some(4), Some(1), Some(50), Some(50)));
    }

    #[test]
    fn a_short_run_has_an_interval_too() {
        let folder = tempfile::tempdir().unwrap();
        let sent = AtomicU64::new(0);
        let read = || {
            let sent = sent.fetch_add(5, Ordering::Relaxed);
            Some(reading(sent, [node("a", sent, &[]), node("b", 0, &[])]))
        };
        let latest = Latest::default();
        while_running(folder.path(), read, &latest, || thread::sleep(Duration::from_millis(20)));
        let (live, all) = latest.into_inner();
        let rows = series::read(folder.path()).unwrap();
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert_eq!((rows[0].start_seconds, rows[0].sent), (0.0, 5));
        assert!(rows[0].end_seconds >= 0.02, "{rows:?}");
        assert_eq!((live, all.map(|all| all.sent)), (rows, Some(5)));
    }

    #[test]
    fn a_run_goes_on_where_nothing_can_be_written() {
        let nowhere = Path::new("/proc/nowhere");
        assert_eq!(while_running(nowhere, || None, &Latest::default(), || 7), 7);
    }
}
