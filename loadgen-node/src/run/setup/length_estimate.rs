//! Estimate of a run's length, from its settings.

use std::time::Duration;

use loadgen_sys::{Mode, Scenario, TestSettings};
use netdiv_qdl::Progress;

/// Estimate of a test's length: the condition at which LoadGen ends the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthEstimate {
    /// Not known before the end.
    Unknown,
    /// Responses to this number of samples; `None`: to all samples that LoadGen issues at once.
    Samples(Option<u64>),
    /// Minimum time, and minimum number of samples.
    AtLeast(Duration, u64),
}

impl LengthEstimate {
    /// Estimates a test with `settings` over a data set of `samples` samples.
    pub(crate) fn of(settings: &TestSettings, samples: usize) -> Self {
        let whole = |field| settings.field(field)?.parse::<u64>().ok();
        match (settings.mode(), settings.scenario()) {
            (Mode::Accuracy, _) => Self::Samples(Some(samples as u64)),
            (Mode::Submission | Mode::FindPeak, _) => Self::Unknown,
            (Mode::Performance, Scenario::Offline) => Self::Samples(None),
            (Mode::Performance, scenario) => {
                let per_query = match scenario {
                    Scenario::MultiStream => "multi_stream_samples_per_query",
                    _ => return Self::at_least(whole("min_duration_ms"), whole("min_query_count")),
                };
                let queries = whole("min_query_count").zip(whole(per_query));
                Self::at_least(
                    whole("min_duration_ms"),
                    queries.map(|(queries, each)| queries.saturating_mul(each)),
                )
            }
        }
    }

    fn at_least(milliseconds: Option<u64>, samples: Option<u64>) -> Self {
        milliseconds.zip(samples).map_or(Self::Unknown, |(milliseconds, samples)| {
            Self::AtLeast(Duration::from_millis(milliseconds), samples)
        })
    }

    #[cfg(test)]
    pub(crate) fn samples(count: u64) -> Self {
        Self::Samples(Some(count))
    }

    /// Returns the remaining time, if queries have been issued for the time `running`, with the
    /// progress `now`.
    pub(crate) fn left(&self, running: Duration, now: &Progress) -> Option<Duration> {
        let at_rate = |samples: u64, done: u64| {
            let seconds = running.as_secs_f64() * samples as f64 / done as f64;
            Duration::try_from_secs_f64(seconds).ok()
        };
        match *self {
            Self::Unknown => None,
            Self::Samples(count) => {
                let count = count.unwrap_or(now.issued);
                at_rate(count.saturating_sub(now.answered), now.answered)
            }
            Self::AtLeast(time, samples) => {
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
            fields.iter().for_each(|(field, value)| settings.set(field, value).unwrap());
            LengthEstimate::of(&settings, 500)
        };
        use Scenario::{MultiStream, Offline, Server};
        let fields = [("min_duration_ms", "60000"), ("min_query_count", "100")];
        let time = Duration::from_secs(60);
        assert_eq!(of(Server, Mode::Performance, &fields), LengthEstimate::AtLeast(time, 100));
        assert_eq!(of(MultiStream, Mode::Performance, &fields), LengthEstimate::AtLeast(time, 800));
        assert_eq!(of(Offline, Mode::Performance, &fields), LengthEstimate::Samples(None));
        assert_eq!(of(Server, Mode::Accuracy, &fields), LengthEstimate::samples(500));
        assert_eq!(of(Server, Mode::FindPeak, &fields), LengthEstimate::Unknown);
    }

    #[test]
    fn what_is_left_goes_on_at_the_rate_until_now() {
        let seconds = Duration::from_secs;
        let now = |issued, answered| Progress { issued, sent: issued, answered, latency_sum_ns: 0 };
        for (expected, running, now, left) in [
            (LengthEstimate::Unknown, 10, now(100, 100), None),
            (LengthEstimate::Samples(None), 10, now(400, 100), Some(30)),
            (LengthEstimate::Samples(None), 10, now(400, 0), None),
            (LengthEstimate::Samples(Some(500)), 10, now(100, 100), Some(40)),
            (LengthEstimate::AtLeast(seconds(60), 100), 10, now(1000, 990), Some(50)),
            (LengthEstimate::AtLeast(seconds(60), 100), 70, now(50, 50), Some(70)),
            (LengthEstimate::AtLeast(seconds(60), 100), 70, now(200, 200), Some(0)),
            (LengthEstimate::AtLeast(seconds(60), 100), 5, now(0, 0), None),
        ] {
            assert_eq!(expected.left(seconds(running), &now), left.map(seconds), "{expected:?}");
        }
    }
}
