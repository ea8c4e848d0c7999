//! Estimate of a run's length, from its settings.

use std::time::Duration;

use loadgen_sys::{Mode, Scenario, TestSettings};
use netdiv_qdl::Progress;
use netdiv_rules::plan::{QueryCount, duration};

use crate::{
    output::DETAIL,
    run::setup::preparation::{Numbers, SampleCounts, rate, samples_per_query},
};

/// Estimate of a test's length: the condition at which LoadGen ends the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthEstimate {
    /// Not known before the end.
    Unknown,
    /// Responses to this number of samples, and the time that they take at the expected rate;
    /// `None` if no rate is expected.
    Samples(u64, Option<Duration>),
    /// Minimum number of samples, and minimum time.
    AtLeast(u64, Duration),
    /// Minimum time of each of several tests.
    Each(Duration),
}

impl LengthEstimate {
    /// Estimates a test with `settings` over a data set with this number of samples.
    pub(crate) fn of(settings: &TestSettings, samples: SampleCounts) -> Self {
        let (numbers, scenario) = (Numbers::of(settings), settings.scenario());
        let rate = rate(&numbers, scenario);
        let at_rate = |queries: u64| {
            Duration::try_from_secs_f64(queries as f64 / rate).unwrap_or(Duration::MAX)
        };
        // Only Server has a rate where each sample is issued once.
        let once_each = |count: u64| {
            Self::Samples(count, (scenario == Scenario::Server).then(|| at_rate(count)))
        };
        let (_, loaded) = numbers.loaded(samples);
        let minimum_time = Duration::from_millis(numbers.whole("min_duration_ms"));
        match settings.mode() {
            Mode::Submission => return Self::Unknown,
            Mode::FindPeak => return Self::Each(minimum_time),
            Mode::Accuracy => return once_each(samples.total as u64),
            Mode::Performance if numbers.is_on("performance_issue_unique") => {
                return once_each(loaded);
            }
            Mode::Performance => {}
        }
        let count = QueryCount {
            scenario,
            rate,
            seconds: minimum_time.as_secs_f64(),
            minimum: numbers.whole("min_query_count"),
            pass: numbers.is_on("sample_concatenate_permutation").then_some(loaded),
        };
        let required = count.required();
        match scenario {
            Scenario::Offline => Self::Samples(required, Some(at_rate(required))),
            Scenario::Server => Self::AtLeast(required, minimum_time.max(at_rate(required))),
            Scenario::SingleStream | Scenario::MultiStream => {
                let samples = required.saturating_mul(samples_per_query(&numbers, scenario));
                Self::AtLeast(samples, minimum_time)
            }
        }
    }

    /// Returns a sentence about the length, for the start of the run; `None` if nothing is known.
    pub(crate) fn announcement(&self) -> Option<String> {
        let text = |time: Duration| duration(time.as_secs_f64());
        match *self {
            Self::Unknown => None,
            Self::Samples(count, None) => Some(format!("this run issues {count} samples")),
            Self::Samples(count, Some(time)) => Some(format!(
                "this run issues {count} samples, {} at the expected rate",
                text(time)
            )),
            Self::AtLeast(count, time) => Some(format!(
                "this run issues at least {count} samples and takes at least {}",
                text(time)
            )),
            Self::Each(time) => Some(format!(
                "this run tests one rate after the other, each for at least {}; {DETAIL} names them",
                text(time)
            )),
        }
    }

