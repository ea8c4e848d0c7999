//! Page of a sweep.

use maud::{Markup, html};

use super::{
    axis::{Axis, Scale, plain},
    elements::{Tile, document, download, multiples, picture, table, tiles, words},
    phrases::{figures, list},
    plot::{Along, Bound, Mark, Plot, PlotLine},
    summary::is_good,
};
use crate::{
    record::Distribution,
    recording::sweep::{Load, Step, SweepRecord},
    report::listing::escape_formula,
    units::count,
};

/// Latency that a sweep shows.
struct ShownLatency {
    name: &'static str,
    of: fn(&Step) -> Option<&Distribution>,
    bound_ns: Option<f64>,
}

impl ShownLatency {
    fn p99_ms(&self, step: &Step) -> Option<f64> {
        (self.of)(step).map(|times| times.p99 as f64 / 1e6).filter(|ms| *ms > 0.0)
    }
}

/// Quantity on a horizontal axis.
type Quantity = (&'static str, fn(&Step) -> Option<f64>);

const SAMPLES: Quantity = ("samples/s", |step| Some(step.samples_per_second));
const TOKENS: [Quantity; 2] = [
    ("tokens/s", |step| step.tokens_per_second),
    ("tokens/s per user", |step| step.tokens_per_second_per_user),
];

pub(crate) fn sweep(record: &SweepRecord) -> String {
    let sets: Vec<_> = record.node_sets.iter().map(|nodes| nodes.to_string()).collect();
    let has_tokens = record.steps.iter().any(|step| step.first_token_ns.is_some());
    let measures = measures(record, has_tokens);
    let quantities = if has_tokens { &TOKENS[..] } else { &[SAMPLES] };
    let series = match record.load {
        Load::Rate => "rates",
        Load::Concurrency => "concurrencies",
    };
    let last = record.node_sets.last().copied().unwrap_or_default();
    let nodes = if last == 1 { "node" } else { "nodes" };
    document(
        &format!("{}: {series} over {} {nodes}", record.benchmark, list(&sets)),
        &html! {
            (state(record))
            (summary(record, &measures))
            h2 { "Throughput and latency" }
            p.note {
                "Filled points are VALID, hollow ones are not; at squares the LoadGen node was the limit, not the cluster. "
                "A point shows its figures on hover, and leads to the record of its step."
            }
            (multiples(&html! { @for quantity in quantities { @for measure in &measures { (curve(record, measure, *quantity)) } } }))
            (multiples(&html! {
                (share(record, "Share of the mean latency in the network", |step| step.network_share))
                (share(record, "Share of the mean latency in the QDL", |step| step.qdl_share))
            }))
            h2 { "Steps" }
            (steps(record, &measures, has_tokens))
            details {
                summary { "Settings" }
                (words([("nodes", record.nodes.join(", "))]))
                (words(record.settings.iter().map(|(key, value)| (key.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))))
            }
        },
    )
}

/// Returns the latencies that decide: those with bounds for language models, or the whole latency.
fn measures(record: &SweepRecord, has_tokens: bool) -> Vec<ShownLatency> {
    let bounds = &record.bounds;
    match has_tokens {
        true => vec![
            ShownLatency {
                name: "TTFT",
                of: |step| step.first_token_ns.as_ref(),
                bound_ns: bounds.first_token_ns,
            },
            ShownLatency {
                name: "TPOT",
                of: |step| step.further_token_ns.as_ref(),
                bound_ns: bounds.further_token_ns,
            },
        ],
        false => vec![ShownLatency {
            name: "Latency",
            of: |step| Some(&step.latency_ns),
            bound_ns: bounds.latency_ns,
        }],
    }
}

/// Returns the note on latencies; empty if they are LoadGen's.
const fn own(load: Load) -> &'static str {
    match load {
        Load::Rate => "",
        Load::Concurrency => "Latencies are netdiv's own, measured from sending.",
    }
}

/// Returns what the sweep as a whole shows.
fn state(record: &SweepRecord) -> Markup {
    let valid =
        record.best.iter().max_by(|a, b| a.samples_per_second.total_cmp(&b.samples_per_second));
    let limited = record.steps.iter().filter(|step| step.client_limit.is_some()).count();
    html! {
        @match (record.load, valid) {
            (Load::Concurrency, _) => p.verdict { strong { "Exploratory" } ": no rate was scheduled, so no step is a result of LoadGen's. " (own(record.load)) },
            (Load::Rate, Some(best)) => p.verdict.good {
                strong { "VALID" } " up to " (figures(best.samples_per_second)) " samples/s with " (count(best.nodes, "node"))
            },
            (Load::Rate, None) => p.verdict.bad { strong { "No step is VALID" } },
        }
        @if !record.finished { p.verdict { strong { "Not finished" } ": " (count(record.steps.len(), "step")) " so far; continue it with --resume" } }
        @if limited > 0 { p.verdict.bad { strong { "Client's limit" } ": in " (count(limited, "step")) " the LoadGen node, not the cluster, was the limit" } }
    }
}

