//! The live view of a run: the whole terminal, until the run ends. It draws counters that exist
//! anyway; the nodes' lines are the rows that the recorder has written last.

use std::{
    io::{self, Stderr},
    panic,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Instant,
};

use netdiv_node_common::process::{keep_log, last_of_log, release_log};
use netdiv_qdl::Progress;
use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        execute,
        terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen},
    },
};

use crate::{
    RunConfig,
    run::{
        progress::{
            drawing::{View, draw},
            latency_bars::deciding,
            log_lines::{PERIOD, latency_ms},
            recorder::Latest,
        },
        setup::{latency_bounds::LatencyBounds, length_estimate::LengthEstimate},
    },
};

/// Number of log lines that are shown.
const LOG_LINES: usize = 4;

/// Number of readings over which a rate is averaged: with one reading each [`PERIOD`], a second.
const LOOKS: usize = 5;

/// Set while the view has the terminal.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal, and releases the log lines that waited for it. Does nothing if the view
/// does not have the terminal.
pub(super) fn restore() {
    if SHOWN.swap(false, Ordering::SeqCst) {
        // If the terminal is gone, there is nothing to restore.
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        release_log();
    }
}

/// Terminal that the view has taken. Dropping it restores the terminal.
struct Screen(Terminal<CrosstermBackend<Stderr>>);

impl Screen {
    fn take() -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
        if terminal.size()?.area() == 0 {
            return Err(io::Error::other("the terminal has no size"));
        }
        // From here on the terminal is restored, even if taking it fails.
        let screen = Self(terminal);
        SHOWN.store(true, Ordering::SeqCst);
        keep_log();
        // A panic is reported on the restored terminal.
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
        }));
        execute!(io::stderr(), EnterAlternateScreen, Clear(ClearType::All), Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Maximum number of rates that are kept: more than any terminal has columns.
const RATES: usize = 1000;

/// Shows the run until it ends.
pub(super) fn show(
    config: &RunConfig,
    bounds: LatencyBounds,
    glance: &impl Fn() -> Progress,
    latest: &Latest,
    expected: &LengthEstimate,
    ended: &mpsc::Receiver<()>,
) -> io::Result<()> {
    let mut screen = Screen::take()?;
    let title = format!("{} {} {}", config.benchmark, config.scenario, config.mode);
    let start = Instant::now();
    let mut began = None;
    let mut looks = vec![(start, glance())];
    let mut rates = Vec::new();
    while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout)
        && SHOWN.load(Ordering::SeqCst)
    {
        let (at, now) = (Instant::now(), glance());
        if now.issued > 0 {
            began.get_or_insert(at);
        }
        looks.push((at, now));
        let from = looks.len().saturating_sub(LOOKS + 1);
        looks.drain(..from);
        let (then, before) = looks[0];
        let rate = (now.answered - before.answered) as f64 / (at - then).as_secs_f64();
        rates.push(rate.round() as u64);
        let from = rates.len().saturating_sub(RATES);
        rates.drain(..from);
        let (rows, all) = latest.lock().clone();
        let running = began.map(|began: Instant| at - began);
        let view = View {
            title: &title,
            running: at - start,
            left: running.and_then(|running| expected.left(running, &now)),
            doing: describe_activity(before, now),
            now,
            rate,
            latency_ms: latency_ms(before, now),
            rates: &rates,
            latencies: all.iter().flat_map(|all| deciding(all, bounds)).collect(),
            nodes: rows,
            log: last_of_log(LOG_LINES),
        };
        screen.0.draw(|frame| draw(frame, &view))?;
    }
    Ok(())
}

/// Describes LoadGen's activity, as far as its calls show it.
fn describe_activity(before: Progress, now: Progress) -> &'static str {
    match now {
        Progress { issued: 0, .. } => "LoadGen prepares",
        _ if now.issued > before.issued => "LoadGen issues queries",
        _ if now.answered < now.issued => "waiting for answers",
        _ => "all samples are answered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loadgen_does_is_told_from_its_calls() {
        let at = |issued, answered| Progress { issued, sent: issued, answered, latency_sum_ns: 0 };
        assert_eq!(describe_activity(at(0, 0), at(0, 0)), "LoadGen prepares");
        assert_eq!(describe_activity(at(0, 0), at(5, 0)), "LoadGen issues queries");
        assert_eq!(describe_activity(at(5, 0), at(5, 3)), "waiting for answers");
        assert_eq!(describe_activity(at(5, 5), at(5, 5)), "all samples are answered");
    }
}
