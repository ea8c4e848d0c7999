//! Page of a network measurement, and its pictures.

use maud::{Markup, html};

use super::{
    axis::{Axis, Scale, percentile, plain},
    elements::{self, STYLE, Tile, document, framed, multiples, picture, tiles, words},
    heat_map,
    phrases::{date, list},
    plot::{Along, Bound, LINES, Mark, Plot, PlotLine},
};
use crate::{
    fabric::{
        figures::{Bandwidth, Direction, RoundTrip},
        matrix::figures::Matrix,
        report::Report,
    },
    report::{
        fabric::{bound_by, link_bytes_per_second, parts},
        fabric_result::best,
        fabric_rounds::range,
        part::Part,
        table::TextTable,
    },
    units::{count, gigabits, gigabytes, rate, size},
};

/// Maximum number of nodes in a title.
const NAMED: usize = 4;

/// Maximum number of lines of a finding that are not folded.
const SHOWN: usize = 3;

pub(crate) fn fabric(report: &Report) -> String {
    let names: Vec<_> = report.routes.iter().map(|route| route.node.as_str()).collect();
    let nodes = if names.len() > NAMED { count(names.len(), "node") } else { list(&names) };
    let parts = parts(report);
    let pictures: Vec<_> = curves(report).into_iter().chain(round_trips(report)).collect();
    document(
        &format!("Network to {nodes}"),
        &html! {
            (tiles(&figures(report)))
            @for part in &parts { @if let Part::Finding { is_good, text } = part {
                (finding(*is_good, text))
            } }
            (multiples(&html! { @for plot in &pictures { (picture(plot, &[])) } }))
            @if let Some(matrix) = &report.matrix { (heat_map(matrix)) }
            details open[pictures.is_empty() && report.matrix.is_none()] {
                summary { "All figures, as tables" }
                @for part in &parts { @if let Part::Table(table) = part { (figures_table(table)) } }
            }
            details {
                summary { "How it was measured" }
                (words([
                    ("started", date(&report.started)),
                    ("duration", format!("{:.0} s", report.seconds)),
                    ("from", report.host.clone().unwrap_or_else(|| "this machine".into())),
                    ("loadgen-node", report.version.clone()),
                ]))
                @for part in &parts { @if let Part::Text(text) = part { p { @for line in text.lines() { (line) br; } } } }
            }
        },
    )
}

/// Shows a finding, and folds its lines if there are many, as of many nodes.
fn finding(is_good: bool, text: &str) -> Markup {
    let lines: Vec<_> = text.lines().collect();
    let (first, others) = lines.split_at(lines.len().min(SHOWN));
    html! {
        div class=(format!("verdict {}", if is_good { "good" } else { "bad" })) {
            @for line in first { p { (line) } }
            @if !others.is_empty() { details {
                summary { (others.len()) " more" }
                @for line in others { p { (line) } }
            } }
        }
    }
}

