//! Summary of a run: the figures that decide about it, as tiles and in an overview of several runs.

use maud::{Markup, html};

use super::{
    curves,
    elements::{Tile, date, gauge, list, multiples, picture, table, tiles},
    phrases::sentence,
    plot::LINES,
};
use crate::{
    record::{Metric, RunResult, Verdict},
    recording::{LATENCIES, RecordedRun, histograms::Measure, sweep::Load},
    report::lateness::bound,
};

/// Measures that LoadGen logs, in the order of [`LATENCIES`], and their titles.
pub(super) const MEASURES: [(Measure, &str); 3] = [
    (Measure::Latency, "Latency of whole responses"),
    (Measure::FirstToken, "Time to the first token (TTFT)"),
    (Measure::FurtherToken, "Time for each further token (TPOT)"),
];

/// A run on a page of several runs.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Address of the run's own page, or of its folder.
    pub(crate) link: String,
    pub(crate) run: RecordedRun,
}

/// LoadGen's percentile of a time, in milliseconds, and its bound.
struct DecisiveTime {
    label: String,
    ms: f64,
    bound_ms: Option<f64>,
}

/// Returns the times that decide about a run: TTFT and TPOT if it has them, and latency otherwise.
/// Empty if LoadGen's times include the wait for others of a limited number of samples in flight.
fn decisive_times(result: &RunResult) -> Vec<DecisiveTime> {
    if is_limited(result) {
        return Vec::new();
    }
    let time = |(measure, prefix, name)| {
        let bound = bound(result, measure);
        let percent = 100.0 * bound.map_or(0.99, |(_, share)| share);
        let ns = result.loadgen_latency_ns.get(&format!("{prefix}{percent:.2}"))?;
        let label = format!("p{percent:.1}").replace(".0", "") + " " + name;
        Some(DecisiveTime { label, ms: ns / 1e6, bound_ms: bound.map(|(ms, _)| ms) })
    };
    let all = MEASURES.into_iter().zip(LATENCIES);
    let mut times: Vec<_> =
        all.filter_map(|((measure, _), (prefix, name))| time((measure, prefix, name))).collect();
    if times.len() > 1 {
        times.remove(0);
    }
    times
}

fn is_limited(result: &RunResult) -> bool {
    result.settings.contains_key("max_in_flight")
}

/// Returns the note on netdiv's times of a run, if they do not begin with LoadGen's.
pub(super) fn source(result: &RunResult) -> String {
    let remark = Load::Concurrency.remark();
    if is_limited(result) { sentence(remark) } else { String::new() }
}

pub(super) const fn is_good(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Valid | Verdict::Complete)
}

fn value(metric: &Metric) -> (String, &str) {
    match metric.unit.as_str() {
        "ns" => (format!("{:.3}", metric.value / 1e6), "ms"),
        unit => (format!("{:.*}", usize::from(metric.value < 1e4), metric.value), unit),
    }
}

/// Returns LoadGen's metrics of a run, and its accuracy.
pub(super) fn metrics(result: &RunResult) -> impl Iterator<Item = &Metric> {
    let accuracy = result.accuracy.iter().map(|accuracy| &accuracy.metric);
    result.metric.iter().chain(&result.token_metric).chain(accuracy)
}

fn metric_tile(metric: &Metric) -> Tile<'_> {
    let (value, unit) = value(metric);
    let label = if unit.ends_with("/s") { "rate" } else { "result" };
    Tile { label, value, unit, note: metric.name.clone(), ..Tile::default() }
}

fn time_tile(time: &DecisiveTime) -> Tile<'_> {
    Tile {
        label: &time.label,
        value: format!("{:.3}", time.ms),
        unit: "ms",
        note: time.bound_ms.map_or_else(String::new, |bound| format!("bound {bound} ms")),
        is_bad: time.bound_ms.is_some_and(|bound| time.ms > bound),
        gauge: time.bound_ms.map(|bound| (time.ms, bound)),
        pointer: None,
    }
}

