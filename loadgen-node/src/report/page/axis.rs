//! Axes of plots: ranges, ticks and their labels.

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Scale {
    /// Begins at 0.
    Linear,
    /// Has ticks at 1, 2 and 5 in each decade, or fewer.
    Log,
    /// Logarithmic, with ticks at powers of two.
    PowersOfTwo,
    /// Percentiles as their nines, so that their end is stretched: 0.99 is at 2.
    Nines,
}

/// An axis: its title, which includes the unit, its scale, and the format of its labels.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Axis<'a> {
    pub(in crate::report) title: &'a str,
    pub(in crate::report) scale: Scale,
    pub(in crate::report) label: fn(f64) -> String,
}

impl<'a> Axis<'a> {
    /// Returns an axis of plain numbers.
    pub(in crate::report) const fn new(title: &'a str, scale: Scale) -> Self {
        Self { title, scale, label: plain }
    }
}

/// Minimum share of an axis that data have to fill. If a bound needs more room, it is a marker at
/// the edge of the plot.
const FILLED: f64 = 0.6;

/// Range of an axis, and its place in the picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fitted {
    scale: Scale,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Coordinates of both ends in the picture.
    pub(super) pixels: (f64, f64),
}

impl Fitted {
    /// Fits an axis to values. A bound extends it unless the bound is far away. Returns `None` if
    /// the scale has no place for any of the values.
    pub(super) fn new(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        bound: Option<f64>,
    ) -> Option<Self> {
        let is_log = matches!(scale, Scale::Log | Scale::PowersOfTwo);
        let values = values.filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (low, high) = values
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let (from, to) = match scale {
            Scale::Linear if high <= 0.0 && low >= 0.0 => (0.0, 1.0),
            Scale::Linear => (low.min(0.0), high.max(0.0)),
            Scale::Nines => (0.0, high.ceil().max(1.0)),
            Scale::Log | Scale::PowersOfTwo => (low / 1.1, high * 1.1),
        };
        let fitted = Self { scale, from, to, pixels: (0.0, 1.0) };
        let mut wide = fitted;
        if let Some(bound) = bound.filter(|bound| !is_log || *bound > 0.0) {
            (wide.from, wide.to) = (from.min(bound / 1.05), to.max(bound * 1.05));
        }
        let filled = wide.at(to) - wide.at(from);
        let mut best = if filled < FILLED { fitted } else { wide };
        if scale == Scale::Linear && best.to == high {
            best.to *= 1.05;
        }
        Some(best)
    }

    /// Returns the coordinate of a value. A value outside the range is at the nearer end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear | Scale::Nines => value,
            Scale::Log | Scale::PowersOfTwo => value.max(f64::MIN_POSITIVE).ln(),
        };
        let (from, to) = (place(self.from), place(self.to));
        let share = (place(value) - from) / (to - from);
        self.pixels.0 + share.clamp(0.0, 1.0) * (self.pixels.1 - self.pixels.0)
    }

    pub(super) fn contains(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Returns at most `most` ticks.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let within = |ticks: Vec<f64>| -> Vec<f64> {
            ticks.into_iter().filter(|tick| self.contains(*tick)).collect()
        };
        let powers = |base: f64, digits: &[f64], each: i32| {
            let exponent = |value: f64| (value.ln() / base.ln()).floor() as i32;
            let all = (exponent(self.from)..=exponent(self.to)).filter(|n| n % each == 0);
            within(all.flat_map(|n| digits.iter().map(move |d| scaled(*d, base, n))).collect())
        };
        match self.scale {
            Scale::Linear => self.even(most),
            Scale::Nines => {
                let nines = [0.5f64.log10().abs()].into_iter().chain((1..9).map(f64::from));
                within(nines.collect())
            }
            Scale::PowersOfTwo => {
                let mut ticks = (1..64).map(|each| powers(2.0, &[1.0], each));
                ticks.find(|ticks| ticks.len() <= most).unwrap_or_default()
            }
            Scale::Log => {
                let fine = [powers(10.0, &[1.0, 2.0, 5.0], 1), powers(10.0, &[1.0, 3.0], 1)];
                let coarse = (1..64).map(|each| powers(10.0, &[1.0], each));
                let mut all = fine.into_iter().chain(coarse);
                let ticks = all.find(|ticks| ticks.len() <= most).unwrap_or_default();
                // Less than a decade has too few of these.
                if ticks.len() < 3 && self.to / self.from < 10.0 { self.even(most) } else { ticks }
            }
        }
    }

    /// Returns ticks at equal distances, which are multiples of 1, 2 or 5.
    fn even(&self, most: usize) -> Vec<f64> {
        let rough = (self.to - self.from) / most.max(1) as f64;
        let decade = rough.log10().floor() as i32;
        let steps = [(1.0, decade), (2.0, decade), (5.0, decade), (1.0, decade + 1)];
        let fits = |(digit, n): &(f64, i32)| scaled(*digit, 10.0, *n) >= rough * 0.999;
        let (digit, n) = steps.into_iter().find(fits).unwrap_or(steps[3]);
        let step = scaled(digit, 10.0, n);
        let first = (self.from / step).ceil() as i64;
        let ticks = (first..).map(|place| scaled(place as f64 * digit, 10.0, n));
        ticks.take_while(|tick| *tick <= self.to).take(most + 1).collect()
    }
}

