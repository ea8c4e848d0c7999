//! Medians and spreads over the rounds.

/// Returns the median.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Formats the median, minimum and maximum.
pub fn spread(values: impl IntoIterator<Item = f64> + Clone, digits: usize) -> String {
    let least = values.clone().into_iter().fold(f64::MAX, f64::min);
    let most = values.clone().into_iter().fold(f64::MIN, f64::max);
    format!("{:.digits$} ({least:.digits$} – {most:.digits$})", median(values))
}
