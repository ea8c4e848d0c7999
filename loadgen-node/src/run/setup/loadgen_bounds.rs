//! Values that LoadGen survives, for each field of its `TestSettings`. LoadGen checks next to
//! nothing: with other values it prepares queries forever, reads beyond its lists, or converts
//! numbers that do not fit.
//!
//! The check applies to the final settings of a test, whatever their source: LoadGen's defaults and
//! `mlperf.conf`, `user.conf`, `--setting` and `audit.config`.

use loadgen_sys::TestSettings;
use netdiv_rules::plan::RATES;

/// Maximum duration, in ms and ns: a year. LoadGen adds durations as 64-bit nanoseconds.
const YEAR_MS: i64 = 366 * 24 * 3600 * 1000;
const YEAR_NS: i64 = YEAR_MS * 1_000_000;

/// Bounds of rates, in queries per second, and of expected latencies, in ns. Both set the time
/// between two queries in LoadGen's schedule.
const RATE: Bound = Bound::Real(*RATES.start(), *RATES.end());
const LATENCY_NS: Bound = Bound::Real(10.0, 1e15);

/// Percentiles as shares. LoadGen takes the sample at this share of its list, and the logarithm of
/// the share.
const PERCENTILE: Bound = Bound::Real(0.0001, 0.9999);

/// Counts. `preparation.rs` checks the memory that they need; these bounds make their products fit.
const COUNT: Bound = Bound::Whole(1, 1 << 40);
const COUNT_OR_NONE: Bound = Bound::Whole(0, 1 << 40);

/// Maximum number of issue threads: more than any machine has cores for.
const MOST_ISSUE_THREADS: i64 = 256;

/// Allowed values of a field.
#[derive(Debug, Clone, Copy)]
enum Bound {
    /// All values of the field's type.
    Any,
    /// Integers from the first to the second, both included.
    Whole(i64, i64),
    /// Real numbers from the first to the second, both included.
    Real(f64, f64),
}

/// Fields of LoadGen's TestSettings, each with its allowed values.
const BOUNDS: [(&str, Bound); 40] = [
    ("single_stream_expected_latency_ns", LATENCY_NS),
    ("single_stream_target_latency_percentile", PERCENTILE),
    ("multi_stream_expected_latency_ns", LATENCY_NS),
    ("multi_stream_target_latency_percentile", PERCENTILE),
    ("multi_stream_samples_per_query", Bound::Whole(1, 1 << 24)),
    ("server_target_qps", RATE),
    // 0 is allowed, because benchmarks with token latencies have this bound.
    ("server_target_latency_ns", Bound::Whole(0, YEAR_NS)),
    ("server_target_latency_percentile", PERCENTILE),
    ("server_coalesce_queries", Bound::Any),
    // Below 0 the search does not end, because LoadGen adds 256 to the value.
    ("server_find_peak_qps_decimals_of_precision", Bound::Whole(0, 6)),
    ("server_find_peak_qps_boundary_step_size", Bound::Real(0.01, 100.0)),
    ("server_max_async_queries", Bound::Any),
    ("server_num_issue_query_threads", Bound::Whole(0, MOST_ISSUE_THREADS)),
    // Offline has a single query with all samples, so there is no time between two queries.
    ("offline_expected_qps", Bound::Real(1e-6, 1e15)),
    ("sample_concatenate_permutation", Bound::Any),
    ("min_duration_ms", Bound::Whole(0, YEAR_MS)),
    ("max_duration_ms", Bound::Whole(0, YEAR_MS)),
    ("min_query_count", COUNT),
    ("max_query_count", COUNT_OR_NONE),
    ("qsl_rng_seed", Bound::Any),
    ("sample_index_rng_seed", Bound::Any),
    ("schedule_rng_seed", Bound::Any),
    ("accuracy_log_rng_seed", Bound::Any),
    ("accuracy_log_probability", Bound::Real(0.0, 1.0)),
    ("accuracy_log_sampling_target", COUNT_OR_NONE),
    ("test05", Bound::Any),
    ("test05_qsl_rng_seed", Bound::Any),
    ("test05_sample_index_rng_seed", Bound::Any),
    ("test05_schedule_rng_seed", Bound::Any),
    ("print_timestamps", Bound::Any),
    ("performance_issue_unique", Bound::Any),
    ("performance_issue_same", Bound::Any),
    ("performance_issue_same_index", COUNT_OR_NONE),
    ("performance_sample_count_override", COUNT_OR_NONE),
    ("accuracy_sample_count_override", COUNT_OR_NONE),
    ("use_token_latencies", Bound::Any),
    ("server_ttft_latency", Bound::Whole(0, YEAR_NS)),
    ("server_tpot_latency", Bound::Whole(0, YEAR_NS)),
    ("infer_token_latencies", Bound::Any),
    ("token_latency_scaling_factor", COUNT_OR_NONE),
];

