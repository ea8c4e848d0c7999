//! Figures of all sides, and the meaning of their changes.

use serde::Serialize;

use super::{side::Side, subject::MeasuredFigure};

/// A figure: its values on all sides, and its changes.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Set if a higher value is better.
    pub(crate) more_is_better: bool,
    /// Values of each side, in the order of the sides.
    pub(crate) spreads: Vec<Spread>,
    /// Changes of all sides but the first, relative to the first.
    pub(crate) changes: Vec<Change>,
}

impl Figure {
    /// Returns true if any side has this judgement.
    pub(crate) fn has_judgement(&self, judgement: ChangeJudgement) -> bool {
        self.changes.iter().any(|change| change.judgement == judgement)
    }
}

/// Statistics of one side's values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// Number of values: one per run, or one per round of a network measurement.
    pub(crate) runs: usize,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) mean: f64,
}

/// Change of a figure from the baseline to another side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Change {
    /// Ratio to the baseline: of the medians, or of the means for an exact figure.
    pub(crate) ratio: f64,
    /// Noise: the larger ratio of range to median of the two sides. `None` if each side has one
    /// value.
    pub(crate) noise: Option<f64>,
    /// True if the ranges of the two sides touch, so that the change may be chance. `None` if the
    /// noise is unknown, and for an exact figure.
    pub(crate) ranges_touch: Option<bool>,
    pub(crate) judgement: ChangeJudgement,
}

/// Meaning of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum ChangeJudgement {
    Better,
    /// Within the tolerance.
    Same,
    /// Beyond the tolerance, but the ranges touch: it may be chance.
    Noise,
    /// Beyond the default tolerance, and the noise is unknown.
    Unknown,
    /// Worse than in the baseline, beyond the tolerance and not due to noise.
    Worse,
}

/// Default tolerance: the share by which a figure may be worse than in the baseline.
pub(crate) const TOLERANCE: f64 = 0.05;

/// Returns the figures that every subject has. If the noise is unknown, an explicit tolerance is
/// the only criterion.
pub(crate) fn figures(sides: &[Side], tolerance: Option<f64>) -> Vec<Figure> {
    let Some(first) = sides.first().and_then(|side| side.subjects.first()) else {
        return Vec::new();
    };
    let of = |measured: &MeasuredFigure| {
        let spreads = sides.iter().map(|side| {
            let values = side.subjects.iter().map(|subject| subject.values(&measured.name));
            let values: Option<Vec<_>> = values.collect();
            values.and_then(|values| Spread::from_values(values.concat()))
        });
        let spreads = spreads.collect::<Option<Vec<_>>>()?;
        let MeasuredFigure { more_is_better, exact, .. } = *measured;
        let changes = spreads[1..]
            .iter()
            .map(|side| Change::between(&spreads[0], side, (more_is_better, exact), tolerance));
        Some(Figure {
            name: measured.name.clone(),
            unit: measured.unit.clone(),
            more_is_better,
            changes: changes.collect(),
            spreads,
        })
    };
    first.figures.iter().filter_map(of).collect()
}

impl Spread {
    /// Computes the statistics. Returns `None` without values.
    pub(crate) fn from_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (runs, half) = (values.len(), values.len() / 2);
        let median = match runs % 2 {
            1 => values[half],
            _ => f64::midpoint(*values.get(half.checked_sub(1)?)?, values[half]),
        };
        let mean = values.iter().sum::<f64>() / runs as f64;
        Some(Self { runs, median, least: *values.first()?, most: *values.last()?, mean })
    }

    /// Returns the range divided by the median; `None` for a single value.
    fn noise(&self) -> Option<f64> {
        let width = self.most - self.least;
        (self.runs > 1).then(|| if width == 0.0 { 0.0 } else { width / self.median })
    }

    /// Returns minimum and maximum. A single value is assumed to vary as much as the other side,
    /// whose relative noise is `noise`.
    fn range(&self, noise: f64) -> (f64, f64) {
        match self.runs {
            1 => (self.median * (1.0 - noise / 2.0), self.median * (1.0 + noise / 2.0)),
            _ => (self.least, self.most),
        }
    }

    fn touches(&self, other: &Self, noise: f64) -> bool {
        let (own, other) = (self.range(noise), other.range(noise));
        own.0 <= other.1 && other.0 <= own.1
    }
}

