//! Heat map of a matrix of hosts: shades of one colour from standstill to the highest rate, and
//! another colour for what the verdict calls slow.

use maud::{Markup, html};

use crate::{
    fabric::matrix::figures::{Host, Matrix},
    report::fabric_matrix::{MAX_HOSTS, host_pairs},
    units::{gigabytes, rate, size},
};

/// Lengths in pixels. The picture does not shrink, so that its figures stay legible.
const SQUARE: usize = 56;
const SMALL_SQUARE: usize = 20;
const LETTER: usize = 7;
const MARGIN: usize = 16;
const KEY: usize = 26;
const WIDTH: usize = 340;

/// Opacities of standstill and of the highest rate, which leave text legible.
const SHADES: (f64, f64) = (0.05, 0.6);

/// Number of shades in the scale, without standstill.
const STEPS: usize = 5;

/// Returns senders from top to bottom, and receivers from left to right, above a scale.
pub(super) fn svg(matrix: &Matrix) -> Markup {
    let (hosts, pairs) = host_pairs(matrix);
    let has_figures = hosts.len() <= MAX_HOSTS;
    let square = if has_figures { SQUARE } else { SMALL_SQUARE };
    let names = short_names(&hosts);
    let longest = LETTER * names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    // The names of columns are slanted.
    let (left, top, edge) = (MARGIN + longest, MARGIN + longest * 3 / 4, square * hosts.len());
    let slant = (longest * 3 / 4).saturating_sub(square / 2);
    let (width, scale) = ((left + edge + slant).max(WIDTH), top + edge + MARGIN);
    let rates = || pairs.values().filter_map(|pair| pair.bytes_per_second);
    let highest = rates().fold(f64::MIN_POSITIVE, f64::max);
    let pair = |(row, from): (usize, &Host), (column, to): (usize, &Host)| {
        let measured = pairs.get(&(from, to))?.bytes_per_second;
        let is_slow = matrix.slow.iter().any(|slow| slow.what.covers(from, to));
        let (colour, share) = match measured {
            None => ("ink", 0.5),
            // The rate of a slow pair would make its colour faint.
            Some(_) if is_slow => ("bad", 1.0),
            Some(bytes) => ("c0", bytes / highest),
        };
        let figure = measured.map_or_else(|| "none".into(), gigabytes);
        let verdict = if is_slow { ", SLOW" } else { "" };
        let reached = measured.map_or_else(|| "not measured".into(), rate);
        let (x, y) = (left + column * square, top + row * square);
        Some(html! { g {
            title { (from) " to " (to) ": " (reached) (verdict) }
            (shaded((x, y), (square - 1, square - 1), colour, share))
            @if has_figures { text x=(x + square / 2) y=(y + square / 2) dy="0.35em" text-anchor="middle" { (figure) } }
        } })
    };
    let key = |place: usize, colour: &str, share: f64, label: &str| {
        let x = MARGIN + place * KEY;
        html! {
            (shaded((x, scale), (KEY, MARGIN), colour, share))
            text x=(x) y=(scale + 2 * MARGIN) { (label) }
        }
    };
    html! {
        svg.fixed xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(format!("0 0 {width} {}", scale + 3 * MARGIN)) width=(width)
            style=(format!("width:{width}px")) {
            title { "Rates between hosts" }
            desc { "Rows send, columns receive messages of " (size(matrix.message_bytes)) ". The highest rate is " (rate(highest)) "." }
            @for (number, name) in names.iter().enumerate() {
                @let middle = number * square + square / 2;
                text x=(left - 8) y=(top + middle) dy="0.35em" text-anchor="end" { (name) }
                text transform=(format!("translate({} {}) rotate(-45)", left + middle, top - 6)) { (name) }
            }
            @for from in hosts.iter().copied().enumerate() {
                @for to in hosts.iter().copied().enumerate() {
                    @if let Some(pair) = pair(from, to) { (pair) }
                }
            }
            @for step in 0..=STEPS {
                @let label = if step == 0 { "0".into() } else if step == STEPS { format!("{} GB/s", gigabytes(highest)) } else { String::new() };
                (key(step, "c0", step as f64 / STEPS as f64, &label))
            }
            @if !matrix.slow.is_empty() { (key(STEPS + 4, "bad", 1.0, "SLOW")) }
            @if rates().count() < pairs.len() { (key(STEPS + 6, "ink", 0.5, "not measured")) }
        }
    }
}

fn shaded(
    (x, y): (usize, usize),
    (width, height): (usize, usize),
    colour: &str,
    share: f64,
) -> Markup {
    let opacity = SHADES.0 + (SHADES.1 - SHADES.0) * share;
    html! { rect x=(x) y=(y) width=(width) height=(height) fill=(format!("var(--{colour})")) fill-opacity=(format!("{opacity:.2}")) {} }
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

#[cfg(test)]
mod tests {
    use super::*;

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
