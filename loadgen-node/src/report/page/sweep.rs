//! Page of a sweep.

use std::path::Path;

use maud::{Markup, html};

use super::{
    axis::plain,
    elements::{Tile, document, download, multiples, table, tiles, words},
    links::link,
    phrases::{figures, list},
    sweep_curves::{ShownSweep, why},
};
use crate::{
    RunError,
    comparison::setting,
    output,
    recording::sweep::{Bounds, Load, Step, SweepRecord},
    report::sweep::{csv, highest},
    units::count,
};

/// Returns the page of the sweep in `folder`, whose file is `page`.
pub(crate) fn sweep(record: &SweepRecord, folder: &Path, page: &Path) -> Result<String, RunError> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let link = |step: &Step| link(&folder.join(&step.folder), output::RESULT, page);
    let shown = ShownSweep::new(record, &link);
    let sets: Vec<_> = record.node_sets.iter().map(|nodes| nodes.to_string()).collect();
    let series = match record.load {
        Load::Rate => "rates",
        Load::Concurrency => "concurrencies",
    };
    let last = record.node_sets.last().copied().unwrap_or_default();
    let nodes = if last == 1 { "node" } else { "nodes" };
    let settings = record.settings.iter().filter(|(key, _)| *key != "nodes");
    let settings = settings.map(|(key, value)| (key.as_str(), setting(value)));
    Ok(document(
        &format!("{}: {series} over {} {nodes}", record.benchmark, list(&sets)),
        &html! {
            (state(record, &shown.remark))
            (summary(&shown))
            h2 { "Throughput and latency" }
            p.note {
                "Filled points are VALID, hollow ones are not; at squares the LoadGen node, not the cluster, may be the limit. "
                "A point shows its figures on hover, and leads to its step. "
                @if record.load == Load::Rate && record.bounds == Bounds::default() { "There is no bound at p99." }
            }
            (multiples(&html! { @for quantity in &shown.quantities[usize::from(record.has_tokens())..] {
                @for latency in &shown.latencies { (shown.curve(latency, *quantity)) }
            } }))
            (multiples(&html! {
                (shown.share("Share of the mean latency in the network", |step| step.network_share))
                (shown.share("Share of the mean latency in the QDL", |step| step.qdl_share))
            }))
            h2 { "Steps" }
            (steps(&shown))
            p.download { "Download the figures: " (download("sweep.csv", &csv(record)?)) }
            details {
                summary { "Settings" }
                (words([("nodes", record.nodes.join(", "))].into_iter().chain(settings)))
            }
        },
    ))
}

