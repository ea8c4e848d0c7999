//! LoadGen's settings for the benchmarks of the demo, where no user.conf has them: a run needs nothing else.

use netdiv_dataset::SORTING;
use netdiv_rules::Scenario;

/// Of the language model that sorts digits: enough queries for LoadGen's verdict, at a rate that two nodes keep on one small
/// machine, and within the bounds of Llama 2 70B.
const TOKENS: [(&str, &str); 7] = [
    ("use_token_latencies", "true"),
    ("server_ttft_latency", "2000000000"),
    ("server_tpot_latency", "200000000"),
    ("server_target_qps", "100"),
    ("min_query_count", "700"),
    ("min_duration_ms", "8000"),
    ("single_stream_expected_latency_ns", "5000000"),
];

/// Offline has one query, with as many samples as the nodes of the demo answer in some seconds.
const TOKENS_OFFLINE: [(&str, &str); 3] = [
    ("use_token_latencies", "true"),
    ("offline_expected_qps", "5000"),
    ("min_duration_ms", "1000"),
];

/// LoadGen's settings for a benchmark and a scenario, as fields and values; none for any other benchmark.
pub(super) fn settings(
    benchmark: &str,
    scenario: Scenario,
) -> &'static [(&'static str, &'static str)] {
    match scenario {
        _ if benchmark != SORTING => &[],
        Scenario::Offline => &TOKENS_OFFLINE,
        Scenario::Server | Scenario::SingleStream | Scenario::MultiStream => &TOKENS,
    }
}