/// Returns the figures that describe the network.
fn figures(report: &Report) -> Vec<Tile<'_>> {
    let link = link_bytes_per_second(report);
    let one_way = |label, cell: Option<&Bandwidth>, pick: fn(&Bandwidth) -> f64| {
        let cell = cell?;
        let bytes = pick(cell);
        let mut note = format!("{} Gbit/s, at {}", gigabits(bytes), size(cell.message_bytes));
        note.extend(range(cell).map(|range| format!("; rounds {range}")));
        note.extend(link.map(|link| format!("; {:.0} % of the link", 100.0 * bytes / link)));
        let gauge = link.map(|link| (bytes, link));
        Some(Tile { gauge, ..Tile::new(label, gigabytes(bytes), "GB/s", note) })
    };
    let to = |cell: &Bandwidth| cell.total.bytes_per_second_to_nodes;
    let from = |cell: &Bandwidth| cell.total.bytes_per_second_from_nodes;
    let cells = &report.bandwidth;
    let mut tiles: Vec<_> = [
        one_way("best rate to nodes", best(cells, Direction::ToNodes), to),
        one_way("best rate from nodes", best(cells, Direction::FromNodes), from),
    ]
    .into_iter()
    .flatten()
    .collect();
    tiles.extend(round_trip(report));
    tiles.extend(limit(cells));
    if let Some(matrix) = &report.matrix {
        let measured = matrix.pairs.iter().filter(|pair| pair.bytes_per_second.is_some()).count();
        let note = format!("{measured} of {} measured", count(matrix.pairs.len(), "pair"));
        let slow = Tile::new("slow hosts and pairs", matrix.slow.len().to_string(), "", note);
        tiles.push(Tile { is_bad: !matrix.slow.is_empty(), ..slow });
        tiles.extend(one_way("to all nodes at once", matrix.fan_out.as_ref(), to));
        tiles.extend(one_way("from all nodes at once", matrix.incast.as_ref(), from));
    }
    if let Some(cell) = &report.soak {
        // In steady traffic both ways have the same rate.
        tiles.extend(one_way("rate each way", Some(cell), to));
        tiles.extend(cell.p99_9_ns.map(|ns| {
            Tile::new("latency, p99.9", plain(ns as f64 / 1e6), "ms", "under this load".into())
        }));
        let (gap, time) = (cell.longest_gap_ms.to_string(), format!("in {:.0} s", cell.seconds));
        tiles.push(Tile::new("longest time without an answer", gap, "ms", time));
    }
    tiles.extend(report.open_loop.iter().map(|run| {
        let what = run.benchmark.clone().unwrap_or_else(|| size(run.message_bytes));
        let kept = if run.kept { "kept" } else { "NOT KEPT" };
        let note = format!("{what} at {}/s: {kept}", run.rate_messages_per_second);
        let p99 = plain(run.p99_ns as f64 / 1e3);
        Tile { is_bad: !run.kept, ..Tile::new("p99 at a fixed rate", p99, "µs", note) }
    }));
    let judged = report.benchmarks.iter().filter_map(|one| Some((one, one.carried?)));
    tiles.extend(judged.map(|(benchmark, carried)| {
        let value = if carried { "carried" } else { "NOT CARRIED" };
        let note = format!("up to {} samples/s", plain(benchmark.carries_samples_per_second));
        Tile { is_bad: !carried, ..Tile::new(&benchmark.name, value.into(), "", note) }
    }));
    tiles
}

/// Returns the round trip of the shortest message to the slowest node.
fn round_trip(report: &Report) -> Option<Tile<'_>> {
    let shortest = report.round_trips.iter().map(|trip| trip.message_bytes).min()?;
    let trips = report.round_trips.iter().filter(|trip| trip.message_bytes == shortest);
    let slowest = trips.max_by_key(|trip| trip.p50_ns)?;
    let us = |ns: u64| plain(ns as f64 / 1e3);
    let note = format!("p99 {} µs, {} to {}", us(slowest.p99_ns), size(shortest), slowest.node);
    Some(Tile::new("round trip, p50", us(slowest.p50_ns), "µs", note))
}

/// Returns what limits the best rates.
fn limit(cells: &[Bandwidth]) -> Option<Tile<'_>> {
    let best = Direction::ALL.iter().filter_map(|direction| best(cells, *direction));
    // In the order of their words, PROCESSOR comes last.
    let (value, note) = match best.map(bound_by).max()? {
        "" => ("network", "no I/O thread here was saturated, and no program lacked processor time"),
        "BUSY" => ("BUSY", "a program lacked processor time; the network may carry more"),
        processor => (processor, "an I/O thread here was saturated; the network may carry more"),
    };
    let tile = Tile::new("limited by", value.into(), "", note.into());
    Some(Tile { is_bad: value != "network", ..tile })
}

fn figures_table(table: &TextTable) -> Markup {
    let mut titles: Vec<_> = table.titles.iter().map(String::as_str).collect();
    let caption = std::mem::take(&mut titles[0]);
    let (names, figures) = titles.split_at(table.names);
    elements::table(
        caption,
        names,
        figures,
        &[],
        &html! {
            @for row in &table.rows { tr {
                th.word scope="row" { (row[0]) }
                @for name in &row[1..table.names] { td.word { (name) } }
                @for figure in &row[table.names..] { td { (figure) } }
            } }
        },
    )
}