pub(super) fn tiles_of(result: &RunResult) -> Markup {
    let times = decisive_times(result);
    let samples = &result.samples;
    let late = samples.late.filter(|late| *late > 0 && times.len() < 2);
    let late = late.map_or_else(String::new, |late| format!(", {late} late"));
    let lost = Tile {
        label: "lost samples",
        value: samples.lost.to_string(),
        note: format!("of {} issued{late}", samples.issued),
        is_bad: samples.lost > 0,
        pointer: Some("/samples/lost"),
        ..Tile::default()
    };
    let named = |is_lost: bool| -> Vec<&str> {
        let nodes = result.nodes.iter().filter(|node| node.lost.is_some() == is_lost);
        nodes.map(|node| node.name.as_str()).collect()
    };
    let (kept, gone) = (named(false), named(true));
    let nodes = Tile {
        label: "nodes",
        value: kept.len().to_string(),
        note: match (&gone[..], kept.len()) {
            ([], 0..=4) => list(&kept),
            ([], _) => format!("{} to {}", kept[0], kept[kept.len() - 1]),
            _ => format!("of {}; lost: {}", result.nodes.len(), list(&gone)),
        },
        is_bad: !gone.is_empty(),
        ..Tile::default()
    };
    let all =
        metrics(result).map(metric_tile).chain(times.iter().map(time_tile)).chain([lost, nodes]);
    tiles(&all.collect::<Vec<_>>())
}

/// Returns a table of runs with their decisive figures, and their distributions over each other.
/// Links lead to `anchor` with the number of the run, if there is one, or to the run's own page.
pub(super) fn overview(entries: &[Entry], anchor: Option<&str>) -> Markup {
    let link = |number: usize, entry: &Entry| {
        anchor.map_or_else(|| entry.link.clone(), |anchor| format!("#{anchor}-{number}"))
    };
    let rows = html! { @for (number, entry) in entries.iter().enumerate() {
        @let result = &entry.run.result;
        tr {
            th.word scope="row" { a href=(link(number, entry)) { (entry.name) } }
            td.word.good[is_good(result.verdict)].bad[!is_good(result.verdict)] { (result.verdict) }
            td { @for metric in metrics(result) {
                @let (value, unit) = value(metric);
                (value) " " (unit) br;
            } }
            td { @for time in decisive_times(result) {
                div {
                    (time.label) " " (format!("{:.3} ms", time.ms))
                    @if let Some(bound) = time.bound_ms { ", bound " (bound) " ms" (gauge(time.ms, bound)) }
                }
            } }
            td.word { (result.benchmark) " " (result.scenario) " " (result.mode) }
            td.word { @if let Some(started) = &result.started { (date(started)) } }
        }
    } };
    let of = |(measure, title)| overlay(entries, measure, title);
    html! {
        div.cards { (table("Each run links to its report, or to its folder if it has no report.", &["run", "verdict"], &["result", "percentile"], &["test", "started"], &rows)) }
        (multiples(&html! { @for measure in MEASURES { (of(measure)) } }))
    }
}

fn overlay(entries: &[Entry], measure: Measure, title: &str) -> Markup {
    let note = match entries.len() {
        all if all > LINES => format!("The first {LINES} of {all} runs are shown."),
        _ => String::new(),
    };
    let entries = &entries[..entries.len().min(LINES)];
    let all = |entry: &Entry| Some((entry.name.clone(), entry.run.histograms.of_all(measure)?));
    let times: Vec<_> = entries.iter().filter_map(all).collect();
    let lines: Vec<_> = times.iter().map(|(name, times)| (name.clone(), times)).collect();
    let mut bounds = entries.iter().map(|entry| bound(&entry.run.result, measure));
    let first = bounds.next().flatten();
    let common = first.filter(|_| bounds.all(|bound| bound == first));
    let limited = entries.iter().filter(|entry| is_limited(&entry.run.result));
    let limited: Vec<_> = limited.map(|entry| entry.name.as_str()).collect();
    let source = match &limited[..] {
        [] => String::new(),
        names => format!("Measured from sending, and not LoadGen's: {}.", list(names)),
    };
    picture(&curves::percentiles(title, &lines, common), &[&note, &source])
}
