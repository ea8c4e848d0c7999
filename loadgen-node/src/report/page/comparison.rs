//! Page of a comparison.

use maud::{Markup, html};

use super::{
    curves,
    elements::{document, multiples, picture, table},
    plot::LINES,
};
use crate::{
    comparison::{ChangeJudgement, Comparison, Figure, Side},
    recording::histograms::{Histograms, Measure},
    report::comparison::{conclusion, figure_rows, side_label},
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
                td.word { (side.folders.join(", ")) }
            } } } }
            h2 { "Differences" }
            @if of.differences.is_empty() {
                p { "There are no differences in settings, programs or machines." }
            } @else {
                @let sides: Vec<_> = (0..of.sides.len()).map(side_label).collect();
                @let titles: Vec<_> = [""].into_iter().chain(sides.iter().map(|side| &side[..])).collect();
                (table("Settings, programs and machines", &titles, &[], &html! {
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
                "Median, minimum and maximum of a side's runs; the change is relative to the first side. If the ranges of the two sides \
                touch, it may be chance",
                &["figure", "side"],
                &["median", "minimum", "maximum", "change", "ranges touch", ""],
                &html! { @for figure in &of.figures { (rows(figure)) } },
            ))
            h2 { "Distributions" }
            (multiples(&html! {
                (distribution(&of.sides, Measure::Latency, "Latency of whole responses, all runs of a side together"))
                (distribution(&of.sides, Measure::FirstToken, "Time to the first token (TTFT)"))
                (distribution(&of.sides, Measure::FurtherToken, "Time for each further token (TPOT)"))
            }))
        },
    )
}

fn rows(figure: &Figure) -> Markup {
    let worse = ChangeJudgement::Worse.to_string();
    html! {
        @for [name, side, figures @ .., judgement] in figure_rows(figure) { tr {
            th.word scope="row" { (name) }
            td.word { (side) }
            @for figure in figures { td { (figure) } }
            td.word.bad[judgement == worse] { (judgement) }
        } }
    }
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
