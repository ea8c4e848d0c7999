//! The queries of a test, which LoadGen prepares in memory before it issues the first. Settings are
//! refused if the preparation does not end, does not fit, or has no query at all.

use std::collections::BTreeMap;

use loadgen_sys::{Mode, Scenario, TestSettings};
use netdiv_node_common::resources::memory;
use netdiv_rules::plan::{OFFLINE_SLACK, loadgen_bytes};

/// Ratio of the stream queries that LoadGen prepares to the expected number, in case the SUT is
/// faster than expected.
const STREAM_SLACK: f64 = 2.0;

/// Maximum length of a schedule, in seconds: a year. LoadGen counts it in 64-bit nanoseconds, and
/// its preparation does not end if they overflow.
const LONGEST_SCHEDULE: f64 = 366.0 * 24.0 * 3600.0;

/// Numbers of samples of a data set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleCounts {
    pub(crate) total: usize,
    /// Number of samples that performance mode uses, unless LoadGen's settings name another one.
    pub(crate) performance: usize,
}

/// Settings of a test, by field. Their values are numbers within their bounds, or booleans.
pub(crate) struct Numbers(BTreeMap<String, String>);

impl Numbers {
    pub(crate) fn of(settings: &TestSettings) -> Self {
        Self(settings.fields().into_iter().collect())
    }

