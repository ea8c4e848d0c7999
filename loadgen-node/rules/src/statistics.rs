//! Statistics of a run: early stopping (rules, Appendix A) and the suggested number of queries
//! (section 3). The functions return the figures that LoadGen computes.
//!
//! A query is *overlatency* if its latency exceeds the latency bound. If each of n queries is
//! overlatency with probability q, the number of overlatency queries has a binomial distribution.
//! Early stopping determines the number of queries that proves a sufficiently small q.

use std::f64::consts::PI;

/// Confidence of early stopping in LoadGen, whose tolerance is 0.
const CONFIDENCE: f64 = 0.99;

/// The z for which a normal distribution is between -z and z with the probability [`CONFIDENCE`].
const NORMAL_QUANTILE: f64 = 2.575_829_303_548_900_4;

/// Maximum number of overlatency queries in a computation, whose duration grows with its square root;
/// LoadGen issues at most as many queries.
const MAX_OVERLATENCY: u64 = 1 << 40;

/// Returns the minimum number of queries that makes a run with `overlatency` overlatency queries
/// valid: h + t of Appendix A.3.
///
/// `percentile` is a share: 0.99, not 99. Returns `u64::MAX` if no number suffices, because
/// `percentile` is 1, and if a damaged log states more than 2^40 overlatency queries.
pub fn min_queries(overlatency: u64, percentile: f64) -> u64 {
    if overlatency > MAX_OVERLATENCY {
        return u64::MAX;
    }
    let passes = |h: u64| binomial_cdf(overlatency, overlatency + h, percentile) < 1.0 - CONFIDENCE;
    let mut passing = 1;
    while !passes(passing) {
        if passing > 1 << 60 {
            return u64::MAX;
        }
        passing *= 2;
    }
    let h = first(passing / 2 + 1, passing, passes);
    h + overlatency
}

/// Returns the maximum number of overlatency queries in a valid run of `queries` queries; `None` if
/// so short a run is invalid even without overlatency queries.
pub fn max_overlatency(queries: u64, percentile: f64) -> Option<u64> {
    let fails = |t: u64| t >= queries || binomial_cdf(t, queries, percentile) >= 1.0 - CONFIDENCE;
    first(0, queries, fails).checked_sub(1)
}

/// Returns the number of queries that section 3 suggests: the number that measures `percentile` with
/// an error of at most `margin`, rounded up to a multiple of 8,192. For the percentile 0.9 and the
/// margin 0.005 these are 23,886 and 24,576.
pub fn suggested_queries(percentile: f64, margin: f64) -> u64 {
    let queries = NORMAL_QUANTILE.powi(2) * percentile * (1.0 - percentile) / margin.powi(2);
    (queries.round() as u64).next_multiple_of(8192)
}

/// Finds the least number from `low` to `high` for which `holds` is true, by binary search. `holds`
/// must be true for all numbers above that number. Returns `high` if `holds` is false for all
/// numbers below `high`.
fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// Returns the probability that at most `t` of `n` queries are overlatency, if each query meets the
/// latency bound with probability `within`.
///
/// Sums up the smaller tail of the distribution, beginning with its largest term, so that nothing
/// cancels. For 10^7 queries the tail has some thousands of terms.
fn binomial_cdf(t: u64, n: u64, within: f64) -> f64 {
    let over = 1.0 - within;
    if t >= n || over <= 0.0 || over.is_nan() {
        return 1.0;
    }
    if within <= 0.0 {
        return 0.0;
    }
    let tail = |from: u64, ratio: &dyn Fn(f64) -> f64, step: f64, steps: u64| {
        let (mut term, mut sum, mut k) = (1.0, 1.0, from as f64);
        for _ in 0..steps {
            term *= ratio(k);
            sum += term;
            k += step;
            if term < sum * f64::EPSILON / 8.0 {
                break;
            }
        }
        binomial_pmf(from, n, over) * sum
    };
    let total = n as f64;
    if t as f64 <= total * over {
        tail(t, &|k| k * within / ((total - k + 1.0) * over), -1.0, t)
    } else {
        1.0 - tail(t + 1, &|k| (total - k) * over / ((k + 1.0) * within), 1.0, n - t - 1)
    }
}

/// Returns the probability that exactly `k` of `n` events happen, each with probability `p` (C.
/// Loader, "Fast and accurate computation of binomial probabilities", 2000). Computes no large
/// logarithms, so that the result is precise for millions of queries.
fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    let (x, y, total) = (k as f64, (n - k) as f64, n as f64);
    if k == 0 {
        return (total * (-p).ln_1p()).exp();
    }
    if k == n {
        return (total * p.ln()).exp();
    }
    let exponent = stirling_error(total)
        - stirling_error(x)
        - stirling_error(y)
        - deviance(x, total * p)
        - deviance(y, total * (1.0 - p));
    exponent.exp() * (total / (2.0 * PI * x * y)).sqrt()
}

