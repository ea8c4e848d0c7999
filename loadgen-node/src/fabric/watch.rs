//! Observation of a measurement: its window, and the counts of each second.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use netdiv_contract::probe::StreamCounts;
use netdiv_qdl::NodeReport;
use netdiv_receivers::Probe;

use super::{counters::Counters, figures::Interval, progress};
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
    /// Messages and bytes that each lane had moved.
    pub(super) moved: Vec<Moved>,
}

/// Messages that a lane, or all lanes, have moved, and the payload bytes of their responses. A
/// message in flight counts by the share that has moved.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) messages: f64,
    pub(super) bytes_received: f64,
}

/// Counts of a lane: those of its stream, and its received bytes.
struct LaneCounts {
    stream: StreamCounts,
    bytes_received: u64,
}

impl LaneCounts {
    /// Returns the counts of a lane of a measurement that began at `start`.
    fn of(lane: &NodeReport, start: Instant) -> Self {
        let last = lane.last_answered.unwrap_or(start);
        let stream = StreamCounts { sent: lane.sent, answered: lane.answered, last };
        Self { stream, bytes_received: lane.bytes_received }
    }

    /// Returns what the lane had moved by `time`, the moment of these counts. `None` until a
    /// message that was in flight is answered.
    fn moved(&self, later: &Self, time: Instant) -> Option<Moved> {
        let share = self.stream.share_moved(&later.stream, time)?;
        let moved = |now: u64, later: u64| now as f64 + share * (later - now) as f64;
        Some(Moved {
            messages: moved(self.stream.answered, later.stream.answered),
            bytes_received: moved(self.bytes_received, later.bytes_received),
        })
    }
}

impl CounterSnapshot {
    /// Reads the counters of a measurement that began at `start`. Then calls `pause` until the
    /// messages in flight show how much of them had moved.
    fn take(
        qdl: &Probe,
        start: Instant,
        mut pause: impl FnMut(Duration) -> Result<(), RunError>,
    ) -> Result<Self, RunError> {
        let lanes = qdl.read_lanes(NodeReport::clone);
        // Taken after the counts, so that no response is later.
        let time = Instant::now();
        let counters = Counters::now(qdl.quic_paths());
        let moved = loop {
            let later = qdl.read_lanes(|lane| LaneCounts::of(lane, start));
            let moved = |(lane, later)| LaneCounts::of(lane, start).moved(later, time);
            let moved: Option<Vec<_>> = lanes.iter().zip(&later).map(moved).collect();
            if let Some(moved) = moved {
                break moved;
            }
            pause(CHECK_INTERVAL)?;
        };
        Ok(Self { time, lanes, counters, moved })
    }

    fn answered(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.answered).sum()
    }

    /// Returns true if each node has answered between this snapshot and the counts of responses
    /// `now`, by lane.
    fn each_node_answered(&self, now: &[u64]) -> bool {
        let has_answered = |address: &str| {
            let mut lanes = self.lanes.iter().zip(now);
            lanes.any(|(lane, now)| lane.address == address && *now > lane.answered)
        };
        self.lanes.iter().all(|lane| has_answered(&lane.address))
    }

    /// Returns the sums over all lanes.
    fn moved_by_all(&self) -> Moved {
        self.moved.iter().fold(Moved::default(), |sum, lane| Moved {
            messages: sum.messages + lane.messages,
            bytes_received: sum.bytes_received + lane.bytes_received,
        })
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
        let (before, now) = (earlier.moved_by_all(), self.moved_by_all());
        let messages = now.messages - before.messages;
        Interval {
            seconds,
            messages: self.answered() - earlier.answered(),
            bytes_per_second_to_nodes: messages * sample_bytes as f64 / seconds,
            bytes_per_second_from_nodes: (now.bytes_received - before.bytes_received) / seconds,
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
/// has answered. Fails if the run fails, or if the sender of `stop` is dropped.
pub(super) fn watch(
    qdl: &Probe,
    times: Times,
    sample_bytes: usize,
    stop: &Receiver<()>,
) -> Result<Window, RunError> {
    let wait = |time: Duration| match stop.recv_timeout(time) {
        Err(RecvTimeoutError::Timeout) => {
            qdl.failure().map_or(Ok(()), |why| Err(RunError::failed(why)))
        }
        _ => Err(RunError::Failed("the thread that sends messages failed; see its error".into())),
    };
    let answered = || qdl.progress().answered;
    let start = Instant::now();
    while let Some(left) = times.warm_up.checked_sub(start.elapsed()).filter(|t| !t.is_zero()) {
        wait(left.min(INTERVAL))?;
    }
    let mut gaps =
        GapTracker { answered: answered(), since: Instant::now(), longest: Duration::ZERO };
    let mut pause = |time: Duration| -> Result<(), RunError> {
        wait(time)?;
        gaps.record_answered(answered());
        Ok(())
    };
    let begin = CounterSnapshot::take(qdl, start, &mut pause)?;
    let mut intervals: Vec<Interval> = Vec::new();
    let mut last: Option<CounterSnapshot> = None;
    let end = loop {
        let before = last.as_ref().unwrap_or(&begin);
        let left = times.duration.saturating_sub(before.time - begin.time);
        // A remainder that is too short for its own interval extends this one.
        let length = if left < INTERVAL * 3 / 2 { left } else { INTERVAL };
        while before.time.elapsed() < length {
            pause(CHECK_INTERVAL.min(length.saturating_sub(before.time.elapsed())))?;
        }
        let over = begin.time.elapsed() >= times.duration;
        // A message may take longer than the whole measurement, and a node may get its first
        // message late.
        while over && !begin.each_node_answered(&qdl.read_lanes(|lane| lane.answered)) {
            pause(CHECK_INTERVAL)?;
        }
        let now = CounterSnapshot::take(qdl, start, &mut pause)?;
        let interval = now.interval(before, sample_bytes);
        intervals.push(interval);
        progress::second(&intervals);
        if over {
            break now;
        }
        last = Some(now);
    };
    Ok(Window { begin, end, intervals, longest_gap: gaps.longest })
}
