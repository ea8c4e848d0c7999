//! Rates that the search tries, from the verdicts on those before.

use super::loads::significant;

/// Ratio of the lowest INVALID rate to the highest VALID one at which the search ends.
const CLOSE: f64 = 1.05;

/// Maximum number of rates that the search tries.
const MAX_TRIALS: usize = 12;

/// Maximum number of halvings if no rate was VALID: each takes longer than the one before, and more
/// do not help nodes that miss the bound when idle.
const MAX_HALVINGS: usize = 4;

/// Factor by which the search raises a rate if all were VALID.
const RISE: f64 = 1.5;

/// Highest VALID rate, and the lowest rate above it that is not VALID.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bracket {
    pub(super) valid: Option<f64>,
    pub(super) invalid: Option<f64>,
}

impl Bracket {
    /// Returns the bracket of rates that were tried, each with its verdict.
    pub(super) fn of(tried: &[(f64, bool)]) -> Self {
        let rates = |valid| tried.iter().filter(move |one| one.1 == valid).map(|one| one.0);
        let valid = rates(true).reduce(f64::max);
        let above = |rate: &f64| valid.is_none_or(|valid| *rate > valid);
        Self { valid, invalid: rates(false).filter(above).reduce(f64::min) }
    }

    /// Returns the rate to try next after `trials` trials, or `None` if the bracket is narrow
    /// enough.
    pub(super) fn next(self, trials: usize) -> Option<f64> {
        if trials >= MAX_TRIALS {
            return None;
        }
        match (self.valid, self.invalid) {
            (Some(valid), Some(invalid)) if invalid <= CLOSE * valid => None,
            (Some(valid), Some(invalid)) => Some(significant((valid * invalid).sqrt())),
            (Some(valid), None) => Some(significant(valid * RISE)),
            (None, Some(invalid)) if trials < MAX_HALVINGS => Some(significant(invalid / 2.0)),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches among nodes that keep up to `peak`, from rates that were tried. Returns the result
    /// and the number of trials.
    fn search(rates: &[f64], peak: f64) -> (Bracket, usize) {
        let mut tried: Vec<_> = rates.iter().map(|rate| (*rate, *rate <= peak)).collect();
        for trials in 0.. {
            let bracket = Bracket::of(&tried);
            let Some(rate) = bracket.next(trials) else { return (bracket, trials) };
            assert!(!tried.iter().any(|(tried, _)| *tried == rate), "{rate} again");
            tried.push((rate, rate <= peak));
        }
        unreachable!()
    }

    #[test]
    fn the_search_ends_within_five_percent_wherever_the_peak_is() {
        for peak in [9.0, 101.0, 130.0, 399.0, 555.0, 801.0, 5000.0] {
            let (found, trials) = search(&[100.0, 200.0, 400.0, 800.0], peak);
            let (valid, invalid) = (found.valid.unwrap(), found.invalid.unwrap());
            assert!(valid <= peak && peak < invalid && invalid <= CLOSE * valid, "{found:?}");
            assert!(trials <= 10, "{trials}");
        }
    }

    #[test]
    fn a_search_without_an_end_is_given_up() {
        let (found, trials) = search(&[100.0], 0.0);
        assert_eq!((found.valid, trials), (None, MAX_HALVINGS));
        assert_eq!(search(&[100.0], f64::MAX).0.invalid, None);
        assert_eq!(Bracket::of(&[]).next(0), None);
        // A VALID rate above an INVALID one: noise decides neither.
        let noisy = Bracket::of(&[(100.0, false), (200.0, true), (210.0, false)]);
        assert_eq!(noisy, Bracket { valid: Some(200.0), invalid: Some(210.0) });
        assert_eq!(noisy.next(0), None);
    }
}
