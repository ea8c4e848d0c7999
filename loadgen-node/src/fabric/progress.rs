//! Log lines of a network measurement. Each has a figure, and is written as soon as the figure has
//! been measured.

use std::time::Duration;

use tracing::{info, warn};

use super::figures::{Bandwidth, Direction, Interval, OpenLoop, RoundTrip};
use crate::units::{count, rate, size};

pub(super) fn begin(about: Duration, is_quick: bool) {
    let about = humantime::format_duration(about);
    let more = if is_quick { "; --thorough takes longer, and its figures vary less" } else { "" };
    info!("this takes about {about}{more}");
}

pub(super) fn round_trip(trip: &RoundTrip) {
    let RoundTrip { node, message_bytes, p50_ns, p99_ns, .. } = trip;
    let us = |ns: u64| ns as f64 / 1e3;
    let (message, p50, p99) = (size(*message_bytes), us(*p50_ns), us(*p99_ns));
    info!("round trip of {message} to {node}: p50 {p50:.0} µs, p99 {p99:.0} µs");
}

pub(super) fn log_trial(connections: usize, found: &Bandwidth) {
    cell(&format!("{} to each node, ", count(connections, "connection")), found);
}

/// Logs a measurement of bandwidth. The line begins with `which`, such as the number of the round.
pub(super) fn cell(which: &str, cell: &Bandwidth) {
    let to = rate(cell.total.bytes_per_second_to_nodes);
    let from = rate(cell.total.bytes_per_second_from_nodes);
    let found = match cell.direction {
        Direction::ToNodes => to,
        Direction::FromNodes => from,
        Direction::Both => format!("to {to}, from {from}"),
    };
    info!("{which}{} {}: {found}", size(cell.message_bytes), cell.direction);
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
    match minimum.zip(maximum) {
        None => info!("{which}: not measured"),
        Some((minimum, maximum)) if rates.len() > 1 => {
            info!("{which}: {} to {}", rate(minimum), rate(maximum));
        }
        Some((only, _)) => info!("{which}: {}", rate(only)),
    }
}

/// Logs the last of the intervals so far.
pub(super) fn second(intervals: &[Interval]) {
    let Some(interval) = intervals.last() else { return };
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
    info!("waiting{about} for {}", count(outstanding as usize, "outstanding response"));
}

pub(super) fn open_loop(run: &OpenLoop) {
    let us = |ns: u64| ns as f64 / 1e3;
    let OpenLoop { rate_messages_per_second: wanted, answered_per_second: answered, .. } = run;
    let (p50, p99) = (us(run.p50_ns), us(run.p99_ns));
    let what = run.benchmark.clone().unwrap_or_else(|| size(run.message_bytes));
    info!("{what} at {wanted}/s: {answered:.1}/s answered, p50 {p50:.0} µs, p99 {p99:.0} µs");
}