/// Returns `digit` times a power of `base`: the number that is nearest to its decimal digits.
fn scaled(digit: f64, base: f64, power: i32) -> f64 {
    if power < 0 { digit / base.powi(-power) } else { digit * base.powi(power) }
}

/// Formats nines as a percentile: 2 is p99.
pub(in crate::report) fn percentile(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10f64.powf(-nines));
    let digits = (nines - 2.0).max(0.0).ceil() as usize;
    format!("p{percent:.digits$}")
}

/// Formats a number with as many digits as it needs.
pub(in crate::report) fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        v if v >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

fn trimmed(value: f64) -> String {
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_they_need() {
        for (value, text) in [
            (0.0, "0"),
            (0.0125, "0.0125"),
            (1.5, "1.5"),
            (250.0, "250"),
            (12_500.0, "12.5k"),
            (3e6, "3M"),
        ] {
            assert_eq!(plain(value), text);
        }
        for (nines, text) in [
            (std::f64::consts::LOG10_2, "p50"),
            (1.0, "p90"),
            (2.0, "p99"),
            (3.0, "p99.9"),
            (4.0, "p99.99"),
        ] {
            assert_eq!(percentile(nines), text);
        }
    }

    #[test]
    fn ticks_are_few_and_round() {
        for (scale, from, to, expected) in [
            (Scale::Linear, 0.0, 900.0, "0 200 400 600 800"),
            (Scale::Linear, 0.0, 0.7, "0 0.2 0.4 0.6"),
            (Scale::Linear, 0.0, 0.0, "0 0.2 0.4 0.6 0.8 1"),
            (Scale::Log, 0.02, 0.4, "0.02 0.05 0.1 0.2"),
            (Scale::Log, 8.3, 11.0, "8 9 10 11 12"),
            (Scale::Log, 0.001, 5000.0, "0.01 1 100"),
            (Scale::PowersOfTwo, 4096.0, 1e6, "4096 16.4k 65.5k 262k 1.05M"),
            (Scale::Nines, 0.0, 3.2, "0.301 1 2 3 4"),
        ] {
            let axis = Fitted::new(scale, [from, to].into_iter(), None).unwrap();
            let ticks = axis.ticks(5);
            let labels: Vec<_> = ticks.into_iter().map(plain).collect();
            assert_eq!(labels.join(" "), expected, "{scale:?} {from} {to}");
        }
    }

    #[test]
    fn a_far_bound_does_not_squeeze_the_data() {
        for (scale, bound, within) in [
            (Scale::Linear, 150.0, true),
            (Scale::Linear, 200.0, false),
            (Scale::Log, 200.0, true),
            (Scale::Log, 20_000.0, false),
            (Scale::Log, 0.0, false),
        ] {
            let axis = Fitted::new(scale, [10.0, 100.0].into_iter(), Some(bound)).unwrap();
            assert_eq!(axis.contains(bound), within, "{scale:?} {bound} {axis:?}");
        }
        assert!(Fitted::new(Scale::Log, [0.0].into_iter(), None).is_none());
    }
}
