//! Usual rates of comparable parts of a network, and rates that are clearly below them.

/// Share of the usual rate below which a part is reported as slow.
pub(crate) const SLOW: f64 = 0.8;

/// Usual rates of comparable parts, in bytes per second: in their median round, and in their
/// slowest round.
pub(crate) struct UsualRates {
    pub(crate) median: f64,
    pub(crate) minimum: f64,
}

impl UsualRates {
    /// Returns true if a part is slow: its `median` is clearly below the usual median, and its best
    /// round, `maximum`, is below the usual slowest round, so that noise does not explain the
    /// difference.
    pub(crate) fn is_beyond(&self, median: f64, maximum: f64) -> bool {
        median < SLOW * self.median && maximum < self.minimum
    }
}

/// Returns the rate that `quarters` quarters of all rates do not exceed; 0 without rates.
pub(crate) fn quantile(rates: impl Iterator<Item = f64>, quarters: usize) -> f64 {
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() * quarters / 4).copied().unwrap_or(0.0)
}
