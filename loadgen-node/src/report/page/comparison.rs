//! Page of a comparison.

use maud::{Markup, html};

use super::{
    curves,
    elements::{document, list, multiples, picture, table},
    plot::LINES,
    summary::MEASURES,
};
use crate::{
    comparison::{Change, ChangeJudgement, Comparison, Figure, Side, Spread},
    recording::histograms::{Histograms, Measure},
    report::comparison::{conclusion, scale, side_label},
};

pub(crate) fn comparison(of: &Comparison) -> String {
    let verdict = match (of.regression, of.unknown) {
        (true, _) => "bad",
        (false, 0) => "good",
        (false, _) => "",
    };
    document(
        "Comparison",
        &html! {
            p class=(format!("verdict {verdict}")) { @for line in conclusion(of).lines() { (line) br; } }
            table { tbody { @for (number, side) in of.sides.iter().enumerate() { tr {
                th.word scope="row" { (side_label(number)) }
                td.word { (side.name) }
                td.word { (list(&side.folders)) }
            } } } }
            h2 { "Differences" }
            @if of.differences.is_empty() {
                p { "There are no differences in settings, programs or machines." }
            } @else {
                @let sides: Vec<_> = (0..of.sides.len()).map(side_label).collect();
                @let titles: Vec<_> = [""].into_iter().chain(sides.iter().map(|side| &side[..])).collect();
                (table("Settings, programs and machines", &titles, &[], &[], &html! {
                    @for difference in &of.differences { tr {
                        th.word scope="row" { (difference.what) }
                        @for values in &difference.values { td.word { (values.join(" | ")) } }
                    } }
                }))
            }
            @if !of.remarks.is_empty() {
                h2 { "Counted differently" }
                ul { @for remark in &of.remarks { li { (remark) } } }
            }
            h2 { "Figures" }
            (table(
                "Median of each side's runs, with minimum and maximum; changes are relative to side A. If the ranges of two sides touch, \
                the change may be chance.",
                &["figure"],
                &titles(of.sides.len()).iter().map(String::as_str).collect::<Vec<_>>(),
                &[],
                &html! { @for figure in &of.figures { (row(figure)) } },
            ))
            @let pictures = html! {
                @for (measure, title) in MEASURES { (distribution(&of.sides, measure, title)) }
            };
            @if !pictures.0.is_empty() {
                h2 { "Distributions of all runs of a side together" }
                (multiples(&pictures))
            }
        },
    )
}

/// Returns the titles of the sides, each but the first followed by its change.
fn titles(sides: usize) -> Vec<String> {
    let others = (1..sides).flat_map(|side| [format!("→ {}", side_label(side)), "change".into()]);
    [side_label(0)].into_iter().chain(others).collect()
}

fn row(figure: &Figure) -> Markup {
    let (divisor, unit) = scale(&figure.unit);
    let value = |spread: &Spread| {
        let shown = |value: f64| format!("{:.3}", value / divisor);
        html! { td {
            (shown(spread.median))
            @if spread.runs > 1 { br; span.note { (shown(spread.least)) "–" (shown(spread.most)) } }
        } }
    };
    let colour = |change: &Change| match change.judgement {
        ChangeJudgement::Worse => "bad",
        ChangeJudgement::Better => "good",
        _ => "",
    };
    html! { tr {
        th.word scope="row" { (figure.name) @if !unit.is_empty() { ", " (unit) } }
        @for (number, spread) in figure.spreads.iter().enumerate() {
            (value(spread))
            @if let Some(change) = number.checked_sub(1).and_then(|before| figure.changes.get(before)) {
                td class=(colour(change)) {
                    (format!("{:+.1} %", 100.0 * (change.ratio - 1.0))) br; (change.judgement)
                    @if let Some(touch) = change.ranges_touch.filter(|_| change.judgement != ChangeJudgement::Same) {
                        br; span.note { @if touch { "ranges touch" } @else { "ranges apart" } }
                    }
                }
            }
        }
    } }
}

fn distribution(sides: &[Side], measure: Measure, title: &str) -> Markup {
    let all = |side: &Side| {
        Histograms::sum(side.subjects.iter().filter_map(|one| one.histograms.of_all(measure)))
    };
    let times: Vec<_> = sides
        .iter()
        .enumerate()
        .filter_map(|(number, side)| {
            Some((format!("{} {}", side_label(number), side.name), all(side)?))
        })
        .take(LINES)
        .collect();
    let lines: Vec<_> = times.iter().map(|(name, times)| (name.clone(), times)).collect();
    let shown = match sides.len() {
        all if all > LINES => format!("The first {LINES} of {all} sides are shown."),
        _ => String::new(),
    };
    picture(&curves::percentiles(title, &lines, None), &[&shown])
}
