//! Progress of a run, in a separate thread off the path of samples. On a terminal it is a view of
//! the run, or a line if the view is not possible, drawn five times a second. Without a terminal it
//! is lines in the log.

mod line;
#[cfg(feature = "live")]
mod live;
pub(crate) mod metrics;
pub(crate) mod recorder;

use std::{
    io::IsTerminal as _,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use netdiv_node_common::process::LogFormat;
use netdiv_qdl::Progress;
use tracing::{info, warn};

use self::line::{PERIOD, draw, latency_ms};
#[cfg(feature = "live")]
pub(crate) use self::live::restore;
use crate::{
    RunConfig,
    run::{progress::recorder::Latest, setup::length_estimate::LengthEstimate},
};

/// Interval between log lines, a multiple of [`PERIOD`].
const LOGGED: Duration = Duration::from_secs(10);

/// Shows the progress of a run while `work` runs, unless the run is quiet. Returns the result of
/// `work`.
pub(crate) fn while_running<T>(
    config: &RunConfig,
    expected: &LengthEstimate,
    glance: impl Fn() -> Progress + Sync,
    latest: &Latest,
    work: impl FnOnce() -> T,
) -> T {
    if config.quiet {
        return work();
    }
    let is_drawn = std::io::stderr().is_terminal() && LogFormat::asked() != Ok(LogFormat::Json);
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let glance = &glance;
        let showing = move || {
            if is_drawn {
                show(config, glance, latest, expected, &ended);
            } else {
                log(glance, &ended, expected, LOGGED, log_line);
            }
        };
        let progress = thread::Builder::new().name("progress".into());
        if let Err(error) = progress.spawn_scoped(scope, showing) {
            warn!("the run goes on without showing its progress: {error}");
        }
        let result = work();
        drop(done);
        result
    })
}

#[cfg(feature = "live")]
fn show(
    config: &RunConfig,
    glance: &impl Fn() -> Progress,
    latest: &Latest,
    expected: &LengthEstimate,
    ended: &mpsc::Receiver<()>,
) {
    let title = format!("{} {} {}", config.benchmark, config.scenario, config.mode);
    if let Err(why) = live::show(&title, glance, latest, expected, ended) {
        tracing::debug!("no live view: {why}");
        draw(glance, ended);
    }
}

#[cfg(not(feature = "live"))]
fn show(
    _: &RunConfig,
    glance: &impl Fn() -> Progress,
    _: &Latest,
    _: &LengthEstimate,
    ended: &mpsc::Receiver<()>,
) {
    draw(glance, ended);
}

/// Restores the terminal before the process ends in another way than by returning.
#[cfg(not(feature = "live"))]
pub(crate) const fn restore() {}

/// Passes the progress in each period to `line`.
fn log(
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
struct ProgressWindow {
    before: Progress,
    now: Progress,
    period: Duration,
    /// Time until the end of the run, if it is known.
    left: Option<Duration>,
}

fn log_line(ProgressWindow { before, now, period, left }: &ProgressWindow) {
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
    fn each_period_is_told_of_until_the_work_is_done() {
        let (issued, told) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let glance = || {
            let issued = issued.fetch_add(1, Ordering::Relaxed);
            Progress { issued, sent: issued, answered: issued, latency_sum_ns: 0 }
        };
        let (done, ended) = mpsc::channel();
        let done = Mutex::new(Some(done));
        log(&glance, &ended, &LengthEstimate::samples(1000), Duration::from_millis(1), |lately| {
            let mut told = told.lock();
            told.push((lately.before.answered, lately.now.answered, lately.left.is_some()));
            if told.len() == 3 {
                drop(done.lock().take());
            }
        });
        let told = told.into_inner();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told.windows(2).all(|pair| pair[0].1 == pair[1].0), "{told:?}");
        assert!(told.iter().all(|(_, _, left)| *left), "{told:?}");
    }
}
