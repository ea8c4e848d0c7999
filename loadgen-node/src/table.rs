//! The closing table.

use crate::result::{Distribution, Division, Node, RunResult, Verdict};

/// The run in words, for the terminal.
pub(crate) fn render(result: &RunResult) -> String {
    let mut lines = vec![format!(
        "{} {} {}: {}, {}",
        result.benchmark,
        result.scenario,
        result.mode,
        verdict(result.verdict),
        purpose(result)
    )];
    let broken = result.broken_rules();
    if !broken.is_empty() {
        lines.push(format!("  rules broken      {broken}; result.json says how"));
    }
    lines.extend(result.reasons.iter().map(|reason| format!("  {reason}")));
    if let Some(metric) = &result.metric {
        let value = match metric.unit.as_str() {
            "ns" => format!("{:.3} ms", metric.value / 1e6),
            unit => format!("{:.1} {unit}", metric.value),
        };
        lines.push(format!("  {:<18}{value}", metric.name.clone() + " "));
    }
    if let Some(accuracy) = &result.accuracy {
        let (value, unit) = (&accuracy.reported, &accuracy.metric.unit);
        let (correct, total) = (accuracy.correct, accuracy.total);
        lines.push(format!("  accuracy          {value} {unit} top-1 ({correct} of {total})"));
    }
    if let Some(command) = &result.official_accuracy {
        lines.push(format!("  accuracy          by {command}"));
    }
    let samples = &result.samples;
    let late = samples.late.map(|late| format!(", {late} late")).unwrap_or_default();
    lines.push(format!(
        "  samples           {} issued, {} completed, {} lost{late}",
        samples.issued, samples.completed, samples.lost
    ));
    if let Some(digests) = &result.digests {
        let compared = digests.by_name().map(|(what, compared)| {
            format!("{} {what} with {} differences", compared.received, compared.differences)
        });
        lines.push(format!("  digests           {}", compared.join(", ")));
    }
    if let (Some(name), Some(ns)) = (&result.sut_name, result.get_sut_name_duration_ns) {
        lines.push(format!("  SUT name          {name} ({} µs)", ns / 1000));
    }
    lines.push(String::new());
    lines.push(
        "                          batch  latency, ms                        mean ms in".into(),
    );
    lines.push(
        "  node          answered   mean     p50      p99    p99.9      max     QDL network   queue compute"
            .into(),
    );
    lines.extend(result.nodes.iter().map(node));
    lines.join("\n")
}

/// What the run was for; whatever is not for a division is no MLPerf result.
fn purpose(result: &RunResult) -> &'static str {
    match (result.division, result.rehearsal) {
        (Division::Exploratory, _) => "exploratory",
        (Division::Network, true) => "rehearsal for the Network division",
        (Division::Network, false) => "Network division",
        (Division::Open, _) => "Open division",
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "VALID",
        Verdict::Complete => "COMPLETE",
        Verdict::Invalid => "INVALID",
        Verdict::Failed => "FAILED",
    }
}

fn node(node: &Node) -> String {
    let batches: u64 = node.batches.values().sum();
    let mean_batch = node.answered as f64 / batches.max(1) as f64;
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean_ms = |times: &Distribution| times.mean / 1e6;
    let (latency, stages) = (&node.latency_ns, &node.stages_ns);
    format!(
        "  {:<12} {:>9} {:>6.1} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>7.2} {:>7.2} {:>7.2} {:>7.2}",
        node.name,
        node.answered,
        mean_batch,
        ms(latency.p50),
        ms(latency.p99),
        ms(latency.p99_9),
        ms(latency.max),
        mean_ms(&stages.qdl_queue),
        mean_ms(&stages.network),
        mean_ms(&stages.sut_queue),
        mean_ms(&stages.compute),
    )
}
