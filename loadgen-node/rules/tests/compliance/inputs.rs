//! Creates files as LoadGen writes them.

use std::fmt::Write as _;

use crate::compliance::test06::RESPONSES;

/// Creates the summary of a run with every setting that a compliance test requires.
pub(super) fn summary(scenario: &str, score: &str) -> String {
    let (first, later) = match scenario {
        "Offline" => (format!("Samples per second: {score}"), String::new()),
        "Server" => {
            (format!("Completed samples per second    : {score}"), " * Run successful.\n".into())
        }
        "SingleStream" => (
            "90th percentile latency (ns) : 1".into(),
            format!(
                " * Early stopping 90th percentile estimate: {score}\n * Early stopping 99th percentile estimate: 7\n"
            ),
        ),
        _ => (
            "99th percentile latency (ns) : 1".into(),
            format!(" * Early stopping 99th percentile estimate: {score}\n"),
        ),
    };
    format!(
        "================================================\n\
         MLPerf Results Summary\n\
         ================================================\n\
         SUT name : netdiv Network SUT [node-a, node-b]\n\
         Scenario : {scenario}\n\
         Mode     : PerformanceOnly\n\
         {first}\n\
         Result is : VALID\n  Performance constraints satisfied : Yes\n  Min duration satisfied : Yes\n\
         Early Stopping Result:\n{later}\n\
         ================================================\n\
         Additional Stats\n\
         ================================================\n\
         Scheduled samples per second : 996.45\n\
         Mean latency (ns)               : 1307312\n\n\
         ================================================\n\
         Test Parameters Used\n\
         ================================================\n\
         samples_per_query : 1\n\
         target_latency (ns): 15000000\n\
         accuracy_log_rng_seed : 720381539243781796\n\
         accuracy_log_sampling_target : 4096\n\
         performance_issue_unique : 0\n\
         performance_issue_same : 1\n\
         performance_issue_same_index : 3\n\n\
         No warnings encountered during test.\n\n\
         No errors encountered during test.\n"
    )
}

/// Creates an accuracy log from the index of each sample and its response in hex.
pub(super) fn log(responses: &[(u64, &str)]) -> String {
    let entry = |(seq_id, (qsl_idx, data)): (usize, &(u64, &str))| {
        format!("\n{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"{data}\" }}")
    };
    let entries: Vec<_> = responses.iter().enumerate().map(entry).collect();
    format!("[{}\n]\n", entries.join(","))
}

/// Response of a language model: its tokens, its first tokens as reported if there are any, and the
/// reported number of tokens.
pub(super) type TokenResponse<'a> = (&'a [i32], Option<&'a [i32]>, u64);

/// Creates an accuracy log with token counts, and with first tokens if the scenario has them.
/// Repeats the responses up to the number that the test requires.
pub(super) fn token_log(responses: &[TokenResponse<'_>]) -> String {
    short_token_log(responses.iter().cycle().take(RESPONSES as usize))
}

/// Creates an accuracy log with these responses only.
pub(super) fn short_token_log<'a>(
    responses: impl Iterator<Item = &'a TokenResponse<'a>>,
) -> String {
    let entry = |(seq_id, (data, first, count)): (usize, &TokenResponse<'_>)| {
        let mut entry = format!(
            "\n{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {seq_id}, \"data\" : \"{}\"",
            hex(data)
        );
        if let Some(first) = first {
            entry += &format!(", \"token_data\" : \"{}\"", hex(first));
        }
        entry + &format!(", \"token_count\" : {count} }}")
    };
    let entries: Vec<_> = responses.enumerate().map(entry).collect();
    format!("[{}\n]\n", entries.join(","))
}

/// Formats numbers of 32 bits in hex, in LoadGen's byte order.
pub(super) fn hex(numbers: &[i32]) -> String {
    let mut text = String::new();
    for byte in numbers.iter().flat_map(|number| number.to_le_bytes()) {
        write!(text, "{byte:02X}").unwrap();
    }
    text
}