/// Returns what the sweep as a whole shows.
fn state(record: &SweepRecord, remark: &str) -> Markup {
    let limited = record.steps.iter().filter(|step| step.client_limit.is_some()).count();
    let has_invalid_below = |best| !record.invalid_below(best).is_empty();
    html! {
        @match (record.load, &record.best[..]) {
            (Load::Concurrency, _) => p.verdict { (remark) },
            (Load::Rate, []) => p.verdict.bad { strong { "No step is VALID" } },
            (Load::Rate, all) => div.verdict.good[!all.iter().any(has_invalid_below)] {
                strong { "Highest VALID rates" }
                ul { @for best in all { li { (highest(record, best)) } } }
            },
        }
        @if !record.finished { p.verdict { strong { "Not finished" } ": " (count(record.steps.len(), "step")) " so far; continue it with --resume" } }
        @if limited > 0 { p.verdict { strong { "Client's limit" } ": in " (count(limited, "step")) " the LoadGen node, not the cluster, may be the limit" } }
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
fn summary(shown: &ShownSweep<'_>) -> Markup {
    let record = shown.record;
    let lost: u64 = record.steps.iter().map(|step| step.lost).sum();
    let note = format!("in {}", count(record.steps.len(), "step"));
    let lost = Tile { is_bad: lost > 0, ..Tile::new("lost samples", lost.to_string(), "", note) };
    let (rate, source) = match record.load {
        Load::Rate => ("highest VALID rate", ""),
        Load::Concurrency => ("highest rate", " from sending"),
    };
    let label = |nodes: &usize| {
        let p99s = shown.latencies.iter().map(|latency| format!("{} p99{source}", latency.name));
        let labels = [rate.to_owned()].into_iter().chain(p99s);
        labels.map(|label| format!("{}: {label}", count(*nodes, "node"))).collect()
    };
    let labels: Vec<Vec<_>> = record.node_sets.iter().map(label).collect();
    let sets = record.node_sets.iter().zip(&labels);
    let mut all: Vec<_> =
        sets.flat_map(|(nodes, labels)| set_tiles(shown, *nodes, labels)).collect();
    all.extend(scaling(record));
    all.push(lost);
    tiles(&all)
}

/// Returns the highest rate of a set of nodes, and the latencies there.
fn set_tiles<'a>(shown: &ShownSweep<'_>, nodes: usize, labels: &'a [String]) -> Vec<Tile<'a>> {
    let label = &labels[0];
    let Some(step) = best(shown.record, nodes) else {
        let tile = Tile::new(label, "–".into(), "", "no step is VALID".into());
        return vec![Tile { is_bad: true, ..tile }];
    };
    let tokens = step.tokens_per_second.map(|rate| format!("{} tokens/s ", plain(rate)));
    let load = format!("at {} {}", plain(step.load), shown.record.load.unit());
    let note = tokens.unwrap_or_default() + &load;
    let rate = Tile::new(label, figures(step.samples_per_second), "samples/s", note);
    let latencies = shown.latencies.iter().zip(&labels[1..]).filter_map(|(latency, label)| {
        let ms = latency.p99_ms(step)?;
        let bound = latency.bound_ns.map(|ns| ns / 1e6);
        let note = bound.map(|ms| format!("bound {} ms", plain(ms))).unwrap_or_default();
        let is_bad = bound.is_some_and(|bound| ms > bound);
        let gauge = bound.map(|bound| (ms, bound));
        Some(Tile { is_bad, gauge, ..Tile::new(label, figures(ms), "ms", note) })
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
    (large > small).then_some(tile)
}

fn steps(shown: &ShownSweep<'_>) -> Markup {
    let titles = shown.quantities.iter().map(|(title, _)| (*title).to_owned());
    let times = shown
        .latencies
        .iter()
        .flat_map(|latency| ["p50", "p99"].map(|which| format!("{}\n{which}, ms", latency.name)));
    let last = ["network,\n%", "QDL,\n%", "lost", "passes", "window,\ns"].map(str::to_owned);
    let titles: Vec<_> = titles.chain(times).chain(last).collect();
    let titles: Vec<_> = titles.iter().map(String::as_str).collect();
    let caption = format!(
        "Rates are those of the steady-state window; a step without a window was too short for one, and has those of the whole test. {}",
        shown.remark
    );
    table(
        &caption,
        &["nodes", shown.record.load.unit(), "verdict"],
        &titles,
        &["reasons"],
        &html! { @for step in &shown.record.steps { tr {
            th.word scope="row" { (step.nodes) }
            td.word { a href=((shown.link)(step)) { (plain(step.load)) } @if step.searched { " (search)" } }
            td.word.good[step.has_passed()].bad[!step.has_passed()] { (step.verdict) }
            @for figure in figures_of(shown, step) { td { (figure) } }
            td.word style="min-width:14rem" { (why(step)) }
        } } },
    )
}

fn figures_of(shown: &ShownSweep<'_>, step: &Step) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or_else(|| "–".into(), figures);
    let rates = shown.quantities.iter().map(|(_, value)| figure(value(step)));
    let times = shown.latencies.iter().flat_map(|latency| {
        let times = (latency.of)(step);
        [times.map(|of| of.p50), times.map(|of| of.p99)]
            .map(|ns| figure(ns.map(|ns| ns as f64 / 1e6)))
    });
    let shares = [step.network_share, step.qdl_share].map(|share| figures(100.0 * share));
    let counts = [step.lost, step.passes].map(|count| count.to_string());
    rates.chain(times).chain(shares).chain(counts).chain([figure(step.window_seconds)]).collect()
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
            "nodes": nodes, "load": rate, "searched": false, "folder": format!("nodes-{nodes}/rate {rate}"), "verdict": verdict,
            "reasons": if *verdict == "VALID" { vec![] } else { vec!["=1 <script>"] }, "samples": 9, "passes": 1, "seconds": 1.0,
            "samples_per_second": rate, "latency_ns": times(rate / 10.0), "network_share": 0.25, "qdl_share": 0.0, "lost": 0,
            "client_limit": (*rate > 250.0).then_some("its threads waited"),
        })).collect();
        let best = |nodes: usize, rate: f64| {
            serde_json::json!({
                "nodes": nodes, "load": rate, "samples_per_second": rate, "folder": format!("nodes-{nodes}/rate {rate}"), "lowest_invalid": rate + 50.0,
            })
        };
        let best = if load == "rate" && !steps.is_empty() {
            vec![best(1, 100.0), best(2, 200.0)]
        } else {
            vec![]
        };
        serde_json::from_value(serde_json::json!({
            "version": 1, "latency_source": "loadgen", "files": {}, "benchmark": "digits", "load": load, "finished": true, "nodes": ["<b>:1", "b:1"], "node_sets": [1, 2],
            "bounds": {"latency_ns": 20e6}, "settings": {}, "steps": steps, "best": best,
        })).unwrap()
    }

    fn page(record: &SweepRecord) -> String {
        sweep(record, Path::new("/"), Path::new("/report.html")).unwrap()
    }

    const STEPS: [(usize, f64, &str); 5] = [
        (1, 50.0, "INVALID"),
        (1, 100.0, "VALID"),
        (1, 150.0, "INVALID"),
        (2, 200.0, "VALID"),
        (2, 300.0, "INVALID"),
    ];

    #[test]
    fn a_page_shows_the_interval_of_the_search_and_the_limit_of_the_client() {
        let page = page(&record("rate", &STEPS));
        for words in [
            "<li>1 node: 100 queries/s, 150 is not; lower rates that are not VALID: 50</li>",
            "bound for p99: 20 ms",
            "<strong>2.00</strong> times",
            "in 1 step the LoadGen node, not the cluster, may be the limit",
            "client's limit: its threads waited",
            "href=\"./nodes-2/rate%20300/result.json\"",
            "&lt;b&gt;:1",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("<script") && !page.contains("netdiv's own"), "{page}");
        // Three INVALID points in three pictures are hollow; one is a square.
        let hollow = "fill=\"var(--paper)\"";
        assert_eq!(page.matches(hollow).count(), 3 * 3, "{page}");
        assert_eq!(page.matches("rx=\"0\"").count(), 3, "{page}");
    }

    #[test]
    fn latencies_without_a_schedule_are_called_netdivs_own() {
        let shown =
            page(&record("concurrency", &STEPS.map(|(nodes, load, _)| (nodes, load, "VALID"))));
        // The verdict, three pictures, and the table with its label; a tile for each set of nodes.
        let remark = "Exploratory: latencies are netdiv's own, measured from sending";
        assert_eq!(shown.matches(remark).count(), 1 + 3 + 2, "{shown}");
        assert_eq!(shown.matches("p99 from sending").count(), 2, "{shown}");
        assert!(shown.contains("samples in flight") && !shown.contains("queries/s"), "{shown}");
        let mut empty = record("rate", &[]);
        empty.bounds = Bounds::default();
        let shown = page(&empty);
        assert!(shown.contains("No step is VALID") && shown.contains("no bound at p99"), "{shown}");
    }
}
