//! The tables of `loadgen-node compare`.

use super::table;
use crate::comparison::{Change, Comparison, Difference, Figure, Spread};

/// What was found, for the terminal.
pub(crate) fn render(comparison: &Comparison) -> String {
    let Comparison { sides, differences, figures, .. } = comparison;
    let mut parts: Vec<_> = sides
        .iter()
        .enumerate()
        .map(|(number, side)| {
            format!("{}  {}: {} runs", letter(number), side.name, side.subjects.len())
        })
        .collect();
    parts.push(String::new());
    parts.push(match &differences[..] {
        [] => "nothing differs in settings, programs and machines".into(),
        _ => table::table(["differs", "", "values"], 3, differences.iter().flat_map(rows)),
    });
    parts.push(String::new());
    let titles = ["figure", "", "median", "least", "most", "change", "noise", ""];
    parts.push(table::table(titles, 2, figures.iter().flat_map(figure)));
    parts.push(conclusion(comparison));
    parts.join("\n")
}

/// What it comes to.
pub(super) fn conclusion(comparison: &Comparison) -> String {
    let tolerance = (comparison.tolerance * 1e8).round() / 1e6;
    let single =
        comparison.figures.iter().any(|figure| figure.spreads.iter().any(|spread| spread.runs < 2));
    let noise = match single {
        true => "; with one run on a side nobody knows how much is chance: repeat the runs",
        false => "",
    };
    let worse = comparison.figures.iter().filter(|figure| figure.is_worse());
    let worse: Vec<_> = worse.map(|figure| figure.name.as_str()).collect();
    match worse[..] {
        [] => format!("nothing is worse by more than {tolerance} % and chance{noise}"),
        _ => format!("WORSE: {}{noise}", worse.join("; ")),
    }
}

/// What a side is called in tables.
pub(super) fn letter(number: usize) -> String {
    match u8::try_from(number).ok().filter(|number| *number < 26) {
        Some(number) => char::from(b'A' + number).into(),
        None => format!("#{}", number + 1),
    }
}

fn rows(difference: &Difference) -> Vec<[String; 3]> {
    let name = |first| if first { difference.what.clone() } else { String::new() };
    let row = |(number, values): (usize, &Vec<String>)| {
        [name(number == 0), letter(number), values.join(" | ")]
    };
    difference.values.iter().enumerate().map(row).collect()
}

fn figure(figure: &Figure) -> Vec<[String; 8]> {
    let (scale, unit) = scale(&figure.unit);
    let changes = [None].into_iter().chain(figure.changes.iter().map(Some));
    let sides = figure.spreads.iter().zip(changes).enumerate();
    let row = |(number, (spread, change)): (usize, (&Spread, Option<&Change>))| {
        let name = match number {
            0 if unit.is_empty() => figure.name.clone(),
            0 => format!("{}, {unit}", figure.name),
            _ => String::new(),
        };
        let value = |value: f64| format!("{:.3}", value / scale);
        let [by, noise, judgement] = change.map(words).unwrap_or_default();
        [
            name,
            letter(number),
            value(spread.median),
            value(spread.least),
            value(spread.most),
            by,
            noise,
            judgement,
        ]
    };
    sides.map(row).collect()
}

/// A change, its noise and its judgement in words.
pub(super) fn words(change: &Change) -> [String; 3] {
    [
        format!("{:+.1} %", 100.0 * (change.ratio - 1.0)),
        change.noise.map_or_else(|| "?".into(), |noise| format!("{:.1} %", 100.0 * noise)),
        change.judgement.to_string(),
    ]
}

/// What times are shown in.
pub(super) fn scale(unit: &str) -> (f64, &str) {
    match unit {
        "ns" => (1e6, "ms"),
        unit => (1.0, unit),
    }
}