/// Returns rates over the message size.
fn curves(report: &Report) -> Option<Plot<'_>> {
    let line = |direction: Direction| {
        let cells = || report.bandwidth.iter().filter(move |cell| cell.direction == direction);
        let (name, slower): (_, fn(&Bandwidth) -> f64) = match direction {
            Direction::ToNodes => ("to nodes", |cell| cell.total.bytes_per_second_to_nodes),
            Direction::FromNodes => ("from nodes", |cell| cell.total.bytes_per_second_from_nodes),
            Direction::Both => ("both ways, the slower one", |cell| {
                cell.total.bytes_per_second_to_nodes.min(cell.total.bytes_per_second_from_nodes)
            }),
        };
        let text = |cell: &Bandwidth| {
            format!("{} {name}: {}", size(cell.message_bytes), rate(slower(cell)))
        };
        PlotLine {
            name: name.into(),
            points: cells().map(|cell| (cell.message_bytes as f64, slower(cell) / 1e9)).collect(),
            marks: cells().map(|cell| Mark { text: text(cell), ..Mark::default() }).collect(),
            ..PlotLine::default()
        }
    };
    let label = |bytes: f64| size(bytes.round() as usize);
    let link = link_bytes_per_second(report);
    (!report.bandwidth.is_empty()).then(|| Plot {
        title: "Payload per second by message size",
        x: Axis { title: "message size", scale: Scale::PowersOfTwo, label },
        y: Axis::new("GB/s", Scale::Log),
        lines: Direction::ALL.map(line).into(),
        bound: link.map(|bytes| Bound {
            along: Along::Y,
            at: bytes / 1e9,
            until: None,
            label: format!("link: {} Gbit/s", gigabits(bytes)),
        }),
        strips: Vec::new(),
    })
}

/// Percentile of round trips: its nines, and its time.
type Percentile = (f64, fn(&RoundTrip) -> u64);

const PERCENTILES: [Percentile; 4] = [
    (std::f64::consts::LOG10_2, |trip| trip.p50_ns),
    (1.0, |trip| trip.p90_ns),
    (2.0, |trip| trip.p99_ns),
    (3.0, |trip| trip.p99_9_ns),
];

/// Returns percentiles of the round trips of the shortest message, by node.
fn round_trips(report: &Report) -> Option<Plot<'_>> {
    let shortest = report.round_trips.iter().map(|trip| trip.message_bytes).min()?;
    let line = |trip: &RoundTrip| {
        let times = PERCENTILES.map(|(nines, time)| (time(trip) as f64 / 1e3, nines));
        let mark = |(us, nines)| Mark {
            text: format!("{} {}: {} µs", trip.node, percentile(nines), plain(us)),
            ..Mark::default()
        };
        PlotLine {
            name: trip.node.clone(),
            points: times.into(),
            marks: times.map(mark).into(),
            ..PlotLine::default()
        }
    };
    let trips = report.round_trips.iter().filter(|trip| trip.message_bytes == shortest);
    Some(Plot {
        title: "Round trips of the shortest message",
        x: Axis::new("µs", Scale::Log),
        y: Axis { title: "percentile of messages", scale: Scale::Nines, label: percentile },
        lines: trips.take(LINES).map(line).collect(),
        bound: None,
        strips: Vec::new(),
    })
}

fn heat_map(matrix: &Matrix) -> Markup {
    let title =
        format!("GB/s between hosts at {}: rows send, columns receive", size(matrix.message_bytes));
    let svg = html! { div.wide tabindex="0" role="region" aria-label=(title) { (heat_map::svg(matrix)) } };
    framed(
        &title,
        &[],
        &svg,
        &[
            "(here) is the machine that measured. A rate is in the colour of SLOW only if the verdict calls it slow.",
        ],
    )
}

/// Returns the plot of rates over the message size as an SVG file, with its legend.
pub(crate) fn fabric_plot(report: &Report) -> Option<String> {
    let plot = curves(report)?;
    let legend = html! {
        text x="-10" y="244" { @for (name, colour) in plot.legend() {
            tspan fill=(colour) dx="12" { "■ " } tspan { (name) }
        } }
    };
    // A browser shows a picture without a width as wide as it can.
    let svg = plot.svg()?.0.replacen("<svg ", "<svg width=\"640\" ", 1);
    Some(file(&svg.replace("</svg>", &(legend.0 + "</svg>"))))
}

