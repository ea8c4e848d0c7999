//! Durations of samples, over the whole run and second by second.

use hdrhistogram::Histogram;
use maud::{Markup, html};
use serde_json::Value;

use super::{
    curves::{self, ALL_NODES},
    elements::{figure, multiples, picture, table},
    plot::{LINES, PlotLine},
    summary::{MEASURES, source},
};
use crate::{
    recording::{LATENCIES, RecordedRun, histograms::Measure, series::SeriesRow},
    report::lateness::bound,
};

/// Maximum number of points in a picture, all lines together.
const POINTS: usize = 2400;

/// Statistics of latencies: the name of each in LoadGen's log, and its label on the page.
const PERCENTILES: [(&str, &str); 8] = [
    ("min", "minimum"),
    ("mean", "mean"),
    ("50.00", "p50"),
    ("90.00", "p90"),
    ("95.00", "p95"),
    ("99.00", "p99"),
    ("99.90", "p99.9"),
    ("max", "maximum"),
];

/// Shows the distributions of latencies; `json` is the run's `result.json`.
pub(super) fn latency(run: &RecordedRun, json: &Value) -> Markup {
    html! {
        @if run.histograms.of_all(Measure::Latency).is_none() {
            p.note { "The run wrote no histograms (histograms.hlog), so there is no picture of its latencies." }
        }
        (multiples(&html! {
            @for (measure, title) in MEASURES { (distribution(run, measure, title)) }
            (loadgen(json))
        }))
    }
}

fn loadgen(json: &Value) -> Markup {
    let pointer = |prefix: &str, name: &str| format!("/loadgen_latency_ns/{prefix}{name}");
    let has = |prefix: &str| json.pointer(&pointer(prefix, "99.00")).is_some();
    let logged: Vec<_> = LATENCIES.into_iter().filter(|(prefix, _)| has(prefix)).collect();
    let titles: Vec<_> = logged.iter().map(|(_, title)| *title).collect();
    let caption = match json.pointer("/settings/max_in_flight") {
        Some(_) => "LoadGen's latencies, in ms, measured from the start of the query",
        None => "LoadGen's latencies, in ms",
    };
    html! {
        @if !logged.is_empty() { div {
            (table(caption, &[""], &titles, &[], &html! {
                @for (name, shown) in PERCENTILES { tr {
                    th.word scope="row" { (shown) }
                    @for (prefix, _) in &logged { (figure(json, &pointer(prefix, name))) }
                } }
            }))
        } }
    }
}

fn distribution(run: &RecordedRun, measure: Measure, title: &str) -> Markup {
    let Some(all) = run.histograms.of_all(measure) else { return html! {} };
    let mut lines: Vec<(String, &Histogram<u64>)> = Vec::new();
    let nodes = slowest(run, LINES - 1);
    // A single node has the same times as all nodes.
    if nodes.len() > 1 {
        let times = |place: usize| run.histograms.of_node(place, measure);
        let named = |place: usize| Some((run.result.nodes[place].name.clone(), times(place)?));
        lines.extend(nodes.into_iter().filter_map(named));
    }
    lines.push((ALL_NODES.into(), &all));
    let plot = curves::percentiles(title, &lines, bound(&run.result, measure));
    picture(&plot, &[&shown_nodes_note(run, LINES - 1), &source(&run.result)])
}

/// Returns the indexes of the `most` nodes with the highest p99, in the order of the nodes.
fn slowest(run: &RecordedRun, most: usize) -> Vec<usize> {
    let nodes = &run.result.nodes;
    let mut places: Vec<_> = (0..nodes.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(nodes[*place].latency_ns.p99));
    places.truncate(most);
    places.sort_unstable();
    places
}

/// Returns a note that only `shown` nodes have a line, if there are more nodes.
fn shown_nodes_note(run: &RecordedRun, shown: usize) -> String {
    match run.result.nodes.len() {
        all if all > shown => format!("The {shown} nodes of {all} with the highest p99 are shown."),
        _ => String::new(),
    }
}

