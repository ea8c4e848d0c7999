//! Numbers for people.

/// A number with a decimal prefix, in three digits or so.
pub(super) fn amount(number: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P"];
    let (mut number, mut place) = (number, 0);
    while number >= 999.5 && place + 1 < prefixes.len() {
        (number, place) = (number / 1000.0, place + 1);
    }
    let digits = if number >= 99.5 || place == 0 { 0 } else { 1 };
    format!("{number:.digits$} {}{unit}", prefixes[place])
}