/// Returns the step with the highest rate of a set of nodes: VALID, if LoadGen scheduled the rates.
fn best(record: &SweepRecord, nodes: usize) -> Option<&Step> {
    let steps = record.steps.iter().filter(|step| step.nodes == nodes);
    match record.load {
        Load::Rate => {
            let best = record.best.iter().find(|best| best.nodes == nodes)?;
            steps.into_iter().find(|step| step.folder == best.folder)
        }
        Load::Concurrency => {
            steps.max_by(|a, b| a.samples_per_second.total_cmp(&b.samples_per_second))
        }
    }
}

/// Shows the highest rate of each set of nodes, and what all steps together show.
fn summary(record: &SweepRecord, measures: &[ShownLatency]) -> Markup {
    let lost: u64 = record.steps.iter().map(|step| step.lost).sum();
    let note = format!("in {}", count(record.steps.len(), "step"));
    let lost = Tile { is_bad: lost > 0, ..Tile::new("lost samples", lost.to_string(), "", note) };
    let rate = if record.load == Load::Rate { "highest VALID rate" } else { "highest rate" };
    let label = |nodes: &usize| {
        let p99s = measures.iter().map(|measure| format!("{} p99", measure.name));
        let labels = [rate.to_owned()].into_iter().chain(p99s);
        labels.map(|label| format!("{}: {label}", count(*nodes, "node"))).collect()
    };
    let labels: Vec<Vec<_>> = record.node_sets.iter().map(label).collect();
    let sets = record.node_sets.iter().zip(&labels);
    let mut all: Vec<_> =
        sets.flat_map(|(nodes, labels)| highest(record, *nodes, measures, labels)).collect();
    all.extend(scaling(record));
    all.push(lost);
    tiles(&all)
}

/// Returns the highest rate of a set of nodes, the interval that the search has left, and the
/// latencies there.
fn highest<'a>(
    record: &SweepRecord,
    nodes: usize,
    measures: &[ShownLatency],
    labels: &'a [String],
) -> Vec<Tile<'a>> {
    let label = &labels[0];
    let Some(step) = best(record, nodes) else {
        let tile = Tile::new(label, "–".into(), "", "no step is VALID".into());
        return vec![Tile { is_bad: true, ..tile }];
    };
    let tokens = step.tokens_per_second.map(|rate| format!("{} tokens/s", plain(rate)));
    let mut notes = Vec::from_iter(tokens);
    notes.push(format!("at {} {}", plain(step.load), record.load.unit()));
    let best = record.best.iter().find(|best| best.folder == step.folder);
    notes.extend(best.map(|best| match best.lowest_invalid {
        Some(rate) => format!("INVALID from {}", plain(rate)),
        None => "no higher rate was tried".into(),
    }));
    let rate = Tile::new(label, figures(step.samples_per_second), "samples/s", notes.join("; "));
    let latencies = measures.iter().zip(&labels[1..]).filter_map(|(measure, label)| {
        let ms = measure.p99_ms(step)?;
        let bound = measure.bound_ns.map(|ns| ns / 1e6);
        let note = bound.map(|ms| format!("bound {} ms ", plain(ms))).unwrap_or_default();
        let tile = Tile::new(label, figures(ms), "ms", note + own(record.load));
        let is_bad = bound.is_some_and(|bound| ms > bound);
        Some(Tile { is_bad, gauge: bound.map(|bound| (ms, bound)), ..tile })
    });
    [rate].into_iter().chain(latencies).collect()
}

/// Returns the growth of the highest rate from the smallest to the largest set of nodes.
fn scaling<'a>(record: &SweepRecord) -> Option<Tile<'a>> {
    let (small, large) = (*record.node_sets.iter().min()?, *record.node_sets.iter().max()?);
    let rate = |nodes| Some(best(record, nodes)?.samples_per_second).filter(|rate| *rate > 0.0);
    let (growth, ideal) = (rate(large)? / rate(small)?, large as f64 / small as f64);
    let note = format!("from {small} to {}; {} in proportion", count(large, "node"), plain(ideal));
    let tile = Tile::new("scaling of the highest rate", format!("{growth:.2}"), "times", note);
    (large > small).then(|| Tile { gauge: Some((growth, ideal)), ..tile })
}

