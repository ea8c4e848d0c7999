//! The live view of a run: the whole terminal, until the run ends. It draws counters that exist
//! anyway; the nodes' lines are the rows that the recorder has written last.

use std::{
    io::{self, Stderr},
    panic,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use netdiv_node_common::process::{keep_log, last_of_log, release_log};
use netdiv_qdl::Progress;
use ratatui::{
    Frame, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        execute,
        terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen},
    },
    layout::{Constraint, Layout, Rect},
    style::{Style, Stylize as _},
    text::Line,
    widgets::{Cell, Gauge, Paragraph, Row as TableRow, Sparkline, Table},
};

use crate::{
    RunConfig,
    recording::series::SeriesRow,
    run::{
        progress::{
            log_lines::{PERIOD, latency_ms},
            recorder::Latest,
        },
        setup::length_estimate::LengthEstimate,
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

pub(crate) struct View<'a> {
    title: &'a str,
    running: Duration,
    left: Option<Duration>,
    doing: &'static str,
    now: Progress,
    /// Completed samples per second, and their mean latency, in the last second.
    rate: f64,
    latency_ms: Option<f64>,
    /// Completed samples per second at the last readings, the oldest first.
    rates: &'a [u64],
    /// Row of all nodes together, then a row for each node.
    nodes: Vec<SeriesRow>,
    log: Vec<String>,
}

/// Maximum number of rates that are kept: more than any terminal has columns.
const RATES: usize = 1000;

/// Shows the run until it ends.
pub(super) fn show(
    config: &RunConfig,
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
            nodes: latest.lock().clone(),
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

fn draw(frame: &mut Frame<'_>, view: &View<'_>) {
    let log = view.log.len() as u16;
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(4),
        Constraint::Fill(1),
        Constraint::Length(log),
    ]);
    let [title, time, counts, rates, nodes, lines] = areas.areas(frame.area());
    frame.render_widget(Line::from(vec![view.title.bold(), "  ".into(), view.doing.into()]), title);
    frame.render_widget(gauge(view), time);
    frame.render_widget(Paragraph::new(counter_lines(view)), counts);
    frame.render_widget(sparkline(view.rates, rates), rates);
    frame.render_widget(table(&view.nodes, nodes), nodes);
    frame.render_widget(Paragraph::new(view.log.join("\n")).dim(), lines);
}

fn gauge<'a>(view: &View<'_>) -> Gauge<'a> {
    let seconds = |time: Duration| format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60);
    let (ratio, label) = match view.left {
        Some(left) => {
            let whole = (view.running + left).as_secs_f64().max(f64::EPSILON);
            let label = format!("{}, about {} left", seconds(view.running), seconds(left));
            (view.running.as_secs_f64() / whole, label)
        }
        None => (0.0, seconds(view.running)),
    };
    Gauge::default().ratio(ratio.clamp(0.0, 1.0)).label(label).gauge_style(Style::new().blue())
}

fn counter_lines(view: &View<'_>) -> Vec<Line<'static>> {
    let now = &view.now;
    let latency = view.latency_ms.map_or("–".into(), |ms| format!("{ms:.2} ms"));
    let in_flight = now.sent.saturating_sub(now.answered);
    let waiting = now.issued.saturating_sub(now.sent);
    vec![
        Line::from(format!("{} issued, {} answered", now.issued, now.answered)),
        Line::from(format!("{in_flight} in flight, {waiting} waiting here")),
        Line::from(vec![
            format!("{:.0} samples/s", view.rate).bold(),
            format!(", mean latency {latency}").into(),
        ]),
    ]
}

/// Draws the rates that fit, the last one at the right.
fn sparkline<'a>(rates: &'a [u64], area: Rect) -> Sparkline<'a> {
    let from = rates.len().saturating_sub(area.width.into());
    Sparkline::default().data(&rates[from..]).style(Style::new().green())
}

