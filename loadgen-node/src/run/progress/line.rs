//! Progress as one line on the terminal.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use netdiv_qdl::Progress;

/// Interval between two updates of the line.
pub(crate) const PERIOD: Duration = Duration::from_millis(200);

/// Draws the line until the run ends.
pub(crate) fn draw(glance: &impl Fn() -> Progress, ended: &mpsc::Receiver<()>) {
    let line = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise}  {msg}") {
        line.set_style(style);
    }
    let mut before = (Instant::now(), glance());
    while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        let now = (Instant::now(), glance());
        line.set_message(describe(before.1, now.1, now.0 - before.0));
        line.tick();
        before = now;
    }
    line.finish_and_clear();
}

/// Returns the mean latency of the samples that were completed between `before` and `now`, in ms.
pub(crate) fn latency_ms(before: Progress, now: Progress) -> Option<f64> {
    let sum_ns = now.latency_sum_ns - before.latency_sum_ns;
    let mean_ns = sum_ns.checked_div(now.answered - before.answered)?;
    Some((mean_ns as f64 / 1e4).round() / 100.0)
}

fn describe(before: Progress, now: Progress, period: Duration) -> String {
    let rate = (now.answered - before.answered) as f64 / period.as_secs_f64();
    let latency = latency_ms(before, now).map_or("–".into(), |ms| format!("{ms:.2} ms"));
    format!(
        "{} answered, {rate:.0}/s, {} in flight, {} waiting, latency {latency}",
        now.answered,
        now.sent.saturating_sub(now.answered),
        now.issued.saturating_sub(now.sent),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rate_and_latency_of_the_last_period() {
        let before = Progress { issued: 100, sent: 60, answered: 50, latency_sum_ns: 1_000_000 };
        let now = Progress { issued: 200, sent: 160, answered: 150, latency_sum_ns: 201_000_000 };
        assert_eq!(
            describe(before, now, Duration::from_millis(500)),
            "150 answered, 200/s, 10 in flight, 40 waiting, latency 2.00 ms"
        );
        assert!(describe(now, now, PERIOD).ends_with("latency –"));
    }
}
