//! Columns of the tables of nodes: on the terminal, in Markdown and on a page.

use serde_json::{Map, Value};

use crate::record::{Node, RunResult};

/// A figure of a node: the runs whose tables have it, the title of its group (empty for a figure
/// outside groups), its own title, and its JSON pointer from the node's entry in `result.json`.
pub(super) type Column = (Runs, &'static str, &'static str, &'static str);

/// Runs whose tables have a column. A page also has the columns of runs without times of tokens.
#[derive(Debug)]
pub(super) enum Runs {
    All,
    WithTokens,
    WithoutTokens,
    WithLate,
    /// No run: only pages have the column.
    OnPages,
}

static COLUMNS: [Column; 24] = [
    (Runs::All, "", "node", "/name"),
    (Runs::All, "", "answered", "/answered"),
    (Runs::WithLate, "", "late", "/late"),
    (Runs::OnPages, "", "lost", "/lost"),
    (Runs::WithoutTokens, "batch", "mean", "/batches"),
    (Runs::WithTokens, "tokens", "mean", "/tokens/per_answer/mean"),
    (Runs::WithoutTokens, "latency, ms", "p50", "/latency_ns/p50"),
    (Runs::OnPages, "latency, ms", "p90", "/latency_ns/p90"),
    (Runs::WithoutTokens, "latency, ms", "p99", "/latency_ns/p99"),
    (Runs::WithoutTokens, "latency, ms", "p99.9", "/latency_ns/p99_9"),
    (Runs::WithoutTokens, "latency, ms", "max", "/latency_ns/max"),
    (Runs::WithTokens, "TTFT, ms", "p50", "/tokens/first_ns/p50"),
    (Runs::WithTokens, "TTFT, ms", "p99", "/tokens/first_ns/p99"),
    (Runs::WithTokens, "TTFT, ms", "p99.9", "/tokens/first_ns/p99_9"),
    (Runs::WithTokens, "TPOT, ms", "p50", "/tokens/further_ns/p50"),
    (Runs::WithTokens, "TPOT, ms", "p99", "/tokens/further_ns/p99"),
    (Runs::All, "mean ms in", "QDL queue", "/stages_ns/qdl_queue/mean"),
    (Runs::All, "mean ms in", "network", "/stages_ns/network/mean"),
    (Runs::All, "mean ms in", "SUT queue", "/stages_ns/sut_queue/mean"),
    (Runs::WithoutTokens, "mean ms in", "compute", "/stages_ns/compute/mean"),
    (Runs::WithTokens, "mean ms in", "prefill", "/tokens/prefill_ns/mean"),
    (Runs::WithTokens, "mean ms in", "decode", "/tokens/decode_ns/mean"),
    (Runs::OnPages, "bytes", "sent", "/bytes_sent"),
    (Runs::OnPages, "bytes", "received", "/bytes_received"),
];

/// Returns true if first tokens were reported.
pub(super) fn has_token_times(result: &RunResult) -> bool {
    result.nodes.iter().any(|node| node.tokens.as_ref().is_some_and(|t| t.first_ns.max > 0))
}

/// Returns the columns of a run's table; the first one is the name of the node.
pub(super) fn columns(result: &RunResult, is_page: bool) -> Vec<&'static Column> {
    let has_tokens = has_token_times(result);
    let is_shown = |(runs, ..): &&Column| match runs {
        Runs::All => true,
        Runs::WithTokens => has_tokens,
        Runs::WithoutTokens => is_page || !has_tokens,
        Runs::WithLate => result.nodes.iter().any(|node| node.late > Some(0)),
        Runs::OnPages => is_page,
    };
    COLUMNS.iter().filter(is_shown).collect()
}

/// Returns the titles of columns, each of two lines; the first line is the group's title above its
/// first column, and empty above the others.
pub(super) fn titles(columns: &[&Column]) -> Vec<String> {
    let mut before = "";
    let title = |&&(_, group, title, _): &&Column| {
        let of_group = if group == before { "" } else { group };
        before = group;
        format!("{of_group}\n{title}")
    };
    columns.iter().map(title).collect()
}

/// Returns the titles and the rows of a run's table outside pages. Times have `digits` decimals.
pub(super) fn table(result: &RunResult, digits: usize) -> (Vec<String>, Vec<Vec<String>>) {
    let columns = columns(result, false);
    let row = |node: &Node| {
        let node = serde_json::to_value(node).unwrap_or_default();
        let cell = |(.., pointer): &&Column| text(&node, pointer, digits);
        columns.iter().map(cell).collect()
    };
    (titles(&columns), result.nodes.iter().map(row).collect())
}

/// Returns a figure of a record as text: a time in milliseconds with `digits` decimals, another
/// mean with one decimal, and the mean size for a number of batches by size. Empty if the record
/// does not have the figure.
pub(super) fn text(record: &Value, pointer: &str, digits: usize) -> String {
    match record.pointer(pointer).unwrap_or(&Value::Null) {
        Value::Null => String::new(),
        Value::String(word) => word.clone(),
        Value::Object(batches) => format!("{:.1}", mean_size(batches)),
        number => match number.as_f64() {
            Some(ns) if pointer.contains("_ns") => format!("{:.digits$}", ns / 1e6),
            Some(mean) if number.is_f64() => format!("{mean:.1}"),
            _ => number.to_string(),
        },
    }
}

/// Returns the mean size of batches, from their number by size; 0 without batches.
fn mean_size(batches: &Map<String, Value>) -> f64 {
    let mut total = (0.0, 0.0);
    for (size, count) in batches {
        let (size, count) =
            (size.parse::<f64>().unwrap_or(1.0), count.as_f64().unwrap_or_default());
        total = (total.0 + f64::max(size, 1.0) * count, total.1 + count);
    }
    total.0 / f64::max(total.1, 1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netdiv_qdl::{NodeInfo, NodeReport};

    use super::*;

    #[test]
    fn a_node_has_every_figure() {
        let mut report = NodeReport::new("a", "");
        report.lost = Some("it is gone".into());
        report.samples_by_batch = [(1, 3), (4, 8)].into();
        report.latency.record(2_500_000).unwrap();
        report.tokens.get_or_insert_default().lengths.record(7).unwrap();
        let info = NodeInfo {
            address: String::new(),
            description: Default::default(),
            round_trip: Duration::ZERO,
        };
        let node = serde_json::to_value(crate::node_record(&info, &report, false)).unwrap();
        for (.., pointer) in &COLUMNS {
            assert!(node.pointer(pointer).is_some(), "{pointer}");
        }
        for (pointer, want) in [
            ("/lost", "it is gone"),
            ("/answered", "0"),
            ("/batches", "2.2"),
            ("/latency_ns/p50", "2.50"),
            ("/tokens/per_answer/mean", "7.0"),
        ] {
            assert_eq!(text(&node, pointer, 2), want, "{pointer}");
        }
    }

    #[test]
    fn a_group_has_its_title_above_its_first_column() {
        let [p90, p99, sent, received] = [7, 8, 22, 23].map(|place| &COLUMNS[place]);
        let titles = titles(&[&COLUMNS[1], p90, p99, sent, received]);
        assert_eq!(
            titles,
            ["\nanswered", "latency, ms\np90", "\np99", "bytes\nsent", "\nreceived"]
        );
    }
}