impl Change {
    /// Compares the medians; of an exact figure the means, of which any loss counts, because it is
    /// not due to chance.
    fn between(
        base: &Spread,
        side: &Spread,
        (more_is_better, exact): (bool, bool),
        tolerance: Option<f64>,
    ) -> Self {
        let (ratio, noise, limit) = if exact {
            (ratio(base.mean, side.mean), Some(0.0), ROUNDING)
        } else {
            let noise = base.noise().into_iter().chain(side.noise()).reduce(f64::max);
            (ratio(base.median, side.median), noise, tolerance.unwrap_or(TOLERANCE))
        };
        let ranges_touch = noise.filter(|_| !exact).map(|noise| base.touches(side, noise));
        let worse = loss(ratio, more_is_better);
        let judgement = if worse.abs() <= limit {
            ChangeJudgement::Same
        } else if ranges_touch == Some(true) {
            ChangeJudgement::Noise
        } else if noise.is_none() && tolerance.is_none() {
            ChangeJudgement::Unknown
        } else if worse > 0.0 {
            ChangeJudgement::Worse
        } else {
            ChangeJudgement::Better
        };
        Self { ratio, noise, ranges_touch, judgement }
    }
}

/// Maximum difference, as a share, that rounding causes between sums of the same numbers.
const ROUNDING: f64 = 1e-9;

fn ratio(base: f64, side: f64) -> f64 {
    if base == side { 1.0 } else { side / base }
}

/// Returns by how much a ratio is worse, as a share of the baseline. Negative if it is better.
fn loss(ratio: f64, more_is_better: bool) -> f64 {
    if more_is_better { 1.0 - ratio } else { ratio - 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[f64]) -> Spread {
        Spread::from_values(values.to_vec()).unwrap()
    }

    #[test]
    fn a_side_has_its_median_and_range() {
        let even = spread(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((even.runs, even.median, even.least, even.most), (4, 2.5, 1.0, 4.0));
        assert_eq!(spread(&[7.0]).median, 7.0);
        assert_eq!(Spread::from_values(vec![]), None);
    }

    #[test]
    fn a_change_counts_beyond_the_tolerance_and_beyond_chance() {
        use ChangeJudgement::{Better, Noise, Same, Unknown, Worse};
        let change = |base: &[f64], side: &[f64], kind, tolerance| {
            Change::between(&spread(base), &spread(side), kind, tolerance)
        };
        let base = [100.0, 102.0, 98.0];
        for (base, side, more, less) in [
            (&base[..], &[101.0, 103.0, 99.0][..], Same, Same),
            (&base, &[90.0, 91.0, 89.0], Worse, Better),
            (&base, &[90.0, 99.0, 89.0], Noise, Noise),
            (&base, &[120.0, 119.0], Better, Worse),
            // A single value is assumed to vary as the other side does: by 10 of 105, so from 86 to
            // 94, and from 91 to 101.
            (&[100.0, 110.0], &[90.0], Worse, Better),
            (&[100.0, 110.0], &[96.0], Noise, Noise),
            (&[96.0], &[100.0, 110.0], Noise, Noise),
            // With one value on each side the noise is unknown.
            (&[100.0], &[96.0], Same, Same),
            (&[100.0], &[90.0], Unknown, Unknown),
            (&[0.0], &[0.0], Same, Same),
            (&[1.0], &[0.0], Unknown, Unknown),
            (&[0.0], &[1.0], Unknown, Unknown),
            // A median of 0 allows no ratio, but there is still a range.
            (&[0.0, 0.0, 5.0], &[3.0, 4.0], Noise, Noise),
            (&[0.0, 0.0], &[1.0, 2.0], Better, Worse),
        ] {
            let judged = |more| change(base, side, (more, false), None).judgement;
            assert_eq!((judged(true), judged(false)), (more, less), "{base:?} {side:?}");
        }
        // An explicit tolerance decides only where the noise is unknown.
        for (base, side, more, less) in [
            (&[100.0][..], &[90.0][..], Worse, Better),
            (&[1.0], &[0.0], Worse, Better),
            (&[0.0], &[1.0], Better, Worse),
            (&[100.0, 110.0], &[96.0], Noise, Noise),
        ] {
            let judged = |more| change(base, side, (more, false), Some(0.05)).judgement;
            assert_eq!((judged(true), judged(false)), (more, less), "{base:?} {side:?}");
        }
        let judged = |base: &[f64], side: &[f64]| change(base, side, (true, true), None).judgement;
        assert_eq!(judged(&[1.0; 3], &[1.0, 0.0, 1.0]), Worse);
        assert_eq!(judged(&[1.0, 0.0], &[1.0; 3]), Better);
        assert_eq!(judged(&[0.95; 2], &[0.9, 0.95]), Worse);
        assert_eq!(judged(&[0.1; 3], &[0.1; 7]), Same);
        let change = change(&base, &[90.0, 90.0], (true, false), None);
        assert_eq!((change.ratio, change.noise), (0.9, Some(0.04)));
        assert_eq!(change.ranges_touch, Some(false));
    }
}