/// Draws the nodes that fit, with their figures of the last second.
fn table<'a>(rows: &[SeriesRow], area: Rect) -> Table<'a> {
    let ms = |ns: Option<u64>| ns.map_or("–".into(), |ns| format!("{:.2}", ns as f64 / 1e6));
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let row = |row: &SeriesRow| {
        let name = if row.node.is_empty() { "all nodes" } else { &*row.node };
        let rate = row.completed as f64 / row.seconds().max(f64::EPSILON);
        TableRow::new([
            Cell::from(name.to_owned()),
            right(format!("{rate:.0}")),
            right(ms(row.p50_ns)),
            right(ms(row.p99_ns)),
            right(ms(row.max_ns)),
            right(row.in_flight.to_string()),
        ])
    };
    let room = usize::from(area.height.saturating_sub(2));
    let mut shown: Vec<_> = rows.iter().take(room.max(1)).map(row).collect();
    if let Some(more @ 1..) = rows.len().checked_sub(shown.len()) {
        shown.push(TableRow::new([format!("and {more} more")]));
    }
    let titles = ["in the last second", "/s", "p50, ms", "p99", "max", "in flight"];
    let titles = titles.into_iter().enumerate().map(|(place, title)| match place {
        0 => Cell::from(title),
        _ => right(title.into()),
    });
    let widths = [Constraint::Fill(1)].into_iter().chain([Constraint::Length(9); 5]);
    Table::new(shown, widths).header(TableRow::new(titles).bold())
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;

    use super::*;

    fn view<'a>(rates: &'a [u64], nodes: usize, log: &[&str]) -> View<'a> {
        let row = |place: usize| SeriesRow {
            node: if place == 0 { String::new() } else { format!("node-{place}") },
            end_seconds: 1.0,
            completed: 700,
            p50_ns: Some(1_250_000),
            in_flight: 7,
            ..SeriesRow::default()
        };
        View {
            title: "digits server performance",
            running: Duration::from_secs(75),
            left: Some(Duration::from_secs(525)),
            doing: "LoadGen issues queries",
            now: Progress { issued: 1000, sent: 990, answered: 950, latency_sum_ns: 0 },
            rate: 700.4,
            latency_ms: Some(1.5),
            rates,
            nodes: (0..nodes).map(row).collect(),
            log: log.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    fn drawn(width: u16, height: u16, view: &View<'_>) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(line).collect()
    }

    #[test]
    fn a_run_is_shown_with_its_nodes() {
        let lines = drawn(80, 24, &view(&[1, 2, 3], 3, &["WARN something"]));
        let text = lines.join("\n");
        for words in [
            "digits server performance  LoadGen issues queries",
            "1:15, about 8:45 left",
            "1000 issued, 950 answered",
            "40 in flight, 10 waiting here",
            "700 samples/s, mean latency 1.50 ms",
            "all nodes",
            "node-2",
            "1.25",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(lines[23].starts_with("WARN something"), "{text}");
    }

    #[test]
    fn it_is_drawn_into_any_terminal() {
        let rates: Vec<_> = (0..500).collect();
        for (width, height) in [(1, 1), (3, 2), (20, 5), (40, 12), (500, 3), (200, 60)] {
            drawn(width, height, &view(&rates, 400, &["one", "two", "three"]));
        }
        let text = drawn(80, 24, &view(&rates, 400, &[])).join("\n");
        assert!(text.contains("and 388 more") || text.contains("more"), "{text}");
    }

    #[test]
    fn what_loadgen_does_is_told_from_its_calls() {
        let at = |issued, answered| Progress { issued, sent: issued, answered, latency_sum_ns: 0 };
        assert_eq!(describe_activity(at(0, 0), at(0, 0)), "LoadGen prepares");
        assert_eq!(describe_activity(at(0, 0), at(5, 0)), "LoadGen issues queries");
        assert_eq!(describe_activity(at(5, 0), at(5, 3)), "waiting for answers");
        assert_eq!(describe_activity(at(5, 5), at(5, 5)), "all samples are answered");
    }
}
