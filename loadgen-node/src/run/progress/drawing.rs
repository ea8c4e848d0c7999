//! Drawing of the live view, into a terminal of any size.

use std::time::Duration;

use netdiv_qdl::Progress;
use ratatui::{
    Frame,
    layout::{Constraint, Direction, Layout, Rect},
    style::{Style, Stylize as _},
    text::Line,
    widgets::{Cell, LineGauge, Paragraph, Row as TableRow, Sparkline, Table},
};

use crate::{
    recording::series::SeriesRow,
    run::progress::{latency_bars::Latencies, log_lines::PERIOD},
};

/// Minimum width of a view in two columns, and minimum width for two histograms beside each other.
const WIDE: u16 = 120;
const BESIDE: u16 = 60;

/// Interval of the nodes' rows.
const INTERVAL: &str = "in the last second";

/// Figures that the live view shows.
pub(super) struct View<'a> {
    pub(super) title: &'a str,
    pub(super) running: Duration,
    pub(super) left: Option<Duration>,
    pub(super) doing: &'static str,
    pub(super) now: Progress,
    /// Completed samples per second, and their mean latency, in the last second.
    pub(super) rate: f64,
    pub(super) latency_ms: Option<f64>,
    /// Completed samples per second at the last readings, the oldest first.
    pub(super) rates: &'a [u64],
    /// Latencies of the run so far.
    pub(super) latencies: Vec<Latencies<'a>>,
    /// Row of all nodes together, then a row for each node.
    pub(super) nodes: Vec<SeriesRow>,
    pub(super) log: Vec<String>,
}

pub(super) fn draw(frame: &mut Frame<'_>, view: &View<'_>) {
    let figures = figure_lines(view);
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(figures.len() as u16 + 1),
        Constraint::Fill(1),
        Constraint::Length(view.log.len() as u16),
    ]);
    let [title, time, text, body, lines] = areas.areas(frame.area());
    frame.render_widget(Line::from(vec![view.title.bold(), "  ".into(), view.doing.into()]), title);
    frame.render_widget(gauge(view), time);
    frame.render_widget(Paragraph::new(figures), text);
    frame.render_widget(Paragraph::new(view.log.join("\n")).dim(), lines);
    let [histograms, rates, nodes] = divide(body, view.nodes.len());
    draw_histograms(frame, view, histograms);
    draw_rates(frame, view.rates, rates);
    frame.render_widget(table(&view.nodes, nodes), nodes);
}

/// Divides the area below the figures: for histograms, for rates, and for the rows of nodes. They
/// are beside each other where there is room.
fn divide(body: Rect, rows: usize) -> [Rect; 3] {
    let is_wide = body.width >= WIDE;
    let most = body.height / if is_wide { 2 } else { 3 };
    let rows = Constraint::Length((rows.min(usize::from(u16::MAX - 1)) as u16 + 1).min(most));
    if is_wide {
        let columns = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).spacing(2);
        let [left, histograms] = columns.areas(body);
        let [nodes, rates] = Layout::vertical([rows, Constraint::Fill(1)]).areas(left);
        return [histograms, rates, nodes];
    }
    let rates = Constraint::Length((body.height / 5).max(3));
    Layout::vertical([Constraint::Fill(1), rates, rows]).areas(body)
}

fn gauge(view: &View<'_>) -> LineGauge<'static> {
    let seconds = |time: Duration| format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60);
    let (ratio, label, rest) = match view.left {
        Some(left) => {
            let whole = (view.running + left).as_secs_f64().max(f64::EPSILON);
            let label = format!("{}, about {} left", seconds(view.running), seconds(left));
            (view.running.as_secs_f64() / whole, label, "░")
        }
        None => (0.0, seconds(view.running), " "),
    };
    LineGauge::default()
        .ratio(ratio.clamp(0.0, 1.0))
        .label(label)
        .filled_symbol("█")
        .unfilled_symbol(rest)
        .filled_style(Style::new().blue())
        .unfilled_style(Style::new().blue())
}