    pub(crate) fn whole(&self, field: &str) -> u64 {
        self.0.get(field).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn real(&self, field: &str) -> f64 {
        self.0.get(field).and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    pub(crate) fn is_on(&self, field: &str) -> bool {
        self.0.get(field).is_some_and(|text| text == "true")
    }

    /// Returns the number of samples that performance mode asks for, and the number of them that
    /// the data set has. The latter are loaded together.
    pub(crate) fn loaded(&self, samples: SampleCounts) -> (u64, u64) {
        let wanted = match self.whole("performance_sample_count_override") {
            0 => samples.performance as u64,
            wanted => wanted,
        };
        (wanted, wanted.min(samples.total as u64))
    }
}

/// Checks that LoadGen's preparation ends and fits into the memory, besides `other_bytes`.
pub(crate) fn check(
    settings: &TestSettings,
    scenario: Scenario,
    samples: SampleCounts,
    other_bytes: u64,
) -> Result<(), String> {
    let numbers = Numbers::of(settings);
    let (wanted, loaded) = numbers.loaded(samples);
    let is_same = numbers.is_on("performance_issue_same");
    let is_unique = numbers.is_on("performance_issue_unique");
    if is_same && is_unique {
        return Err("performance_issue_same and performance_issue_unique exclude each other".into());
    }
    let same = numbers.whole("performance_issue_same_index");
    if is_same && same >= loaded {
        return Err(format!(
            "performance_issue_same_index is {same}, and {loaded} samples are loaded; choose a lower one"
        ));
    }
    if is_unique && scenario == Scenario::Offline && loaded < wanted {
        return Err(format!(
            "performance_issue_unique in offline needs all {wanted} samples that performance mode asks for \
             (performance_sample_count_override), and the data set has {loaded}; for practice, give --performance-samples \
             {loaded} (audit: after --)"
        ));
    }
    let (queries, samples_in_them) = match settings.mode() {
        Mode::Accuracy => once_each(&numbers, scenario, loaded),
        Mode::Performance | Mode::FindPeak => performance(&numbers, scenario, wanted, loaded),
        Mode::Submission => once_each(&numbers, scenario, loaded)
            .max(performance(&numbers, scenario, wanted, loaded)),
    };
    if scenario != Scenario::Offline {
        let seconds = queries as f64 / rate(&numbers, scenario);
        if seconds > LONGEST_SCHEDULE {
            return Err(format!(
                "the schedule of {queries} queries would last {seconds:.0} s, more than LoadGen can prepare \
                 ({LONGEST_SCHEDULE:.0} s): raise the rate, or lower min_query_count"
            ));
        }
    }
    // Lists of indices: all samples, a set of them, and a list for each query, which may be half
    // empty.
    let per_query =
        if scenario == Scenario::Offline { 0 } else { numbers.whole("min_query_count") };
    let set = wanted + samples_per_query(&numbers, scenario);
    let indices = (samples.total as u64 + set).saturating_add(3 * per_query).saturating_mul(8);
    let bytes =
        loadgen_bytes(queries, samples_in_them).saturating_add(indices).saturating_add(other_bytes);
    memory::check(bytes).map_err(|error| {
        format!(
            "{queries} queries with {samples_in_them} samples are more than LoadGen can prepare here: {error}. Lower \
             target_qps, min_duration, min_query_count or the samples of a query"
        )
    })
}

/// Returns the number of samples of a query, unless the query has all samples.
pub(crate) fn samples_per_query(numbers: &Numbers, scenario: Scenario) -> u64 {
    match scenario {
        Scenario::MultiStream => numbers.whole("multi_stream_samples_per_query").max(1),
        Scenario::Offline | Scenario::Server | Scenario::SingleStream => 1,
    }
}

/// Returns the expected queries per second, at which LoadGen schedules them; in Offline, the samples
/// per second.
pub(crate) fn rate(numbers: &Numbers, scenario: Scenario) -> f64 {
    match scenario {
        Scenario::Offline => numbers.real("offline_expected_qps"),
        Scenario::Server => numbers.real("server_target_qps"),
        Scenario::SingleStream => 1e9 / numbers.real("single_stream_expected_latency_ns"),
        Scenario::MultiStream => 1e9 / numbers.real("multi_stream_expected_latency_ns"),
    }
}

/// Returns the number of queries and the number of samples of a test in which each loaded sample
/// occurs once.
fn once_each(numbers: &Numbers, scenario: Scenario, loaded: u64) -> (u64, u64) {
    if scenario == Scenario::Offline {
        return (1, loaded);
    }
    let samples = samples_per_query(numbers, scenario);
    let queries = loaded.div_ceil(samples);
    (queries, queries.saturating_mul(samples))
}

/// Returns the number of queries and the number of samples of a performance test.
fn performance(numbers: &Numbers, scenario: Scenario, wanted: u64, loaded: u64) -> (u64, u64) {
    if numbers.is_on("performance_issue_unique") {
        return once_each(numbers, scenario, loaded);
    }
    let seconds = numbers.whole("min_duration_ms") as f64 / 1000.0;
    // Conversions saturate.
    let in_time = |slack: f64| (slack * seconds * rate(numbers, scenario)) as u64;
    let least = numbers.whole("min_query_count");
    // Equal issue makes whole passes over the loaded samples.
    let passes = numbers.is_on("sample_concatenate_permutation");
    let more = if passes { wanted } else { 0 };
    match scenario {
        Scenario::Offline => (1, least.max(in_time(OFFLINE_SLACK)).saturating_add(more)),
        Scenario::Server => {
            let queries = least.max(in_time(1.0)).saturating_add(1 + more);
            (queries, queries)
        }
        Scenario::SingleStream | Scenario::MultiStream => {
            let queries = least.max(in_time(STREAM_SLACK)).saturating_add(1 + 2 * more);
            (queries, queries.saturating_mul(samples_per_query(numbers, scenario)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: SampleCounts = SampleCounts { total: 64, performance: 64 };

    fn check_with(scenario: Scenario, fields: &[(&str, &str)]) -> Result<(), String> {
        let mut settings = TestSettings::new(scenario, Mode::Performance);
        settings.from_config(None, "fabric").unwrap();
        for (field, value) in fields {
            settings.set(field, value).unwrap();
        }
        check(&settings, scenario, SAMPLES, 0)
    }

    #[test]
    fn what_does_not_end_or_does_not_fit_is_refused_in_every_scenario() {
        use Scenario::{MultiStream, Offline, Server, SingleStream};
        for scenario in Scenario::ALL {
            check_with(scenario, &[]).unwrap();
        }
        let prepare = "more than LoadGen can prepare";
        for (scenario, fields, want) in [
            (Offline, &[("offline_expected_qps", "1e12")][..], prepare),
            (Offline, &[("min_query_count", "1099511627776")], prepare),
            (Offline, &[("performance_sample_count_override", "1099511627776")], prepare),
            (Server, &[("server_target_qps", "1e8")], prepare),
            (Server, &[("min_query_count", "1099511627776")], prepare),
            (Server, &[("server_target_qps", "1e-6")], "raise the rate"),
            (SingleStream, &[("single_stream_expected_latency_ns", "10")], prepare),
            (SingleStream, &[("single_stream_expected_latency_ns", "1e15")], "raise the rate"),
            (MultiStream, &[("multi_stream_samples_per_query", "16777216")], prepare),
            (
                Server,
                &[("performance_issue_same", "true"), ("performance_issue_unique", "true")],
                "exclude each other",
            ),
            (
                Server,
                &[("performance_issue_same", "true"), ("performance_issue_same_index", "64")],
                "64 samples are loaded",
            ),
            (
                Offline,
                &[
                    ("performance_issue_unique", "true"),
                    ("performance_sample_count_override", "65"),
                ],
                "the data set has 64; for practice, give --performance-samples 64",
            ),
        ] {
            let error = check_with(scenario, fields).expect_err(&format!("{fields:?}"));
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn what_else_needs_memory_counts() {
        let settings = TestSettings::new(Scenario::Server, Mode::Accuracy);
        let most = memory::available().bytes;
        check(&settings, Scenario::Server, SAMPLES, most / 2).unwrap();
        let error = check(&settings, Scenario::Server, SAMPLES, u64::MAX).unwrap_err();
        assert!(error.contains("64 queries with 64 samples"), "{error}");
    }

    #[test]
    fn as_many_are_loaded_as_settings_and_data_set_allow() {
        let mut settings = TestSettings::new(Scenario::Server, Mode::Performance);
        let few = SampleCounts { total: 64, performance: 8 };
        assert_eq!(Numbers::of(&settings).loaded(few).1, 8);
        for (wanted, loaded) in [("16", 16), ("1024", 64)] {
            settings.set("performance_sample_count_override", wanted).unwrap();
            assert_eq!(Numbers::of(&settings).loaded(few).1, loaded);
        }
    }
}
