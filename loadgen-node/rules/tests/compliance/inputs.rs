//! Creates files as LoadGen writes them.

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
    let text = include_str!("summary.txt").replace("SCENARIO", scenario);
    text.replace("FIRST", &first).replace("LATER", &later)
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
    numbers.iter().map(|number| format!("{:08X}", number.swap_bytes())).collect()
}
