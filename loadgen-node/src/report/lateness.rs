//! LoadGen's latency bounds.

use netdiv_rules::{Mode, Scenario};

use crate::{record::RunResult, recording::histograms::Measure};

/// Returns LoadGen's bound for a measure: milliseconds, and the share of the samples that have to
/// meet it.
pub(super) fn bound(result: &RunResult, measure: Measure) -> Option<(f64, f64)> {
    if result.scenario != Scenario::Server || result.mode == Mode::Accuracy {
        return None;
    }
    let setting = |name| result.test_settings.get(name)?.parse::<f64>().ok();
    let has_tokens = result.nodes.iter().any(|node| node.tokens.is_some());
    let (ns, percentile) = match measure {
        // LoadGen checks the 99th percentile of times of tokens.
        Measure::FirstToken => (setting("server_ttft_latency")?, 0.99),
        Measure::FurtherToken => (setting("server_tpot_latency")?, 0.99),
        _ if has_tokens => return None,
        _ => (setting("server_target_latency_ns")?, setting("server_target_latency_percentile")?),
    };
    (ns > 0.0 && ns.is_finite() && (0.0..1.0).contains(&percentile))
        .then_some((ns / 1e6, percentile))
}
