//! Figures of all sides, and what their changes mean.

use serde::Serialize;

use super::Side;
use crate::result::{RunResult, Verdict};
use netdiv_rules::{Mode, Scenario};

/// One figure.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Whether more is better.
    pub(crate) more_is_better: bool,
    /// Side by side.
    pub(crate) spreads: Vec<Spread>,
    /// Of each side but the first, from the first.
    pub(crate) changes: Vec<Change>,
}

/// The values of a side's runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) runs: usize,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// A change from the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Change {
    /// The median to the baseline's.
    pub(crate) ratio: f64,
    /// The wider range of both sides to its median: what chance alone did. `None` with one run on either side.
    pub(crate) noise: Option<f64>,
    pub(crate) judgement: Judgement,
}

/// What a change means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Judgement {
    Better,
    /// Within the tolerance.
    Same,
    /// Beyond the tolerance, and the ranges touch: it may be chance.
    Noise,
    /// Beyond the tolerance.
    Worse,
}

/// The figures that every run has.
pub(crate) fn figures(sides: &[Side], tolerance: f64) -> Vec<Figure> {
    let Some(first) = sides.first().and_then(|side| side.runs.first()) else { return Vec::new() };
    let of = |kind: &Kind| {
        let spreads = sides.iter().map(|side| {
            let values: Option<Vec<_>> =
                side.runs.iter().map(|run| (kind.value)(&run.result, &kind.key)).collect();
            values.and_then(Spread::of)
        });
        let spreads = spreads.collect::<Option<Vec<_>>>()?;
        let tolerance = if kind.exact { 0.0 } else { tolerance };
        let changes = spreads[1..].iter();
        let changes =
            changes.map(|side| Change::between(&spreads[0], side, kind.more_is_better, tolerance));
        Some(Figure {
            name: kind.name.clone(),
            unit: kind.unit.clone(),
            more_is_better: kind.more_is_better,
            changes: changes.collect(),
            spreads,
        })
    };
    kinds(&first.result).iter().filter_map(of).collect()
}

/// What can be read of each run.
struct Kind {
    name: String,
    unit: String,
    key: String,
    more_is_better: bool,
    /// Whether any loss counts, as it does not come from chance.
    exact: bool,
    value: fn(&RunResult, &str) -> Option<f64>,
}

fn kinds(of: &RunResult) -> Vec<Kind> {
    let kind = |name: &str, unit: &str, more_is_better, value| Kind {
        name: name.into(),
        unit: unit.into(),
        key: String::new(),
        more_is_better,
        exact: false,
        value,
    };
    let mut kinds = vec![Kind {
        exact: true,
        ..kind("share of runs that are valid or complete", "", true, |result, _| {
            Some(f64::from(u8::from(matches!(result.verdict, Verdict::Valid | Verdict::Complete))))
        })
    }];
    if let Some(metric) = &of.metric {
        let value = |result: &RunResult, _: &str| result.metric.as_ref().map(|metric| metric.value);
        kinds.push(kind(&metric.name, &metric.unit, metric.unit != "ns", value));
    }
    if let Some(metric) = &of.token_metric {
        let value =
            |result: &RunResult, _: &str| result.token_metric.as_ref().map(|metric| metric.value);
        kinds.push(kind(&metric.name, &metric.unit, true, value));
    }
    if let Some(accuracy) = &of.accuracy {
        let value = |result: &RunResult, _: &str| result.accuracy.as_ref().map(|a| a.metric.value);
        kinds.push(Kind { exact: true, ..kind("accuracy", &accuracy.metric.unit, true, value) });
    }
    // In Offline all samples are there at once: how long one waits for its turn says what the rate says.
    if of.mode != Mode::Accuracy && of.scenario != Scenario::Offline {
        for (prefix, what) in
            [("", "latency"), ("first_token_", "TTFT"), ("further_token_", "TPOT")]
        {
            for (percentile, shown) in
                [("50.00", "p50"), ("90.00", "p90"), ("99.00", "p99"), ("99.90", "p99.9")]
            {
                let key = format!("{prefix}{percentile}");
                let value =
                    |result: &RunResult, key: &str| result.loadgen_latency_ns.get(key).copied();
                kinds.push(Kind { key, ..kind(&format!("{what} {shown}"), "ns", false, value) });
            }
        }
    }
    if of.mode != Mode::Accuracy {
        let value = |result: &RunResult, _: &str| {
            let samples = result.samples.completed;
            (samples > 0).then(|| result.process.cpu_seconds * 1e9 / samples as f64)
        };
        kinds.push(kind("processor time of the LoadGen node, a sample", "ns", false, value));
    }
    kinds
}

impl Spread {
    /// Of at least one value.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (runs, half) = (values.len(), values.len() / 2);
        let median = match runs % 2 {
            1 => values[half],
            _ => f64::midpoint(*values.get(half.checked_sub(1)?)?, values[half]),
        };
        Some(Self { runs, median, least: *values.first()?, most: *values.last()? })
    }

    fn touches(&self, other: &Self) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

impl Change {
    fn between(base: &Spread, side: &Spread, more_is_better: bool, tolerance: f64) -> Self {
        let ratio = if base.median == side.median { 1.0 } else { side.median / base.median };
        let range = |spread: &Spread| (spread.most - spread.least) / spread.median;
        let noise = (base.runs > 1 && side.runs > 1)
            .then(|| range(base).max(range(side)))
            .filter(|noise| noise.is_finite());
        // What is worse is so many times as bad.
        let worse = if more_is_better { 1.0 / ratio } else { ratio } - 1.0;
        let judgement = if worse.abs() <= tolerance {
            Judgement::Same
        } else if noise.is_some() && base.touches(side) {
            Judgement::Noise
        } else if worse > 0.0 {
            Judgement::Worse
        } else {
            Judgement::Better
        };
        Self { ratio, noise, judgement }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[f64]) -> Spread {
        Spread::of(values.to_vec()).unwrap()
    }

    #[test]
    fn a_side_has_its_median_and_range() {
        let even = spread(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((even.runs, even.median, even.least, even.most), (4, 2.5, 1.0, 4.0));
        assert_eq!(spread(&[7.0]).median, 7.0);
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn a_change_counts_beyond_the_tolerance_and_beyond_chance() {
        use Judgement::{Better, Noise, Same, Worse};
        let base = [100.0, 102.0, 98.0];
        for (base, side, more, less) in [
            (&base[..], &[101.0, 103.0, 99.0][..], Same, Same),
            (&base, &[90.0, 91.0, 89.0], Worse, Better),
            (&base, &[90.0, 99.0, 89.0], Noise, Noise),
            (&base, &[120.0, 119.0], Better, Worse),
            // One run has no range.
            (&[100.0], &[90.0], Worse, Better),
            (&[100.0, 110.0], &[90.0], Worse, Better),
            (&[0.0], &[0.0], Same, Same),
            (&[1.0], &[0.0], Worse, Better),
            (&[0.0], &[1.0], Better, Worse),
        ] {
            let judged = |more| Change::between(&spread(base), &spread(side), more, 0.05).judgement;
            assert_eq!((judged(true), judged(false)), (more, less), "{base:?} {side:?}");
        }
        let change = Change::between(&spread(&base), &spread(&[90.0, 90.0]), true, 0.05);
        assert_eq!((change.ratio, change.noise), (0.9, Some(0.04)));
    }
}
