//! Progress as lines in the log.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use netdiv_qdl::Progress;
use tracing::info;

use crate::run::setup::length_estimate::LengthEstimate;

/// Interval between two looks at the progress.
pub(super) const PERIOD: Duration = Duration::from_millis(200);

/// Interval between log lines, a multiple of [`PERIOD`].
pub(super) const LOGGED: Duration = Duration::from_secs(10);

/// Returns the mean latency of the samples that were completed between `before` and `now`, in ms.
pub(super) fn latency_ms(before: Progress, now: Progress) -> Option<f64> {
    let sum_ns = now.latency_sum_ns - before.latency_sum_ns;
    let mean_ns = sum_ns.checked_div(now.answered - before.answered)?;
    Some((mean_ns as f64 / 1e4).round() / 100.0)
}

/// Passes the progress in each period to `line`.
pub(super) fn log(
    glance: &impl Fn() -> Progress,
    ended: &mpsc::Receiver<()>,
    expected: &LengthEstimate,
    period: Duration,
    line: impl Fn(&ProgressWindow),
) {
    let mut before = (Instant::now(), glance());
    let mut began = None;
    while ended.recv_timeout(period.min(PERIOD)) == Err(RecvTimeoutError::Timeout) {
        let now = (Instant::now(), glance());
        if now.1.issued > 0 {
            began.get_or_insert(now.0);
        }
        if now.0 - before.0 >= period {
            let running = began.map(|began: Instant| now.0 - began);
            let left = running.and_then(|running| expected.left(running, &now.1));
            line(&ProgressWindow { before: before.1, now: now.1, period: now.0 - before.0, left });
            before = now;
        }
    }
}

/// Progress of a run in a period: the counters at its start and end.
pub(super) struct ProgressWindow {
    before: Progress,
    now: Progress,
    period: Duration,
    /// Time until the end of the run, if it is known.
    left: Option<Duration>,
}

pub(super) fn log_line(ProgressWindow { before, now, period, left }: &ProgressWindow) {
    let answered = now.answered - before.answered;
    info!(
        issued = now.issued,
        answered = now.answered,
        in_flight = now.sent.saturating_sub(now.answered),
        waiting = now.issued.saturating_sub(now.sent),
        samples_per_second = (answered as f64 / period.as_secs_f64()).round() as u64,
        latency_ms = latency_ms(*before, *now),
        seconds_left = left.map(|left| left.as_secs()),
        "progress"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn the_latency_is_that_of_the_last_period() {
        let before = Progress { issued: 100, sent: 60, answered: 50, latency_sum_ns: 1_000_000 };
        let now = Progress { issued: 200, sent: 160, answered: 150, latency_sum_ns: 201_000_000 };
        assert_eq!((latency_ms(before, now), latency_ms(now, now)), (Some(2.0), None));
    }

    #[test]
    fn each_period_is_told_of_until_the_work_is_done() {
        let (issued, told) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let glance = || {
            let issued = issued.fetch_add(1, Ordering::Relaxed);
            Progress { issued, sent: issued, answered: issued, latency_sum_ns: 0 }
        };
        let (done, ended) = mpsc::channel();
        let done = Mutex::new(Some(done));
        log(
            &glance,
            &ended,
            &LengthEstimate::Samples(1000, None),
            Duration::from_millis(1),
            |lately| {
                let mut told = told.lock();
                told.push((lately.before.answered, lately.now.answered, lately.left.is_some()));
                if told.len() == 3 {
                    drop(done.lock().take());
                }
            },
        );
        let told = told.into_inner();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.windows(2).all(|pair| pair[0].1 == pair[1].0), "{told:?}");
        assert!(told.iter().all(|(_, _, left)| *left), "{told:?}");
    }
}