    /// Returns the remaining time, if queries have been issued for the time `running`, with the
    /// progress `now`.
    pub(crate) fn left(&self, running: Duration, now: &Progress) -> Option<Duration> {
        let at_rate = |samples: u64, done: u64| {
            let seconds = running.as_secs_f64() * samples as f64 / done as f64;
            Duration::try_from_secs_f64(seconds).ok()
        };
        match *self {
            Self::Unknown | Self::Each(_) => None,
            Self::Samples(count, _) => {
                at_rate(count.max(now.issued).saturating_sub(now.answered), now.answered)
            }
            Self::AtLeast(samples, time) => {
                let more = at_rate(samples.saturating_sub(now.issued), now.issued)?;
                Some(more.max(time.saturating_sub(running)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_where_the_settings_tell_it() {
        let of = |scenario, mode, fields: &[(&str, &str)]| {
            let mut settings = TestSettings::new(scenario, mode);
            let common = [("min_duration_ms", "10000"), ("min_query_count", "100")];
            for (field, value) in common.iter().chain(fields) {
                settings.set(field, value).unwrap();
            }
            LengthEstimate::of(&settings, SampleCounts { total: 500, performance: 300 })
        };
        use LengthEstimate::{AtLeast, Each, Samples, Unknown};
        use Scenario::{MultiStream, Offline, Server, SingleStream};
        let seconds = Duration::from_secs;
        let (all, unique) =
            (("sample_concatenate_permutation", "true"), ("performance_issue_unique", "true"));
        let [slow, fast] = ["5", "40"].map(|rate| ("server_target_qps", rate));
        let offline = ("offline_expected_qps", "40");
        let single = ("single_stream_expected_latency_ns", "50000000");
        for (scenario, mode, fields, want) in [
            (Server, Mode::Performance, &[fast][..], AtLeast(100, seconds(10))),
            // The number of samples decides, and with equal issue it is a whole pass, or two.
            (Server, Mode::Performance, &[slow], AtLeast(100, seconds(20))),
            (Server, Mode::Performance, &[slow, all], AtLeast(300, seconds(60))),
            (Server, Mode::Performance, &[fast, all], AtLeast(600, seconds(15))),
            (Server, Mode::Performance, &[fast, unique], Samples(300, Some(seconds(7)))),
            (SingleStream, Mode::Performance, &[single], AtLeast(100, seconds(10))),
            // Twice the 200 queries of ten seconds.
            (SingleStream, Mode::Performance, &[single, all], AtLeast(600, seconds(10))),
            (MultiStream, Mode::Performance, &[], AtLeast(800, seconds(10))),
            (Offline, Mode::Performance, &[offline], Samples(440, Some(seconds(11)))),
            (Offline, Mode::Performance, &[offline, all], Samples(600, Some(seconds(15)))),
            (Server, Mode::Accuracy, &[fast], Samples(500, Some(seconds(12)))),
            (Offline, Mode::Accuracy, &[offline], Samples(500, None)),
            (Server, Mode::FindPeak, &[fast], Each(seconds(10))),
        ] {
            let whole = match of(scenario, mode, fields) {
                Samples(count, Some(time)) => Samples(count, Some(seconds(time.as_secs()))),
                other => other,
            };
            assert_eq!(whole, want, "{scenario} {fields:?}");
        }
        let said = |estimate: LengthEstimate| estimate.announcement().unwrap_or_default();
        assert_eq!(
            said(AtLeast(13_368, Duration::from_millis(133_680))),
            "this run issues at least 13368 samples and takes at least 134 s"
        );
        assert_eq!(
            said(Samples(440, Some(seconds(11)))),
            "this run issues 440 samples, 11 s at the expected rate"
        );
        assert_eq!(said(Samples(500, None)), "this run issues 500 samples");
        assert_eq!(
            said(Each(seconds(10))),
            "this run tests one rate after the other, each for at least 10 s; mlperf_log_detail.txt names them"
        );
        assert_eq!(Unknown.announcement(), None);
    }

    #[test]
    fn what_is_left_goes_on_at_the_rate_until_now() {
        let seconds = Duration::from_secs;
        let now = |issued, answered| Progress { issued, sent: issued, answered, latency_sum_ns: 0 };
        for (expected, running, now, left) in [
            (LengthEstimate::Unknown, 10, now(100, 100), None),
            (LengthEstimate::Samples(300, None), 10, now(400, 100), Some(30)),
            (LengthEstimate::Samples(400, None), 10, now(400, 0), None),
            (LengthEstimate::Samples(500, None), 10, now(100, 100), Some(40)),
            (LengthEstimate::AtLeast(100, seconds(60)), 10, now(1000, 990), Some(50)),
            (LengthEstimate::AtLeast(100, seconds(60)), 70, now(50, 50), Some(70)),
            (LengthEstimate::AtLeast(100, seconds(60)), 70, now(200, 200), Some(0)),
            (LengthEstimate::AtLeast(100, seconds(60)), 5, now(0, 0), None),
        ] {
            assert_eq!(expected.left(seconds(running), &now), left.map(seconds), "{expected:?}");
        }
    }
}