/// Returns the heat map as an SVG file.
pub(crate) fn fabric_matrix(report: &Report) -> Option<String> {
    report.matrix.as_ref().map(|matrix| file(&heat_map::svg(matrix).0))
}

/// Returns a picture as a file of its own, with the style of the pages.
fn file(svg: &str) -> String {
    let style = format!("><style>{STYLE}svg text {{ font-size: 10px; }}</style>");
    svg.replacen('>', &style, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{
        figures::{Route, tests::cell},
        matrix::figures::{Host, Pair, SlowFinding, SlowPart},
    };

    #[test]
    fn each_decade_has_short_labels() {
        for (slowest, fastest, expected) in [
            (30e6, 400e6, &["0.05", "0.1", "0.2"][..]),
            (15e3, 2e6, &["0.0001", "0.001"]),
            (6e9, 20e9, &["10", "20"]),
        ] {
            let cells = [(1000, slowest), (1_000_000, fastest)]
                .map(|(bytes, rate)| cell(bytes, Direction::ToNodes, rate / bytes as f64));
            let svg =
                fabric_plot(&Report { bandwidth: cells.into(), ..Report::default() }).unwrap();
            let texts = svg.split('>').filter_map(|text| text.strip_suffix("</text"));
            let labels: Vec<_> = texts.filter(|text| text.parse::<f64>().is_ok()).collect();
            assert!(expected.iter().all(|label| labels.contains(label)), "{labels:?}");
            assert!(labels.iter().all(|label| label.len() < 8), "{labels:?}");
        }
    }

    fn matrix() -> Matrix {
        let node = |name: &str| Host::Node(name.into());
        let pair = |from: &str, to: &str, bytes_per_second| Pair {
            from: node(from),
            to: node(to),
            bytes_per_second,
            rounds_bytes_per_second: Vec::new(),
            busy: None,
        };
        Matrix {
            message_bytes: 1 << 20,
            fan_out: None,
            incast: None,
            pairs: vec![
                pair("a", "b", Some(4e8)),
                pair("b", "a", Some(2e8)),
                pair("a", "c", None),
                pair("c", "a", Some(1e9)),
            ],
            slow: Vec::new(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn only_what_the_verdict_calls_slow_is_coloured_as_slow() {
        let finding = |what| SlowFinding {
            what,
            bytes_per_second: 4e8,
            usual_bytes_per_second: 1e9,
            rounds: 3,
        };
        let node = |name: &str| Host::Node(name.into());
        for (what, expected) in [
            (None, &[][..]),
            (Some(SlowPart::Sender("a".into())), &["a to b: 0.400 GB/s (3.20 Gbit/s), SLOW"]),
            (
                Some(SlowPart::Pair(node("b"), node("a"))),
                &["b to a: 0.200 GB/s (1.60 Gbit/s), SLOW"],
            ),
        ] {
            let slow = what.clone().into_iter().map(finding).collect();
            let svg = heat_map::svg(&Matrix { slow, ..matrix() }).into_string();
            let pairs = svg.split("</g>").filter_map(|pair| Some(pair.split_once("<g><title>")?.1));
            let slow = pairs.filter(|pair| pair.contains("var(--bad)"));
            let titles: Vec<_> = slow.filter_map(|pair| pair.split('<').next()).collect();
            assert_eq!(titles, expected, "{what:?}");
            assert!(svg.contains("a to c: not measured") && svg.contains("1.000 GB/s"), "{svg}");
        }
    }

    #[test]
    fn a_page_is_the_same_from_its_file_and_shows_names_as_text() {
        let name = "<script>alert(1)</script>";
        let route = Route {
            node: name.into(),
            address: "127.0.0.1:1".into(),
            node_host: String::new(),
            node_version: String::new(),
            local_address: None,
            link: None,
            node_link: None,
        };
        let report = Report {
            routes: vec![route],
            bandwidth: vec![cell(1000, Direction::ToNodes, 1234.5678)],
            matrix: Some(matrix()),
            ..Report::default()
        };
        let page = fabric(&report);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(page.matches("<desc>").count(), 2);
        let json = serde_json::to_string_pretty(&report).unwrap();
        assert_eq!(fabric(&serde_json::from_str(&json).unwrap()), page);
    }
}
