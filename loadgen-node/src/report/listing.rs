//! Runs as tables: Markdown for documents, CSV for spreadsheets.

use serde::Serialize;

use super::run::{facts, verdict};
use crate::{
    RunError,
    record::{Node, RunResult},
    recording::run::RecordedRun,
};

/// A run, or one of its nodes. Times are in nanoseconds.
#[derive(Debug, Serialize)]
struct ListingRow<'a> {
    run: String,
    benchmark: String,
    scenario: String,
    mode: String,
    verdict: &'a str,
    started: Option<&'a str>,
    test_seconds: f64,
    /// Metric of LoadGen; set for the run only.
    metric: Option<&'a str>,
    value: Option<f64>,
    unit: Option<&'a str>,
    accuracy: Option<&'a str>,
    /// Name of the node; empty for the run.
    node: String,
    issued: Option<u64>,
    answered: u64,
    bytes_sent: u64,
    bytes_received: u64,
    /// Latency: LoadGen's figure for the run, the QDL's for a node.
    p50_ns: Option<f64>,
    p90_ns: Option<f64>,
    p99_ns: Option<f64>,
    p99_9_ns: Option<f64>,
    max_ns: Option<f64>,
    mean_qdl_queue_ns: Option<f64>,
    mean_network_ns: Option<f64>,
    mean_sut_queue_ns: Option<f64>,
    mean_compute_ns: Option<f64>,
}

/// Returns a row for each run and for each of its nodes, as CSV.
pub(crate) fn csv(runs: &[RecordedRun]) -> Result<String, RunError> {
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("CSV table: {error}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    for run in runs {
        table.serialize(of_run(run)).map_err(|error| failed(&error))?;
        for node in &run.result.nodes {
            table.serialize(of_node(run, node)).map_err(|error| failed(&error))?;
        }
    }
    let bytes = table.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

fn of_run(run: &RecordedRun) -> ListingRow<'_> {
    let result = &run.result;
    let latency = |name: &str| result.loadgen_latency_ns.get(name).copied();
    let sum = |of: fn(&Node) -> u64| result.nodes.iter().map(of).fold(0, u64::saturating_add);
    ListingRow {
        run: escape_formula(&run.name()),
        benchmark: escape_formula(&result.benchmark),
        scenario: result.scenario.to_string(),
        mode: result.mode.to_string(),
        verdict: verdict(result.verdict),
        started: result.started.as_deref(),
        test_seconds: result.test_seconds,
        metric: result.metric.as_ref().map(|metric| &*metric.name),
        value: result.metric.as_ref().map(|metric| metric.value),
        unit: result.metric.as_ref().map(|metric| &*metric.unit),
        accuracy: result.accuracy.as_ref().map(|accuracy| &*accuracy.reported),
        node: String::new(),
        issued: Some(result.samples.issued),
        answered: result.samples.completed,
        bytes_sent: sum(|node| node.bytes_sent),
        bytes_received: sum(|node| node.bytes_received),
        p50_ns: latency("50.00"),
        p90_ns: latency("90.00"),
        p99_ns: latency("99.00"),
        p99_9_ns: latency("99.90"),
        max_ns: latency("max"),
        mean_qdl_queue_ns: None,
        mean_network_ns: None,
        mean_sut_queue_ns: None,
        mean_compute_ns: None,
    }
}

fn of_node<'a>(run: &'a RecordedRun, node: &'a Node) -> ListingRow<'a> {
    let (latency, stages) = (&node.latency_ns, &node.stages_ns);
    ListingRow {
        metric: None,
        value: None,
        unit: None,
        accuracy: None,
        node: escape_formula(&node.name),
        issued: None,
        answered: node.answered,
        bytes_sent: node.bytes_sent,
        bytes_received: node.bytes_received,
        p50_ns: Some(latency.p50 as f64),
        p90_ns: Some(latency.p90 as f64),
        p99_ns: Some(latency.p99 as f64),
        p99_9_ns: Some(latency.p99_9 as f64),
        max_ns: Some(latency.max as f64),
        mean_qdl_queue_ns: Some(stages.qdl_queue.mean),
        mean_network_ns: Some(stages.network.mean),
        mean_sut_queue_ns: Some(stages.sut_queue.mean),
        mean_compute_ns: Some(stages.compute.mean),
        ..of_run(run)
    }
}

/// Returns tables of the facts and of the nodes, run by run.
pub(crate) fn markdown(runs: &[RecordedRun]) -> String {
    let mut text = String::new();
    for run in runs {
        let RunResult { benchmark, scenario, mode, nodes, .. } = &run.result;
        let name = cell(&run.name());
        text += &format!("## {name}: {benchmark} {scenario} {mode}\n\n");
        let outcome = [verdict(run.result.verdict)].into_iter();
        let outcome = outcome.chain(run.result.reasons.iter().map(String::as_str));
        text += &format!("**{}**\n\n", cell(&outcome.collect::<Vec<_>>().join("; ")));
        text += "| | |\n|---|---|\n";
        for (label, fact) in facts(&run.result) {
            text += &format!("| {} | {} |\n", cell(label), cell(&fact));
        }
        text += "\n| node, ms | answered | p50 | p99 | p99.9 | maximum | QDL queue | network | SUT queue | compute |\n";
        text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
        nodes.iter().for_each(|node| text += &of_node_in_ms(node));
        text += "\n";
    }
    text
}

fn of_node_in_ms(node: &Node) -> String {
    let (latency, stages) = (&node.latency_ns, &node.stages_ns);
    let times = [
        latency.p50 as f64,
        latency.p99 as f64,
        latency.p99_9 as f64,
        latency.max as f64,
        stages.qdl_queue.mean,
        stages.network.mean,
        stages.sut_queue.mean,
        stages.compute.mean,
    ];
    let times: Vec<_> = times.iter().map(|ns| format!("{:.3}", ns / 1e6)).collect();
    format!("| {} | {} | {} |\n", cell(&node.name), node.answered, times.join(" | "))
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
fn escape_formula(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@']) {
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
        assert_eq!(escape_formula("=1+1"), "'=1+1");
        assert_eq!(escape_formula("rack1-a"), "rack1-a");
    }
}
