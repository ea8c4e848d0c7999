//! Exact distributions of lists of values.

use netdiv_rules::record::Distribution;

/// Returns the distribution of values, exactly; none without a value.
pub(crate) fn distribution_of(mut values: Vec<u64>) -> Option<Distribution> {
    values.sort_unstable();
    let max = *values.last()?;
    let at = |quantile: f64| {
        let rank = (quantile * values.len() as f64).ceil() as usize;
        values[rank.clamp(1, values.len()) - 1]
    };
    Some(Distribution {
        mean: values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_9: at(0.999),
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values() {
        assert!(distribution_of(Vec::new()).is_none());
        let of = distribution_of((1..=1000).rev().collect()).unwrap();
        let Distribution { mean, p50, p90, p99, p99_9, max } = of;
        assert_eq!((mean, p50, p90, p99, p99_9, max), (500.5, 500, 900, 990, 999, 1000));
        let one = distribution_of(vec![7]).unwrap();
        assert_eq!((one.mean, one.p50, one.p99_9, one.max), (7.0, 7, 7, 7));
    }
}
