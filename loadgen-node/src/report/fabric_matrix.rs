//! Matrix of hosts, as a table and as a heat map.

use std::{collections::BTreeMap, error::Error};

use plotters::{
    element::{Rectangle, Text},
    prelude::{IntoDrawingArea as _, SVGBackend},
    style::{
        BLACK, Color as _, IntoTextStyle as _, RGBColor, WHITE,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    fabric_rounds::{basis, range},
    table,
};
use crate::{
    fabric::{
        figures::Bandwidth,
        matrix::{
            figures::{Host, Matrix, Pair, SlowFinding, SlowPart},
            slow::usual_rate,
        },
        report::Report,
        usual_rates::SLOW,
    },
    units::{count, gigabytes, rate, size},
};

/// Maximum number of hosts that fit beside each other on a terminal, and whose figures fit into the
/// squares of the picture.
const MAX_HOSTS: usize = 12;

pub(crate) fn render(matrix: &Matrix, report: &Report) -> String {
    let Matrix { fan_out, incast, .. } = matrix;
    let at_once = |what: &str, cell: &Bandwidth, bytes: f64| {
        let bound = if cell.is_bound_by_processor() { ", bound by PROCESSOR" } else { "" };
        let rounds = count(report.rounds, "round");
        let range = range(cell).map(|range| format!(" ({range} GB/s in {rounds})"));
        format!("{what}: {}{}{bound}", rate(bytes), range.unwrap_or_default())
    };
    let both = [
        fan_out.as_ref().map(|cell| {
            at_once("to all nodes at once", cell, cell.total.bytes_per_second_to_nodes)
        }),
        incast.as_ref().map(|cell| {
            at_once("from all nodes at once", cell, cell.total.bytes_per_second_from_nodes)
        }),
    ];
    let both: Vec<_> = both.into_iter().flatten().collect();
    let mut parts = vec![rates(matrix), both.join("\n")];
    let slow: Vec<_> = matrix
        .slow
        .iter()
        .map(|slow| {
            let part = match &slow.what {
                SlowPart::Sender(node) => format!("sender {node}: at best"),
                SlowPart::Receiver(node) => format!("receiver {node}: at best"),
                SlowPart::Pair(from, to) => format!("pair {from} to {to}:"),
            };
            let (reached, usual) = (rate(slow.bytes_per_second), rate(slow.usual_bytes_per_second));
            let from = basis(slow.rounds, report.rounds);
            format!(
                "SLOW {part} {reached}; the fastest quarter of such pairs reaches {usual}{from}"
            )
        })
        .collect();
    let measured = matrix.pairs.iter().filter(|pair| pair.bytes_per_second.is_some()).count();
    parts.push(match slow[..] {
        [] => format!(
            "nothing is slow: all {measured} measured pairs reach {SLOW} times the rate of the fastest quarter of such pairs, or differ from it by \
             no more than their rounds{}",
            basis(report.rounds, report.rounds)
        ),
        _ => slow.join("\n"),
    });
    let failures = matrix.failures.iter().map(|failure| format!("NOT MEASURED {failure}"));
    parts.push(failures.collect::<Vec<_>>().join("\n"));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// Returns a table with a row for each sender. For many hosts, returns only the number of pairs,
/// because a large table would hide what is slow.
fn rates(matrix: &Matrix) -> String {
    let (hosts, pairs) = host_pairs(matrix);
    let message = size(matrix.message_bytes);
    if hosts.len() > MAX_HOSTS {
        return format!(
            "{} pairs of {} hosts, messages of {message}: see the files for their figures",
            pairs.len(),
            hosts.len()
        );
    }
    let mut titles = vec![format!("GB/s at {message}, from")];
    titles.extend(hosts.iter().map(|host| format!("to {host}")));
    let row = |from: &&Host| {
        let mut row = vec![from.to_string()];
        row.extend(hosts.iter().map(|to| match pairs.get(&(*from, *to)) {
            None => "·".into(),
            Some(pair) => match pair.bytes_per_second {
                None => "none".into(),
                Some(bytes) if pair.is_bound_by_processor() => format!("{}*", gigabytes(bytes)),
                Some(bytes) => gigabytes(bytes),
            },
        }));
        row
    };
    let table = table::table_of_rows(titles, 1, hosts.iter().map(row));
    let bound = pairs.values().any(|pair| pair.is_bound_by_processor());
    let note = "* bound by PROCESSOR: an I/O thread of the sending node, or of this machine, was saturated, so the network may carry more";
    if bound { format!("{table}\n{note}") } else { table }
}

type HostPairs<'a> = (Vec<&'a Host>, BTreeMap<(&'a Host, &'a Host), &'a Pair>);

/// Returns all hosts, this machine first, and the pairs by their ends.
fn host_pairs(matrix: &Matrix) -> HostPairs<'_> {
    let pairs = matrix.pairs.iter();
    let mut hosts: Vec<_> = pairs.clone().flat_map(|pair| [&pair.from, &pair.to]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    (hosts, pairs.map(|pair| ((&pair.from, &pair.to), pair)).collect())
}

/// Lengths in the picture, in pixels.
const SQUARE: i32 = 56;
const SMALL_SQUARE: i32 = 20;
const NAME: i32 = 12;
const LETTER: i32 = 8;
const MARGIN: i32 = 16;
const TITLE: i32 = 48;

/// Colours of the heat map, from standstill to the usual rate, which the fastest quarter of the
/// pairs reaches. White is in between: only pairs that the verdict calls slow are on the side of
/// standstill. The colours can be distinguished with a colour vision deficiency (Okabe and Ito,
/// 2008).
const STANDSTILL: RGBColor = RGBColor(213, 94, 0);
const USUAL: RGBColor = RGBColor(0, 114, 178);
const NOT_MEASURED: RGBColor = RGBColor(0, 0, 0);
const NO_PAIR: RGBColor = RGBColor(235, 235, 235);

/// Returns a heat map as an SVG document: senders from top to bottom, receivers from left to right.
pub(crate) fn svg(matrix: &Matrix) -> Result<String, Box<dyn Error>> {
    let (hosts, pairs) = host_pairs(matrix);
    let has_figures = hosts.len() <= MAX_HOSTS;
    let square = if has_figures { SQUARE } else { SMALL_SQUARE };
    let edge = square * i32::try_from(hosts.len())?;
    let names = short_names(&hosts);
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let names_pixels = NAME + LETTER * i32::try_from(longest)?;
    let (width, height) = (names_pixels + edge + 2 * MARGIN, TITLE + names_pixels + edge + MARGIN);
    let usual =
        usual_rate(pairs.values().filter_map(|pair| pair.bytes_per_second)).max(f64::MIN_POSITIVE);
    let mut document = String::new();
    {
        let pixels = (u32::try_from(width)?.max(420), u32::try_from(height)?);
        let area = SVGBackend::with_string(&mut document, pixels).into_drawing_area();
        area.fill(&WHITE)?;
        let style = |pixels: i32, colour: &'static RGBColor, at: (HPos, VPos)| {
            ("sans-serif", pixels).into_text_style(&area).color(colour).pos(Pos::new(at.0, at.1))
        };
        let title = format!("GB/s at {}: rows send, columns receive", size(matrix.message_bytes));
        let at = style(18, &BLACK, (HPos::Left, VPos::Top));
        area.draw(&Text::new(title, (MARGIN, MARGIN), at))?;
        let (left, top) = (MARGIN + names_pixels, TITLE + names_pixels);
        let text_pixels = if has_figures { 14 } else { 11 };
        for (number, name) in (0..).zip(&names) {
            let middle = number * square + square / 2;
            let beside = style(text_pixels, &BLACK, (HPos::Right, VPos::Center));
            area.draw(&Text::new(name.clone(), (left - 8, top + middle), beside))?;
            let above = style(text_pixels, &BLACK, (HPos::Left, VPos::Center));
            let above = above.transform(plotters::style::FontTransform::Rotate270);
            area.draw(&Text::new(name.clone(), (left + middle, top - 8), above))?;
        }
        for (row, from) in (0..).zip(&hosts) {
            for (column, to) in (0..).zip(&hosts) {
                let corner = (left + column * square, top + row * square);
                let opposite = (corner.0 + square - 1, corner.1 + square - 1);
                let rate = pairs.get(&(*from, *to)).map(|pair| pair.bytes_per_second);
                let share = |bytes: f64| shown_share(&matrix.slow, from, to, bytes, usual);
                let colour = match rate {
                    None => NO_PAIR,
                    Some(None) => NOT_MEASURED,
                    Some(Some(bytes)) => colour(share(bytes)),
                };
                area.draw(&Rectangle::new([corner, opposite], colour.filled()))?;
                if let Some(Some(bytes)) = rate.filter(|_| has_figures) {
                    let is_light = (0.4..0.9).contains(&share(bytes));
                    let ink = if is_light { &BLACK } else { &WHITE };
                    let at = style(12, ink, (HPos::Center, VPos::Center));
                    let middle = (corner.0 + square / 2, corner.1 + square / 2);
                    area.draw(&Text::new(gigabytes(bytes), middle, at))?;
                }
            }
        }
        area.present()?;
    }
    Ok(document)
}

/// Returns names that fit: without the suffix that all nodes have in common, such as a domain, and
/// then only their last letters.
fn short_names(hosts: &[&Host]) -> Vec<String> {
    const LETTERS: usize = 18;
    let letters = |host: &&Host| host.to_string().chars().rev().collect::<Vec<_>>();
    let names: Vec<Vec<char>> = hosts.iter().map(letters).collect();
    let of_nodes = || names.iter().zip(hosts).filter(|(_, host)| ***host != Host::Here);
    let is_long = of_nodes().any(|(name, _)| name.len() > LETTERS);
    let same = |place: &usize| {
        let mut letters = of_nodes().map(|(name, _)| name.get(*place));
        let first = letters.next().flatten();
        first.is_some() && letters.all(|letter| letter == first)
    };
    let common = if is_long { (0..).take_while(same).count() } else { 0 };
    let short = |(name, host): (&Vec<char>, &&Host)| {
        let left = if **host == Host::Here { 0 } else { common };
        let end: Vec<_> = name.iter().skip(left).collect();
        let cut = if end.len() > LETTERS { "…" } else { "" };
        let kept = LETTERS - cut.chars().count();
        cut.chars().chain(end.into_iter().take(kept).rev().copied()).collect()
    };
    names.iter().zip(hosts).map(short).collect()
}

/// Returns the ratio to the usual rate that a pair of this rate is coloured by: below [`SLOW`] only
/// where the verdict is that the pair, its sender or its receiver is slow.
fn shown_share(slow: &[SlowFinding], from: &Host, to: &Host, bytes: f64, usual: f64) -> f64 {
    match slow.iter().find(|slow| slow.what.covers(from, to)) {
        Some(slow) => bytes / slow.usual_bytes_per_second,
        None => (bytes / usual).max(SLOW),
    }
}

/// Returns the colour of a ratio to the usual rate.
fn colour(share: f64) -> RGBColor {
    let share = share.clamp(0.0, 1.0);
    let between = |from: RGBColor, to: RGBColor, share: f64| {
        let mix = |from: u8, to: u8| {
            (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8
        };
        RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
    };
    match share {
        slow if slow < SLOW => between(STANDSTILL, WHITE, slow / SLOW),
        well => between(WHITE, USUAL, (well - SLOW) / (1.0 - SLOW)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_verdict_calls_slow_is_coloured_as_slow() {
        let node = |name: &str| Host::Node(name.into());
        let (a, b) = (node("a"), node("b"));
        let share = |what: Option<SlowPart>, from: &Host, to: &Host| {
            let finding = |what| SlowFinding {
                what,
                bytes_per_second: 0.4,
                usual_bytes_per_second: 1.0,
                rounds: 3,
            };
            let slow: Vec<_> = what.into_iter().map(finding).collect();
            shown_share(&slow, from, to, 0.4, 1.0)
        };
        for (what, from, to, expected) in [
            (None, &a, &b, SLOW),
            (Some(SlowPart::Sender("a".into())), &a, &b, 0.4),
            (Some(SlowPart::Sender("a".into())), &b, &a, SLOW),
            (Some(SlowPart::Sender("a".into())), &a, &Host::Here, SLOW),
            (Some(SlowPart::Receiver("a".into())), &b, &a, 0.4),
            (Some(SlowPart::Receiver("a".into())), &Host::Here, &a, SLOW),
            (Some(SlowPart::Pair(a.clone(), b.clone())), &a, &b, 0.4),
            (Some(SlowPart::Pair(a.clone(), b.clone())), &b, &a, SLOW),
        ] {
            assert_eq!(share(what.clone(), from, to), expected, "{what:?}: {from} to {to}");
        }
        assert_eq!(colour(SLOW), WHITE);
    }

    #[test]
    fn short_names_differ_as_the_long_ones_do() {
        let nodes = ["ip-10-0-1-23", "ip-10-0-1-24", "ip-10-0-12-4"];
        let node = |name: &str| Host::Node(format!("{name}.us-west-2.compute.internal-50051"));
        let hosts: Vec<_> = [Host::Here].into_iter().chain(nodes.map(node)).collect();
        let shown = |hosts: &[Host]| short_names(&hosts.iter().collect::<Vec<_>>());
        assert_eq!(shown(&hosts), [&["(here)"][..], &nodes].concat());
        let short = ["a1", "b1"].map(|name| Host::Node(name.into()));
        assert_eq!(shown(&short), ["a1", "b1"]);
        let long = ["a", "b"].map(|end| Host::Node(format!("a-name-of-very-many-letters-{end}")));
        assert_eq!(shown(&long), ["…ry-many-letters-a", "…ry-many-letters-b"]);
    }
}