fn figure_lines(view: &View<'_>) -> Vec<Line<'static>> {
    let now = &view.now;
    let latency = view.latency_ms.map_or("–".into(), |ms| format!("{ms:.2} ms"));
    let in_flight = now.sent.saturating_sub(now.answered);
    let waiting = now.issued.saturating_sub(now.sent);
    let tokens = view.nodes.first().and_then(|all| Some((all.tokens?, all.seconds())));
    let tokens = tokens.map(|(count, time)| count as f64 / time.max(f64::EPSILON));
    let tokens = tokens.map_or_else(String::new, |rate| format!(", {rate:.0} tokens/s"));
    let mut lines = vec![
        Line::from(format!(
            "{} issued, {} answered, {in_flight} in flight, {waiting} waiting here",
            now.issued, now.answered
        )),
        Line::from(vec![
            format!("{:.0} samples/s", view.rate).bold(),
            format!("{tokens}, mean latency {latency}").into(),
        ]),
    ];
    lines.extend(view.latencies.iter().map(Latencies::percentile));
    lines
}

/// Draws a histogram for each kind of latencies, beside each other where there is room.
fn draw_histograms(frame: &mut Frame<'_>, view: &View<'_>, area: Rect) {
    let direction = if area.width < BESIDE { Direction::Vertical } else { Direction::Horizontal };
    let shares = vec![Constraint::Fill(1); view.latencies.len()];
    let areas = Layout::new(direction, shares).spacing(1).split(area);
    for (latencies, area) in view.latencies.iter().zip(areas.iter()) {
        frame.render_widget(latencies.histogram(*area), *area);
    }
}

/// Draws the rates that fit, the last one at the right, below their unit.
fn draw_rates(frame: &mut Frame<'_>, rates: &[u64], area: Rect) {
    let rates = &rates[rates.len().saturating_sub(area.width.into())..];
    let most = rates.iter().max().copied().unwrap_or_default();
    let time = PERIOD.as_secs_f64() * rates.len() as f64;
    let title = format!("samples/s in the last {time:.0} s, at most {most}");
    let [top, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Line::from(title.bold()), top);
    frame.render_widget(Sparkline::default().data(rates).style(Style::new().green()), below);
}

/// Draws the nodes that fit, with their figures of the last second.
fn table<'a>(rows: &[SeriesRow], area: Rect) -> Table<'a> {
    let ms = |ns: Option<u64>| ns.map_or("–".into(), |ns| format!("{:.2}", ns as f64 / 1e6));
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let row = |row: &SeriesRow| {
        let rate = row.completed as f64 / row.seconds().max(f64::EPSILON);
        TableRow::new([
            Cell::from(row_name(row).to_owned()),
            right(format!("{rate:.0}")),
            right(ms(row.p50_ns)),
            right(ms(row.p99_ns)),
            right(ms(row.max_ns)),
            right(row.in_flight.to_string()),
        ])
    };
    let room = usize::from(area.height.saturating_sub(1));
    let is_cut = rows.len() > room;
    let mut shown: Vec<_> =
        rows.iter().take(room - usize::from(is_cut && room > 1)).map(row).collect();
    if let Some(more @ 1..) = rows.len().checked_sub(shown.len()) {
        shown.push(TableRow::new([format!("and {more} more")]));
    }
    let titles = [INTERVAL, "/s", "p50, ms", "p99", "max", "in flight"];
    let titles = titles.into_iter().enumerate().map(|(place, title)| match place {
        0 => Cell::from(title),
        _ => right(title.into()),
    });
    let names = rows.iter().map(row_name).chain([INTERVAL]);
    let longest = names.map(|name| name.chars().count() as u16).max().unwrap_or_default();
    // Names leave room for the figures, which are beside them.
    let longest = longest.min(area.width.saturating_sub(50).max(10));
    let widths = [Constraint::Length(longest)].into_iter().chain([Constraint::Length(9); 5]);
    Table::new(shown, widths).header(TableRow::new(titles).bold())
}

fn row_name(row: &SeriesRow) -> &str {
    if row.node.is_empty() { "all nodes" } else { &row.node }
}

#[cfg(test)]
mod tests {
    use netdiv_qdl::NodeReport;
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::run::{
        progress::latency_bars::deciding,
        setup::latency_bounds::{LatencyBound, LatencyBounds},
    };

    /// Latencies from 1 to 50 ms.
    fn counted() -> NodeReport {
        let mut all = NodeReport::new("", "");
        (1..=50).for_each(|ms| all.latency.record(ms * 1_000_000).unwrap());
        all
    }

    fn view<'a>(rates: &'a [u64], all: &'a NodeReport, nodes: usize, log: &[&str]) -> View<'a> {
        let bound = Some(LatencyBound { ns: 15_000_000, share: 0.99 });
        let bounds = LatencyBounds { latency: bound, first_token: bound, further_token: bound };
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
            latencies: deciding(all, bounds),
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
        let lines = drawn(80, 24, &view(&[1, 2, 3], &counted(), 3, &["WARN something"]));
        let text = lines.join("\n");
        for words in [
            "digits server performance  LoadGen issues queries",
            "1:15, about 8:45 left",
            "1000 issued, 950 answered",
            "40 in flight, 10 waiting here",
            "1:15, about 8:45 left █",
            "700 samples/s, mean latency 1.50 ms",
            "p99 latency 50 ms, OVER its bound of 15 ms (333 %)",
            "latency in ms, 50 samples, 36 over the bound (▒)",
            "15–22  7 ▒",
            "samples/s in the last 1 s, at most 3",
            "all nodes",
            "node-2",
            "1.25",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(lines[23].starts_with("WARN something"), "{text}");
    }

    #[test]
    fn tokens_have_a_histogram_each() {
        let mut all = counted();
        let tokens = all.tokens.get_or_insert_default();
        tokens.first.record(9_000_000).unwrap();
        tokens.further.record(16_000_000).unwrap();
        for width in [50, 80, 120, 200] {
            let text = drawn(width, 24, &view(&[1], &all, 3, &["one", "two"])).join("\n");
            for words in [
                "p99 TTFT 9 ms, 60 % of its bound of 15 ms",
                "p99 TPOT 16 ms, OVER its bound of 15 ms",
                "TTFT in ms, 1 sample",
                "TPOT in ms, 1 sample",
                "1 █",
                "1 ▒",
            ] {
                assert!(text.contains(words), "{width} {words}\n{text}");
            }
        }
    }

    #[test]
    fn a_wide_terminal_is_used() {
        let rates: Vec<_> = (0..500).collect();
        let lines = drawn(200, 50, &view(&rates, &counted(), 3, &["one"]));
        let text = lines.join("\n");
        let used = lines.iter().filter(|line| !line.trim().is_empty()).count();
        assert!(used > 40, "{used}\n{text}");
        let node = lines.iter().find(|line| line.starts_with("node-2")).unwrap();
        assert!(node.find("700").unwrap() < 40, "{text}");
    }

    #[test]
    fn it_is_drawn_into_any_terminal() {
        let rates: Vec<_> = (0..500).collect();
        let all = counted();
        for (width, height) in [(1, 1), (3, 2), (20, 5), (40, 12), (500, 3), (200, 60)] {
            drawn(width, height, &view(&rates, &all, 400, &["one", "two", "three"]));
        }
        let text = drawn(80, 24, &view(&rates, &all, 400, &[])).join("\n");
        assert!(text.contains("and 396 more"), "{text}");
    }
}
