//! Tables of `loadgen-node compare`.

use super::table;
use crate::{
    comparison::{Change, ChangeJudgement, Comparison, Difference, Figure, Spread},
    units::count,
};

pub(crate) fn render(comparison: &Comparison) -> String {
    let Comparison { sides, differences, figures, .. } = comparison;
    let mut parts: Vec<_> = sides
        .iter()
        .enumerate()
        .map(|(number, side)| {
            let measurements = count(side.subjects.len(), "measurement");
            format!("{}  {}: {measurements}", side_label(number), side.name)
        })
        .collect();
    parts.push(String::new());
    parts.push(match &differences[..] {
        [] => "no differences in settings, programs or machines".into(),
        _ => table::table(["differs", "", "values"], 3, differences.iter().flat_map(rows)),
    });
    if !comparison.remarks.is_empty() {
        parts.push(format!("\ncounted differently\n  {}", comparison.remarks.join("\n  ")));
    }
    parts.push(String::new());
    let titles = ["figure", "", "median", "minimum", "maximum", "change", "ranges touch", ""];
    parts.push(table::table(titles, 2, figures.iter().flat_map(figure_rows)));
    parts.push(conclusion(comparison));
    parts.join("\n")
}

pub(super) fn conclusion(comparison: &Comparison) -> String {
    let tolerance = (comparison.tolerance * 1e8).round() / 1e6;
    let worse: Vec<_> = comparison
        .figures
        .iter()
        .filter(|figure| figure.has_judgement(ChangeJudgement::Worse))
        .collect();
    let names: Vec<_> = worse.iter().map(|figure| figure.name.as_str()).collect();
    let is_alone =
        |change: &Change| change.judgement == ChangeJudgement::Worse && change.noise.is_none();
    let mut lines = Vec::new();
    if !worse.is_empty() {
        lines.push(format!("WORSE: {}", names.join("; ")));
    }
    if worse.iter().any(|figure| figure.changes.iter().any(is_alone)) {
        lines.push("With one measurement on each side the noise is unknown, and --tolerance alone decided.".into());
    }
    if comparison.unknown > 0 {
        lines.push(format!(
            "NOISE UNKNOWN: {} changed by more than {tolerance} %, with one measurement on each side. Repeat the measurements to see \
             the noise, or set --tolerance",
            count(comparison.unknown, "figure")
        ));
    }
    if lines.is_empty() {
        lines.push(format!(
            "no figure is worse by more than {tolerance} % with ranges that do not touch"
        ));
    }
    lines.join("\n")
}

/// Returns the label of the side with this index in tables: A for the baseline, then B and so on.
pub(super) fn side_label(number: usize) -> String {
    match u8::try_from(number).ok().filter(|number| *number < 26) {
        Some(number) => char::from(b'A' + number).into(),
        None => format!("#{}", number + 1),
    }
}

fn rows(difference: &Difference) -> Vec<[String; 3]> {
    let name = |first| if first { difference.what.clone() } else { String::new() };
    let row = |(number, values): (usize, &Vec<String>)| {
        [name(number == 0), side_label(number), values.join(" | ")]
    };
    difference.values.iter().enumerate().map(row).collect()
}

/// Returns a row for each side: the name of the figure in the first one, the side, median, minimum,
/// maximum, and the cells of the change.
fn figure_rows(figure: &Figure) -> Vec<[String; 8]> {
    let (scale, unit) = scale(&figure.unit);
    let changes = [None].into_iter().chain(figure.changes.iter().map(Some));
    let sides = figure.spreads.iter().zip(changes).enumerate();
    let row = |(number, (spread, change)): (usize, (&Spread, Option<&Change>))| {
        let name = match number {
            0 if unit.is_empty() => figure.name.clone(),
            0 => format!("{}, {unit}", figure.name),
            _ => String::new(),
        };
        let [median, least, most] = values(spread, scale);
        let [by, touch, judgement] = change.map(change_cells).unwrap_or_default();
        [name, side_label(number), median, least, most, by, touch, judgement]
    };
    sides.map(row).collect()
}

/// Returns median, minimum and maximum of a side. A single value has no range.
fn values(spread: &Spread, scale: f64) -> [String; 3] {
    let shown = |value: f64| format!("{:.3}", value / scale);
    let range = match spread.runs {
        1 => ["–".to_owned(), "–".to_owned()],
        _ => [shown(spread.least), shown(spread.most)],
    };
    let [least, most] = range;
    [shown(spread.median), least, most]
}

/// Returns a change, whether the ranges touch, and the judgement, as text.
fn change_cells(change: &Change) -> [String; 3] {
    let touch = match (change.ranges_touch, change.noise) {
        (Some(true), _) => "yes",
        (Some(false), _) => "no",
        (None, Some(_)) => "–",
        (None, None) => "?",
    };
    let by = format!("{:+.1} %", 100.0 * (change.ratio - 1.0));
    [by, touch.into(), change.judgement.to_string()]
}

/// Returns the divisor of a unit's values, and the unit in which they are shown.
pub(super) fn scale(unit: &str) -> (f64, &str) {
    match unit {
        "ns" => (1e6, "ms"),
        unit => (1.0, unit),
    }
}
