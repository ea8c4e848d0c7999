//! Observation of a measurement: its window, and the counts of each second.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use netdiv_qdl::NodeReport;
use netdiv_receivers::Probe;

use super::{client::failed, counters::Counters, figures::Interval};
use crate::RunError;

/// Time between two readings of the counters.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time between two checks for responses.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Length of one measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Time that is left out at the beginning.
    pub(crate) warm_up: Duration,
    /// Time that is measured.
    pub(crate) duration: Duration,
}

/// Counters at one moment of a measurement.
pub(super) struct CounterSnapshot {
    time: Instant,
    pub(super) lanes: Vec<NodeReport>,
    pub(super) counters: Counters,
}

impl CounterSnapshot {
    fn now(qdl: &Probe) -> Self {
        Self {
            time: Instant::now(),
            lanes: qdl.report_by_lane(),
            counters: Counters::now(qdl.quic_paths()),
        }
    }

    fn answered(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.answered).sum()
    }

    /// Returns true if each node has answered between this snapshot and the counts `now`.
    fn each_node_answered(&self, now: &[NodeReport]) -> bool {
        let answered = |lanes: &[NodeReport], address: &str| -> u64 {
            lanes.iter().filter(|lane| lane.address == address).map(|lane| lane.answered).sum()
        };
        let address = |lane: &NodeReport| lane.address.clone();
        now.iter().map(address).all(|to| answered(now, &to) > answered(&self.lanes, &to))
    }

    fn bytes_received(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.bytes_received).sum()
    }

    pub(super) fn seconds_since(&self, earlier: &Self) -> f64 {
        self.time.duration_since(earlier.time).as_secs_f64()
    }

    /// Returns the latencies of the messages answered since an earlier snapshot; `None` without
    /// such messages.
    pub(super) fn latency(&self, earlier: &Self) -> Option<Histogram<u64>> {
        let mut latency = self.lanes.first()?.latency.clone();
        latency.reset();
        self.lanes.iter().try_for_each(|lane| latency.add(&lane.latency)).ok()?;
        earlier.lanes.iter().try_for_each(|lane| latency.subtract(&lane.latency)).ok()?;
        (!latency.is_empty()).then_some(latency)
    }

    /// Returns the counts since an earlier snapshot.
    fn interval(&self, earlier: &Self, sample_bytes: usize) -> Interval {
        let seconds = self.seconds_since(earlier);
        let messages = self.answered() - earlier.answered();
        Interval {
            seconds,
            messages,
            bytes_per_second_to_nodes: messages as f64 * sample_bytes as f64 / seconds,
            bytes_per_second_from_nodes: (self.bytes_received() - earlier.bytes_received()) as f64
                / seconds,
            p99_ns: self.latency(earlier).map(|latency| latency.value_at_quantile(0.99)),
        }
    }
}

/// Window of a measurement: the counters at its start and end, and the intervals between them.
pub(super) struct Window {
    pub(super) begin: CounterSnapshot,
    pub(super) end: CounterSnapshot,
    pub(super) intervals: Vec<Interval>,
    /// Longest time without a response, checked every [`CHECK_INTERVAL`].
    pub(super) longest_gap: Duration,
}

/// Tracker of the longest time without a response.
struct GapTracker {
    answered: u64,
    since: Instant,
    longest: Duration,
}

impl GapTracker {
    fn record_answered(&mut self, answered: u64) {
        self.longest = self.longest.max(self.since.elapsed());
        if answered > self.answered {
            (self.answered, self.since) = (answered, Instant::now());
        }
    }
}

/// Reads the counters when the warm-up is over, then each second until the time is up and each node
/// has answered. Passes each interval to `tell`. Fails if the run fails, or if the sender of `stop`
/// is dropped.
pub(super) fn watch(
    qdl: &Probe,
    times: Times,
    sample_bytes: usize,
    stop: &Receiver<()>,
    tell: impl Fn(&Interval),
) -> Result<Window, RunError> {
    let wait = |time: Duration| match stop.recv_timeout(time) {
        Err(RecvTimeoutError::Timeout) => {
            qdl.failure().map_or(Ok(()), |why| Err(failed(why.clone())))
        }
        _ => Err(RunError::Failed("the measurement ended early".into())),
    };
    let answered = || qdl.progress().answered;
    let warm = Instant::now();
    while let Some(left) = times.warm_up.checked_sub(warm.elapsed()).filter(|t| !t.is_zero()) {
        wait(left.min(INTERVAL))?;
    }
    let begin = CounterSnapshot::now(qdl);
    let mut gaps =
        GapTracker { answered: begin.answered(), since: begin.time, longest: Duration::ZERO };
    let mut intervals = Vec::new();
    let mut last: Option<CounterSnapshot> = None;
    loop {
        let before = last.as_ref().unwrap_or(&begin);
        let left = times.duration.saturating_sub(before.time - begin.time);
        // A remainder that is too short for its own interval extends this one.
        let length = if left < INTERVAL * 3 / 2 { left } else { INTERVAL };
        while before.time.elapsed() < length {
            wait(CHECK_INTERVAL.min(length.saturating_sub(before.time.elapsed())))?;
            gaps.record_answered(answered());
        }
        let over = begin.time.elapsed() >= times.duration;
        // A message may take longer than the whole measurement, and a node may get its first
        // message late.
        while over && !begin.each_node_answered(&qdl.report_by_lane()) {
            wait(CHECK_INTERVAL)?;
            gaps.record_answered(answered());
        }
        let now = CounterSnapshot::now(qdl);
        let interval = now.interval(before, sample_bytes);
        tell(&interval);
        intervals.push(interval);
        if over {
            return Ok(Window { begin, end: now, intervals, longest_gap: gaps.longest });
        }
        last = Some(now);
    }
}