fn curve(record: &SweepRecord, measure: &ShownLatency, (quantity, x): Quantity) -> Markup {
    let title = format!("{} p99 against {quantity}", measure.name);
    let lines = lines(record, |step| {
        let (x, y) = (x(step)?, measure.p99_ms(step)?);
        Some(((x, y), format!("{} {quantity}, {} p99 {} ms", figures(x), measure.name, figures(y))))
    });
    let bound = measure.bound_ns.map(|ns| Bound {
        along: Along::Y,
        at: ns / 1e6,
        until: None,
        label: format!("bound for p99: {} ms", plain(ns / 1e6)),
    });
    let (x, y) = (Axis::new(quantity, Scale::Linear), Axis::new("ms", Scale::Log));
    let plot = Plot { title: &title, x, y, lines, bound, strips: Vec::new() };
    picture(&plot, &[own(record.load)])
}

fn share(record: &SweepRecord, title: &str, share: fn(&Step) -> f64) -> Markup {
    let lines = lines(record, |step| {
        let percent = 100.0 * share(step);
        Some(((step.load, percent), format!("{} %", figures(percent))))
    });
    let (x, y) = (Axis::new(record.load.unit(), Scale::Linear), Axis::new("%", Scale::Linear));
    let plot = Plot { title, x, y, lines, bound: None, strips: Vec::new() };
    picture(&plot, &[own(record.load)])
}

/// Returns a line for each set of nodes; `point` returns a step's point and its text.
fn lines(
    record: &SweepRecord,
    point: impl Fn(&Step) -> Option<((f64, f64), String)>,
) -> Vec<PlotLine> {
    let line = |nodes: &usize| {
        let of = count(*nodes, "node");
        let steps = record.steps.iter().filter(|step| step.nodes == *nodes);
        let points = steps.filter_map(|step| {
            let (at, text) = point(step)?;
            let heading =
                format!("{of}, {} {}: {}", plain(step.load), record.load.unit(), step.verdict);
            let mark = Mark {
                text: format!("{heading}\n{text}\n{}", why(step)),
                is_hollow: !is_good(step.verdict),
                is_square: step.client_limit.is_some(),
                link: Some(link(step)),
            };
            Some((at, mark))
        });
        let (points, marks) = points.unzip();
        PlotLine { name: of, points, marks, is_total: false }
    };
    record.node_sets.iter().map(line).collect()
}

/// Returns the reasons of a step's verdict, and of the client's limit.
fn why(step: &Step) -> String {
    let limit = step.client_limit.iter().map(|why| format!("client's limit: {why}"));
    step.reasons.iter().cloned().chain(limit).collect::<Vec<_>>().join("; ")
}

/// Returns the address of a step's record. The record of a sweep may name any folder, but no other
/// address.
fn link(step: &Step) -> String {
    format!("./{}/result.json", step.folder)
}

/// Returns the titles and rows of all figures.
fn figure_rows(
    record: &SweepRecord,
    measures: &[ShownLatency],
    has_tokens: bool,
) -> (Vec<String>, Vec<Vec<String>>) {
    let mut titles = vec!["samples/s".to_owned()];
    titles.extend(TOKENS.iter().filter(|_| has_tokens).map(|(title, _)| (*title).to_owned()));
    titles.extend(
        measures.iter().flat_map(|measure| {
            ["p50", "p99"].map(|which| format!("{}\n{which}, ms", measure.name))
        }),
    );
    titles.extend(["network,\n%", "QDL,\n%", "lost", "passes", "window,\ns"].map(str::to_owned));
    let row = |step: &Step| {
        let ms = |ns: u64| figures(ns as f64 / 1e6);
        let shown = |value: Option<f64>| value.map_or_else(|| "–".into(), figures);
        let mut row = vec![figures(step.samples_per_second)];
        row.extend(TOKENS.iter().filter(|_| has_tokens).map(|(_, value)| shown(value(step))));
        row.extend(measures.iter().flat_map(|measure| match (measure.of)(step) {
            Some(times) => [ms(times.p50), ms(times.p99)],
            None => ["–".into(), "–".into()],
        }));
        row.extend([step.network_share, step.qdl_share].map(|share| figures(100.0 * share)));
        row.extend([step.lost, step.passes].map(|count| count.to_string()));
        row.push(shown(step.window_seconds));
        row
    };
    (titles, record.steps.iter().map(row).collect())
}

fn steps(record: &SweepRecord, measures: &[ShownLatency], has_tokens: bool) -> Markup {
    let (titles, rows) = figure_rows(record, measures, has_tokens);
    let titles: Vec<_> = titles.iter().map(String::as_str).collect();
    let words = ["nodes", record.load.unit(), "verdict"];
    let caption = format!(
        "Rates are those of the steady-state window; a step without a window was too short for one, and has those of the whole test. {}",
        own(record.load)
    );
    html! {
        (table(caption.trim(), &words, &titles, &["reasons"], &html! { @for (step, row) in record.steps.iter().zip(&rows) { tr {
            th.word scope="row" { (step.nodes) }
            td.word { a href=(link(step)) { (plain(step.load)) } @if step.searched { " (search)" } }
            td.word.good[is_good(step.verdict)].bad[!is_good(step.verdict)] { (step.verdict) }
            @for figure in row { td { (figure) } }
            td.word style="min-width:14rem" { (why(step)) }
        } } }))
        @if let Some(csv) = csv(&[&words[..], &titles, &["reasons"]].concat(), &record.steps, &rows) {
            p.download { "Download the table: " (download("sweep.csv", &csv)) }
        }
    }
}