/// Checks each field of a test's final settings.
pub(crate) fn check(settings: &TestSettings) -> Result<(), String> {
    for (name, value) in settings.fields() {
        let known = BOUNDS.iter().find(|(field, _)| *field == name);
        // The field exists only in a later release of LoadGen; `every_field_has_its_bounds` detects
        // it in that build.
        let Some((_, bound)) = known else { continue };
        bound.check(&value).map_err(|range| {
            format!(
                "LoadGen's {name} is {value}, and must be {range}; change it where it is set: --setting, user.conf, \
                 audit.config"
            )
        })?;
    }
    Ok(())
}

impl Bound {
    /// Fails with the range as text if it does not contain the value.
    fn check(self, value: &str) -> Result<(), String> {
        let (is_in, range) = match self {
            Self::Any => return Ok(()),
            Self::Whole(from, to) => (
                value.parse().is_ok_and(|number: i64| (from..=to).contains(&number)),
                format!("from {from} to {to}"),
            ),
            Self::Real(from, to) => (
                value.parse().is_ok_and(|number: f64| (from..=to).contains(&number)),
                format!("from {from} to {to}"),
            ),
        };
        if is_in { Ok(()) } else { Err(range) }
    }
}

#[cfg(test)]
mod tests {
    use loadgen_sys::{Mode, Scenario};

    use super::*;

    fn settings() -> TestSettings {
        let mut settings = TestSettings::new(Scenario::MultiStream, Mode::Performance);
        settings.from_config(None, "resnet50").unwrap();
        settings
    }

    #[test]
    fn every_field_has_its_bounds() {
        for (name, _) in settings().fields() {
            assert!(BOUNDS.iter().any(|(field, _)| *field == name), "{name}");
        }
    }

    #[test]
    fn what_the_rules_set_is_allowed() {
        for model in ["resnet50", "llama2-70b", "gptj", "3d-unet", "dlrm-v2", "rgat", "*"] {
            for scenario in Scenario::ALL {
                let mut settings = TestSettings::new(scenario, Mode::Performance);
                settings.from_config(None, model).unwrap();
                check(&settings).unwrap();
            }
        }
    }

    #[test]
    fn the_ends_of_each_range_are_allowed_and_what_is_beyond_is_refused() {
        let with = |field: &str, value: &str| {
            let mut settings = settings();
            settings.set(field, value).unwrap();
            check(&settings)
        };
        for (field, bound) in BOUNDS {
            let (good, bad): ([String; 2], Vec<String>) = match bound {
                Bound::Any => continue,
                Bound::Whole(from, to) => {
                    let below = from.checked_sub(1).map(|below| below.to_string());
                    let beyond = [to.saturating_add(1), i64::from(i32::MAX)];
                    let beyond = beyond.into_iter().filter(|n| *n > to).map(|n| n.to_string());
                    ([from.to_string(), to.to_string()], below.into_iter().chain(beyond).collect())
                }
                Bound::Real(from, to) => {
                    let words = ["nan", "-nan", "inf", "-inf", "-1", "1e300", "1e-300"];
                    let odd = words.iter().map(ToString::to_string);
                    let bad = odd.chain([(to * 1.01).to_string()]);
                    let bad = bad.filter(|n| !(from == 0.0 && n == "1e-300")).collect();
                    ([from.to_string(), to.to_string()], bad)
                }
            };
            for value in &good {
                with(field, value).unwrap();
            }
            for value in &bad {
                let mut settings = settings();
                // A value that the type cannot hold is refused earlier.
                if settings.set(field, value).is_err() {
                    continue;
                }
                let error = check(&settings).expect_err(&format!("{field}={value}"));
                assert!(error.contains(field) && error.contains("--setting"), "{error}");
            }
        }
    }
}
