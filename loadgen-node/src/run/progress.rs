//! A line of progress, drawn five times a second by a thread of its own, off the path of samples.

use std::{
    io::IsTerminal as _,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use netdiv_qdl::Progress;

const PERIOD: Duration = Duration::from_millis(200);

/// Draws while the work is done; draws nothing if quiet, or if standard error is not a terminal.
pub(crate) fn while_running<T>(
    quiet: bool,
    glance: impl Fn() -> Progress + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let glance = &glance;
        scope.spawn(move || draw(glance, &ended));
        let result = work();
        drop(done);
        result
    })
}

fn draw(glance: &impl Fn() -> Progress, ended: &mpsc::Receiver<()>) {
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

fn describe(before: Progress, now: Progress, period: Duration) -> String {
    let answered = now.answered - before.answered;
    let rate = answered as f64 / period.as_secs_f64();
    let latency_ns = (now.latency_sum_ns - before.latency_sum_ns).checked_div(answered);
    let latency_ms = latency_ns.map_or("–".into(), |ns| format!("{:.2} ms", ns as f64 / 1e6));
    format!(
        "{} answered, {rate:.0}/s, {} in flight, {} waiting, latency {latency_ms}",
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
