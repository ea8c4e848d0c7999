//! Runs as tables: Markdown for documents, CSV for spreadsheets.

use serde_json::Value;

use super::{columns, run::facts};
use crate::{RunError, record::RunResult, recording::RecordedRun};

/// First columns of a run and of its nodes, after the run's name: keys of `result.json`.
const OF_BOTH: [&str; 6] = ["benchmark", "scenario", "mode", "verdict", "started", "test_seconds"];

/// Further columns of the CSV table. Each has its name, the JSON pointer to the run's value in
/// `result.json`, and the JSON pointer from a node's entry to the node's value. Times are in
/// nanoseconds: LoadGen's latencies for a run, the QDL's for a node, which with `max_in_flight` begin
/// at sending.
const COLUMNS: [(&str, &str, &str); 19] = [
    ("metric", "/metric/name", ABSENT),
    ("value", "/metric/value", ABSENT),
    ("unit", "/metric/unit", ABSENT),
    ("accuracy", "/accuracy/reported", ABSENT),
    ("node", ABSENT, "/name"),
    ("issued", "/samples/issued", ABSENT),
    ("answered", "/samples/completed", "/answered"),
    ("bytes_sent", SUM, "/bytes_sent"),
    ("bytes_received", SUM, "/bytes_received"),
    ("p50_ns", "/loadgen_latency_ns/50.00", "/latency_ns/p50"),
    ("p90_ns", "/loadgen_latency_ns/90.00", "/latency_ns/p90"),
    ("p99_ns", "/loadgen_latency_ns/99.00", "/latency_ns/p99"),
    ("p99_9_ns", "/loadgen_latency_ns/99.90", "/latency_ns/p99_9"),
    ("max_ns", "/loadgen_latency_ns/max", "/latency_ns/max"),
    ("mean_qdl_queue_ns", ABSENT, "/stages_ns/qdl_queue/mean"),
    ("mean_network_ns", ABSENT, "/stages_ns/network/mean"),
    ("mean_sut_queue_ns", ABSENT, "/stages_ns/sut_queue/mean"),
    ("mean_compute_ns", ABSENT, "/stages_ns/compute/mean"),
    ("max_in_flight", "/settings/max_in_flight", ABSENT),
];

/// Pointer of a column that a run or a node does not have. No value is there, because a pointer
/// begins with a slash.
const ABSENT: &str = "absent";

/// Pointer of a run's column that is the sum of its nodes' values.
const SUM: &str = "sum";

/// Returns a row for each run, with its name, and for each of its nodes, as CSV.
pub(crate) fn csv<'a>(
    runs: impl IntoIterator<Item = (&'a str, &'a RecordedRun)>,
) -> Result<String, RunError> {
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("CSV table: {error}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    let titles = ["run"].into_iter().chain(OF_BOTH).chain(COLUMNS.map(|(name, ..)| name));
    table.write_record(titles).map_err(|error| failed(&error))?;
    for (name, run) in runs {
        let result = serde_json::to_value(&run.result).map_err(|error| failed(&error))?;
        let nodes = result["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut both = vec![escape_formula(name)];
        both.extend(OF_BOTH.map(|key| value(result.get(key))));
        let of_run = COLUMNS.map(|(_, pointer, of_node)| match pointer {
            SUM => {
                let values = nodes.iter().filter_map(|node| node.pointer(of_node)?.as_u64());
                values.fold(0, u64::saturating_add).to_string()
            }
            _ => value(result.pointer(pointer)),
        });
        let of_nodes =
            nodes.iter().map(|node| COLUMNS.map(|(.., pointer)| value(node.pointer(pointer))));
        for row in [of_run].into_iter().chain(of_nodes) {
            table.write_record(both.iter().chain(&row)).map_err(|error| failed(&error))?;
        }
    }
    let bytes = table.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// Returns a value of a record for a cell of a CSV table.
pub(super) fn value(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(word)) => escape_formula(word),
        Some(number) => number.to_string(),
    }
}

/// Returns tables of the facts and of the nodes, run by run.
pub(crate) fn markdown<'a>(runs: impl Iterator<Item = (&'a str, &'a RecordedRun)>) -> String {
    let mut text = String::new();
    for (name, run) in runs {
        let RunResult { benchmark, scenario, mode, .. } = &run.result;
        text += &format!("## {}: {benchmark} {scenario} {mode}\n\n", cell(name));
        let outcome = [<&str>::from(run.result.verdict)].into_iter();
        let outcome = outcome.chain(run.result.reasons.iter().map(String::as_str));
        text += &format!("**{}**\n\n", cell(&outcome.collect::<Vec<_>>().join("; ")));
        text += "| | |\n|---|---|\n";
        for (label, fact) in facts(&run.result) {
            text += &row([label, &fact]);
        }
        let (titles, nodes) = columns::table(&run.result, 3);
        text += &format!("\n{}|---|", row(titles.iter().map(|title| title.trim())));
        text += &format!("{}\n", "---:|".repeat(titles.len() - 1));
        nodes.iter().for_each(|node| text += &row(node.iter().map(String::as_str)));
        text += "\n";
    }
    text
}

/// Returns a row of a Markdown table.
fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().map(cell).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Escapes a text for a cell of a Markdown table, so that it is shown unchanged.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            cell.push(' ');
        } else {
            if "\\`*_[]<>|&".contains(c) {
                cell.push('\\');
            }
            cell.push(c);
        }
    }
    cell
}

/// Puts an apostrophe before a text that a spreadsheet would take for a formula. Nodes choose their
/// own names, so that a name may look like one.
pub(super) fn escape_formula(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_nothing_more() {
        assert_eq!(cell("a|b <i>\n`c`"), "a\\|b \\<i\\> \\`c\\`");
        assert_eq!(cell("p99 12.5 ms, a-b"), "p99 12.5 ms, a-b");
        for formula in ["=1+1", "\t=1", "\r=1"] {
            assert_eq!(escape_formula(formula), format!("'{formula}"));
        }
        assert_eq!(escape_formula("rack1-a"), "rack1-a");
    }
}
