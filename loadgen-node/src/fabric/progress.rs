//! Progress of a network measurement: a live line on a terminal, log lines elsewhere. Each figure is
//! shown as soon as it has been measured.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::{info, warn};

use super::figures::{Bandwidth, Direction, Interval, OpenLoop, RoundTrip};
use crate::{
    live_line::LiveLine,
    units::{count, gigabits, rate, size},
};

/// Number of intervals between two log lines of a long measurement.
const LOGGED: usize = 10;

/// Live line of the measurement, while there is one.
static LIVE: Mutex<Option<LiveMeasurement>> = Mutex::new(None);

struct LiveMeasurement {
    line: LiveLine,
    begin: Instant,
    /// Expected length of the measurement.
    about: Duration,
    /// Part that is measured.
    part: String,
    /// Last figure.
    figure: String,
}

/// Live line of a measurement. Dropping it clears the line.
pub(super) struct LineGuard;

impl Drop for LineGuard {
    fn drop(&mut self) {
        *LIVE.lock() = None;
    }
}

pub(super) fn begin(about: Duration, is_quick: bool) -> LineGuard {
    let shown = humantime::format_duration(about);
    let more = if is_quick { "; --thorough takes longer, and its figures vary less" } else { "" };
    info!("this takes about {shown}{more}");
    let line = LiveLine::new(false);
    *LIVE.lock() = line.is_drawn().then(|| LiveMeasurement {
        line,
        begin: Instant::now(),
        about,
        part: "starting".into(),
        figure: String::new(),
    });
    LineGuard
}

/// Changes the live line. Returns false without a live line.
fn show(change: impl FnOnce(&mut LiveMeasurement)) -> bool {
    let mut live = LIVE.lock();
    let Some(live) = live.as_mut() else { return false };
    change(live);
    let left = live.about.saturating_sub(live.begin.elapsed());
    live.line.show(&line(&live.part, left, &live.figure));
    true
}

fn line(part: &str, left: Duration, figure: &str) -> String {
    let left = humantime::format_duration(Duration::from_secs(left.as_secs().max(1)));
    let gap = if figure.is_empty() { "" } else { "; " };
    format!("{part}, about {left} left{gap}{figure}")
}

/// Shows on the live line that a measurement of bandwidth begins. `which` is that of [`cell`].
pub(super) fn begin_cell(which: &str, bytes: usize, direction: Direction) {
    show_part(format!("{which}{} {direction}", size(bytes)));
}

/// Shows on the live line that a part begins. Returns false without a live line.
pub(super) fn show_part(part: String) -> bool {
    show(|live| live.part = part)
}

/// Shows a figure on the live line, or logs it.
fn show_figure(figure: String) {
    if !show(|live| live.figure.clone_from(&figure)) {
        info!("{figure}");
    }
}

pub(super) fn round_trip(trip: &RoundTrip) {
    let RoundTrip { node, message_bytes, p50_ns, p99_ns, .. } = trip;
    let us = |ns: u64| ns as f64 / 1e3;
    let (message, p50, p99) = (size(*message_bytes), us(*p50_ns), us(*p99_ns));
    show_figure(format!("round trip of {message} to {node}: p50 {p50:.0} µs, p99 {p99:.0} µs"));
}

/// Returns the beginning of the lines about a trial with a number of connections.
pub(super) fn trial(connections: usize) -> String {
    format!("{} to each node, ", count(connections, "connection"))
}

/// Logs a measurement of bandwidth. The line begins with `which`, such as the number of the round.
pub(super) fn cell(which: &str, cell: &Bandwidth) {
    let found = |unit: fn(f64) -> String| {
        let to = unit(cell.total.bytes_per_second_to_nodes);
        let from = unit(cell.total.bytes_per_second_from_nodes);
        match cell.direction {
            Direction::ToNodes => to,
            Direction::FromNodes => from,
            Direction::Both => format!("to {to}, from {from}"),
        }
    };
    let name = format!("{} {}", size(cell.message_bytes), cell.direction);
    if !show(|live| live.figure = format!("{name}: {} Gbit/s", found(gigabits))) {
        info!("{which}{name}: {}", found(rate));
    }
}

pub(super) fn log_left_out(bytes: usize) {
    let message = size(bytes);
    warn!("leaving out messages of {message}: one message would take too long; raise --duration");
}

/// Logs the range of the rates from node to node that were measured at the same time, in bytes per
/// second. The line begins with `which`.
pub(super) fn step(which: &str, rates: &[f64]) {
    let minimum = rates.iter().copied().reduce(f64::min);
    let maximum = rates.iter().copied().reduce(f64::max);
    show_figure(match minimum.zip(maximum) {
        None => format!("{which}: not measured"),
        Some((minimum, maximum)) if rates.len() > 1 => {
            format!("{which}: {} to {}", rate(minimum), rate(maximum))
        }
        Some((only, _)) => format!("{which}: {}", rate(only)),
    });
}

/// Shows the last of the intervals so far on the live line. Logs each tenth.
pub(super) fn second(intervals: &[Interval]) {
    let Some(interval) = intervals.last() else { return };
    let sum = interval.bytes_per_second_to_nodes + interval.bytes_per_second_from_nodes;
    if show(|live| live.figure = format!("now {} Gbit/s", gigabits(sum)))
        || !intervals.len().is_multiple_of(LOGGED)
    {
        return;
    }
    let second = intervals.len();
    let to = rate(interval.bytes_per_second_to_nodes);
    let from = rate(interval.bytes_per_second_from_nodes);
    let p99 = interval
        .p99_ns
        .map_or_else(|| "no response".to_owned(), |ns| format!("p99 {:.2} ms", ns as f64 / 1e6));
    info!("second {second}: to {to}, from {from}, {p99}");
}

/// Logs the number of responses that an open loop waits for after its last message, with `left`,
/// the estimated time, which is unknown before the first response. Logs nothing for less than a
/// second.
pub(super) fn log_wait(outstanding: u64, left: Option<Duration>) {
    let about = match left.map(|left| left.as_secs()) {
        Some(0) => return,
        Some(seconds) => {
            format!(" about {}", humantime::format_duration(Duration::from_secs(seconds)))
        }
        None => String::new(),
    };
    show_figure(format!(
        "waiting{about} for {}",
        count(outstanding as usize, "outstanding response")
    ));
}

pub(super) fn open_loop(run: &OpenLoop) {
    let us = |ns: u64| ns as f64 / 1e3;
    let OpenLoop { rate_messages_per_second: wanted, answered_per_second: answered, .. } = run;
    let (p50, p99) = (us(run.p50_ns), us(run.p99_ns));
    let what = run.benchmark.clone().unwrap_or_else(|| size(run.message_bytes));
    show_figure(format!(
        "{what} at {wanted}/s: {answered:.1}/s answered, p50 {p50:.0} µs, p99 {p99:.0} µs"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_names_the_part_the_time_and_the_last_figure() {
        let shown = |seconds, figure| {
            line("round 2 of 3, 64 B to nodes", Duration::from_secs(seconds), figure)
        };
        assert_eq!(shown(90, ""), "round 2 of 3, 64 B to nodes, about 1m 30s left");
        let want = "round 2 of 3, 64 B to nodes, about 1s left; now 9.87 Gbit/s";
        assert_eq!(shown(0, "now 9.87 Gbit/s"), want);
    }
}