/// Returns the table as CSV.
fn csv(titles: &[&str], steps: &[Step], rows: &[Vec<String>]) -> Option<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(titles.iter().map(|title| title.replace('\n', " "))).ok()?;
    for (step, row) in steps.iter().zip(rows) {
        let names = [step.nodes.to_string(), step.load.to_string(), step.verdict.to_string()];
        table.write_record(names.iter().chain(row).chain([&escape_formula(&why(step))])).ok()?;
    }
    String::from_utf8(table.into_inner().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(load: &str, steps: &[(usize, f64, &str)]) -> SweepRecord {
        let times = |ms: f64| {
            let ns = (ms * 1e6) as u64;
            serde_json::json!({"mean": ns, "p50": ns / 2, "p90": ns, "p99": ns, "p99_9": ns, "max": ns})
        };
        let steps: Vec<_> = steps.iter().map(|(nodes, rate, verdict)| serde_json::json!({
            "nodes": nodes, "load": rate, "searched": false, "folder": format!("nodes-{nodes}/rate-{rate}"), "verdict": verdict,
            "reasons": if *verdict == "VALID" { vec![] } else { vec!["=1 <script>"] }, "samples": 9, "passes": 1, "seconds": 1.0,
            "samples_per_second": rate, "latency_ns": times(rate / 10.0), "network_share": 0.25, "qdl_share": 0.0, "lost": 0,
            "client_limit": (*rate > 250.0).then_some("its threads waited"),
        })).collect();
        let best = |nodes: usize, rate: f64| {
            serde_json::json!({
                "nodes": nodes, "load": rate, "samples_per_second": rate, "folder": format!("nodes-{nodes}/rate-{rate}"), "lowest_invalid": rate + 50.0,
            })
        };
        let best = if load == "rate" && !steps.is_empty() {
            vec![best(1, 100.0), best(2, 200.0)]
        } else {
            vec![]
        };
        serde_json::from_value(serde_json::json!({
            "version": 1, "benchmark": "digits", "load": load, "finished": true, "nodes": ["<b>:1", "b:1"], "node_sets": [1, 2],
            "bounds": {"latency_ns": 20e6}, "settings": {}, "steps": steps, "best": best,
        })).unwrap()
    }

    const STEPS: [(usize, f64, &str); 5] = [
        (1, 50.0, "VALID"),
        (1, 100.0, "VALID"),
        (1, 150.0, "INVALID"),
        (2, 200.0, "VALID"),
        (2, 300.0, "INVALID"),
    ];

    #[test]
    fn a_page_shows_the_interval_of_the_search_and_the_limit_of_the_client() {
        let page = sweep(&record("rate", &STEPS));
        for words in [
            "<strong>VALID</strong> up to 200 samples/s with 2 nodes",
            "at 100 queries/s; INVALID from 150",
            "bound for p99: 20 ms",
            "<strong>2.00</strong> times",
            "in 1 step the LoadGen node, not the cluster, was the limit",
            "client's limit: its threads waited",
            "href=\"./nodes-2/rate-300/result.json\"",
            "&lt;b&gt;:1",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains(own(Load::Concurrency)), "{page}");
        // Four INVALID points in two pictures are hollow, two of them squares.
        let hollow = "fill=\"var(--paper)\"";
        assert_eq!(page.matches(hollow).count(), 3 * 2, "{page}");
        assert_eq!(page.matches("rx=\"0\"").count(), 3, "{page}");
    }

    #[test]
    fn latencies_without_a_schedule_are_called_netdivs_own() {
        let page =
            sweep(&record("concurrency", &STEPS.map(|(nodes, load, _)| (nodes, load, "VALID"))));
        // The verdict, a tile for each set of nodes, three pictures, and the table with its label.
        assert_eq!(page.matches(own(Load::Concurrency)).count(), 1 + 2 + 3 + 2, "{page}");
        assert!(page.contains("samples in flight") && !page.contains("queries/s"), "{page}");
        assert!(sweep(&record("rate", &[])).contains("No step is VALID"));
    }

    #[test]
    fn cells_of_the_table_are_no_formulas() {
        let record = record("rate", &STEPS);
        let (_, rows) = figure_rows(&record, &measures(&record, false), false);
        let csv = csv(&["a"; 12], &record.steps, &rows).unwrap();
        assert!(csv.contains("'=1 <script>") && !csv.contains(",=1"), "{csv}");
    }
}