/// Returns ln n! minus Stirling's formula for ln n!.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (1..=n as u64).map(|k| k as f64).product();
        return factorial.ln() - (0.5 * (2.0 * PI * n).ln() + n * n.ln() - n);
    }
    let square = n * n;
    let series = 1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square;
    (1.0 / 12.0 - (1.0 / 360.0 - series / square) / square) / n
}

/// Returns x ln(x / mean) + mean - x.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let v = difference / (x + mean);
    let (mut sum, mut term) = (difference * v, 2.0 * x * v);
    for odd in (3..1000).step_by(2) {
        term *= v * v;
        let next = sum + term / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Values of h that LoadGen v5.0 computes (`MinPassingQueriesFinder`, d = 0, c = 0.99) for the
    /// percentiles 90, 95, 97, 99 and 99.9, by the number of overlatency queries.
    const LOADGEN: [(u64, [u64; 5]); 17] = [
        (0, [44, 90, 152, 459, 4_603]),
        (1, [63, 129, 218, 661, 6_635]),
        (2, [79, 163, 275, 836, 8_401]),
        (3, [94, 195, 329, 998, 10_039]),
        (5, [122, 254, 428, 1_302, 13_100]),
        (10, [187, 388, 657, 2_000, 20_130]),
        (20, [305, 636, 1_077, 3_284, 33_077]),
        (50, [631, 1_322, 2_243, 6_848, 69_008]),
        (100, [1_146, 2_404, 4_082, 12_471, 125_726]),
        (200, [2_137, 4_491, 7_631, 23_327, 235_227]),
        (500, [5_018, 10_564, 17_958, 54_927, 554_010]),
        (1_000, [9_722, 20_483, 34_831, 106_569, 1_075_032]),
        (2_623, [24_761, 52_209, 88_804, 271_780, 2_741_952]),
        (5_000, [46_585, 98_256, 167_149, 511_615, 5_161_900]),
        (10_000, [92_231, 194_584, 331_053, 1_013_394, 10_224_999]),
        (30_000, [273_847, 577_903, 983_310, 3_010_338, 30_375_210]),
        (100_000, [907_003, 1_914_389, 3_257_566, 9_973_443, 100_637_761]),
    ];

    const PERCENTILES: [f64; 5] = [0.9, 0.95, 0.97, 0.99, 0.999];

    #[test]
    fn the_least_number_of_queries_is_loadgens() {
        for (overlatency, hs) in LOADGEN {
            for (percentile, h) in PERCENTILES.into_iter().zip(hs) {
                let queries = min_queries(overlatency, percentile);
                assert_eq!(queries, h + overlatency, "{percentile} {overlatency}");
                let most = |queries| max_overlatency(queries, percentile);
                assert_eq!(most(queries), Some(overlatency), "{percentile} {queries}");
                assert_eq!(most(queries - 1), overlatency.checked_sub(1), "{percentile} {queries}");
            }
        }
    }

    #[test]
    fn ten_million_queries_are_no_problem() {
        for percentile in PERCENTILES {
            let most = max_overlatency(10_000_000, percentile).unwrap();
            let least = min_queries(most, percentile);
            assert!(least <= 10_000_000, "{percentile}");
            assert!(min_queries(most + 1, percentile) > 10_000_000);
            // The permitted share of overlatency queries is close to 1 minus the percentile.
            let share = most as f64 / 1e7 / (1.0 - percentile);
            assert!((0.97..1.0).contains(&share), "{percentile}: {share}");
        }
    }

    #[test]
    fn what_makes_no_sense_needs_endless_queries() {
        assert_eq!(min_queries(3, 1.0), u64::MAX);
        assert_eq!(min_queries(3, f64::NAN), u64::MAX);
        assert_eq!(min_queries(1 << 60, 0.99), u64::MAX);
        assert_eq!(max_overlatency(0, 0.99), None);
        assert_eq!(max_overlatency(458, 0.99), None);
        assert_eq!(max_overlatency(459, 0.99), Some(0));
    }

    #[test]
    fn both_tails_make_one() {
        for (t, n, within) in [(3, 40, 0.9), (7, 40, 0.9), (40, 50, 0.3), (900, 100_000, 0.99)] {
            let below = binomial_cdf(t, n, within);
            let all: f64 = (0..=t).map(|k| binomial_pmf(k, n, 1.0 - within)).sum();
            assert!((below - all).abs() < 1e-12 * all.max(1e-3), "{t} {n} {within}: {below} {all}");
        }
    }

    #[test]
    fn numbers_of_queries_are_those_of_section_3() {
        for (percentile, margin, queries) in [
            (0.90, 0.0050, 24_576),
            (0.95, 0.0025, 57_344),
            (0.97, 0.0015, 90_112),
            (0.99, 0.0005, 270_336),
        ] {
            assert_eq!(suggested_queries(percentile, margin), queries);
        }
    }
}
