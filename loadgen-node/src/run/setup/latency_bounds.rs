//! Bounds for latencies, by which LoadGen decides a test.

use std::time::Duration;

use loadgen_sys::{Mode, Scenario, TestSettings};

use crate::run::setup::{preparation::Numbers, test_settings::token_bounds};

/// Share of the token times that must not exceed their bound, which LoadGen does not let users set.
const TOKEN_SHARE: f64 = 0.99;

/// Bound for a percentile of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LatencyBound {
    pub(crate) ns: u64,
    /// Share of the latencies that must not exceed it, from 0 to 1.
    pub(crate) share: f64,
}

/// Bounds of a test: for whole responses, or for the times of their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LatencyBounds {
    pub(crate) latency: Option<LatencyBound>,
    pub(crate) first_token: Option<LatencyBound>,
    pub(crate) further_token: Option<LatencyBound>,
}

impl LatencyBounds {
    /// Returns the bounds of a test with `settings`. LoadGen has bounds only in Server, and does not
    /// check them in accuracy mode.
    pub(crate) fn of(settings: &TestSettings) -> Self {
        if settings.scenario() != Scenario::Server || settings.mode() == Mode::Accuracy {
            return Self::default();
        }
        let bound = |ns: u64, share: f64| (ns > 0).then_some(LatencyBound { ns, share });
        if let Some(tokens) = token_bounds(settings) {
            let bound = |time: Duration| bound(time.as_nanos() as u64, TOKEN_SHARE);
            return Self {
                latency: None,
                first_token: bound(tokens.first),
                further_token: bound(tokens.further),
            };
        }
        let numbers = Numbers::of(settings);
        let share = numbers.real("server_target_latency_percentile");
        Self { latency: bound(numbers.whole("server_target_latency_ns"), share), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_server_has_bounds_for_responses_or_for_tokens() {
        let of = |scenario, mode, more: &[(&str, &str)]| {
            let mut settings = TestSettings::new(scenario, mode);
            let latency = [
                ("server_target_latency_ns", "15000000"),
                ("server_target_latency_percentile", "0.97"),
            ];
            for (field, value) in latency.iter().chain(more) {
                settings.set(field, value).unwrap();
            }
            let LatencyBounds { latency, first_token, further_token } =
                LatencyBounds::of(&settings);
            [latency, first_token, further_token].map(|bound| bound.map(|one| (one.ns, one.share)))
        };
        use Scenario::{Offline, Server};
        let tokens = [
            ("use_token_latencies", "true"),
            ("server_ttft_latency", "2000000000"),
            ("server_tpot_latency", "100000000"),
        ];
        for (scenario, mode, more, want) in [
            (Server, Mode::Performance, &[][..], [Some((15_000_000, 0.97)), None, None]),
            (
                Server,
                Mode::Performance,
                &tokens,
                [None, Some((2_000_000_000, 0.99)), Some((100_000_000, 0.99))],
            ),
            (Server, Mode::Performance, &[("server_target_latency_ns", "0")], [None; 3]),
            (Server, Mode::Accuracy, &[], [None; 3]),
            (Offline, Mode::Performance, &[], [None; 3]),
        ] {
            assert_eq!(of(scenario, mode, more), want, "{scenario} {mode:?} {more:?}");
        }
    }
}