pub(super) fn over_time(run: &RecordedRun) -> Markup {
    if run.series.is_empty() {
        return html! { p.note { "The run wrote no record of each second (series.csv)." } };
    }
    let nodes = slowest(run, LINES);
    let names: Vec<_> = nodes.iter().map(|place| &run.result.nodes[*place].name[..]).collect();
    let points = POINTS / names.len().max(1);
    let rows = run.series.iter().filter(|row| row.node.is_empty()).count();
    let grouped = match rows.div_ceil(points.max(1)) {
        0 | 1 => String::new(),
        n => format!("Each point covers {n} intervals."),
    };
    let notes: [&str; 2] = [&shown_nodes_note(run, LINES), &grouped];
    let by_node = |title, unit, value: fn(&[&SeriesRow]) -> Option<f64>, bound: Option<f64>| {
        let lines = names.iter().map(|name| line(run, name, name, points, value)).collect();
        let source = if unit == "ms" { source(&run.result) } else { String::new() };
        picture(&curves::over_time(title, unit, lines, bound), &[&notes[..], &[&source]].concat())
    };
    let all = |name: &str, value: fn(&[&SeriesRow]) -> Option<f64>| {
        line(run, "", name, POINTS / 3, value)
    };
    let state = vec![
        all("sent, not answered", |rows| rows.last().map(|row| row.in_flight as f64)),
        all("waiting in the QDL", |rows| rows.last()?.waiting.map(|waiting| waiting as f64)),
    ];
    let state = curves::over_time(
        "Samples in progress at the end of each interval",
        "samples",
        state,
        None,
    );
    // Every p99 is compared with a bound for the 99th percentile.
    let bound =
        |measure| bound(&run.result, measure).filter(|(_, share)| *share == 0.99).map(|(ms, _)| ms);
    html! {
        (multiples(&html! {
            (by_node("Samples answered per second", "samples/s", rate, None))
            (by_node("99th percentile of latency", "ms", p99, bound(Measure::Latency)))
            (by_node("99th percentile of the time to the first token", "ms", first_p99, bound(Measure::FirstToken)))
            (by_node("Tokens per second", "tokens/s", tokens, None))
            (picture(&state, &[]))
        }))
        p.note { "All figures of each interval are in series.csv, in the run's folder." }
    }
}

/// Returns a line of at most `points` points for a node. Each point is the `value` of a group of
/// successive rows.
fn line(
    run: &RecordedRun,
    node: &str,
    name: &str,
    points: usize,
    value: fn(&[&SeriesRow]) -> Option<f64>,
) -> PlotLine {
    let rows: Vec<_> = run.series.iter().filter(|row| row.node == node).collect();
    let points = rows.chunks(rows.len().div_ceil(points.max(1)).max(1)).filter_map(|rows| {
        let (first, last) = (rows.first()?, rows.last()?);
        // A group much shorter than the others, at the end of a run, has no meaningful rate.
        let whole = rows.iter().map(|row| row.seconds()).sum::<f64>() >= 0.2;
        let middle = (first.start_seconds + last.end_seconds) / 2.0;
        value(rows).filter(|_| whole).map(|value| (middle, value))
    });
    PlotLine { name: name.into(), points: points.collect(), ..PlotLine::default() }
}

fn per_second(rows: &[&SeriesRow], count: fn(&SeriesRow) -> Option<u64>) -> Option<f64> {
    let counted: Option<f64> = rows.iter().map(|row| count(row).map(|count| count as f64)).sum();
    Some(counted? / rows.iter().map(|row| row.seconds()).sum::<f64>())
}

fn rate(rows: &[&SeriesRow]) -> Option<f64> {
    per_second(rows, |row| Some(row.completed))
}

fn tokens(rows: &[&SeriesRow]) -> Option<f64> {
    per_second(rows, |row| row.tokens)
}

/// Returns the maximum p99, in milliseconds.
fn p99(rows: &[&SeriesRow]) -> Option<f64> {
    rows.iter().filter_map(|row| row.p99_ns).max().map(|ns| ns as f64 / 1e6)
}

fn first_p99(rows: &[&SeriesRow]) -> Option<f64> {
    rows.iter().filter_map(|row| row.first_p99_ns).max().map(|ns| ns as f64 / 1e6)
}
