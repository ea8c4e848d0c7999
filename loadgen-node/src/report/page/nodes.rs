//! Nodes side by side: the slow nodes, and their slow stages.

use maud::{Markup, html};
use serde_json::Value;

use super::{
    elements::{bar, figure, framed, table},
    plot::colour,
};
use crate::{
    comparison::Spread,
    record::{Node, RunResult, StageTimes},
    report::columns::{columns, titles},
};

/// Ratio of a node's mean latency to the median of all nodes, above which the node is called slow.
const SLOW: f64 = 1.2;

const STAGES: [&str; 4] = ["QDL queue", "network", "SUT queue", "compute"];

/// Shows the nodes of a run; `json` is its `result.json`.
pub(super) fn render(result: &RunResult, json: &Value) -> Markup {
    let nodes = &result.nodes;
    html! {
        (slow(nodes))
        (counts(result, json))
        (stages(nodes))
        (batches(nodes))
    }
}

fn means(stages: &StageTimes) -> [f64; 4] {
    [stages.qdl_queue.mean, stages.network.mean, stages.sut_queue.mean, stages.compute.mean]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Spread::from_values(values.collect()).map_or(0.0, |spread| spread.median)
}

/// Names each slow node, and the stage that contributes most to its latency.
fn slow(nodes: &[Node]) -> Markup {
    // A node without responses has no latency.
    let nodes: Vec<_> = nodes.iter().filter(|node| node.answered > 0).collect();
    if nodes.len() < 2 {
        return html! {};
    }
    let typical = median(nodes.iter().map(|node| node.latency_ns.mean));
    let stage = |place: usize| median(nodes.iter().map(|n| means(&n.stages_ns)[place]));
    let slow: Vec<_> = nodes
        .iter()
        .filter(|node| node.latency_ns.mean > SLOW * typical)
        .map(|node| {
            let more = |place: &usize| means(&node.stages_ns)[*place] - stage(*place);
            let most = (0..STAGES.len()).max_by(|a, b| more(a).total_cmp(&more(b))).unwrap_or(0);
            let times = node.latency_ns.mean / typical;
            (*node, times, STAGES[most], more(&most) / 1e6)
        })
        .collect();
    html! {
        @if slow.is_empty() {
            p { "No node's mean latency is above " (SLOW) " times the median of the nodes." }
        }
        @for (node, times, stage, more) in slow {
            p {
                strong { (node.name) } " is slow: its mean latency is " (format!("{times:.1}")) " times the median of the \
                nodes, mostly because of the stage “" (stage) "” (" (format!("{more:.3}")) " ms more than the median)."
            }
        }
    }
}

fn counts(result: &RunResult, json: &Value) -> Markup {
    let columns = columns(result, true);
    let titles = titles(&columns);
    let titles: Vec<_> = titles.iter().map(String::as_str).collect();
    let (names, figures) = titles.split_at(1);
    let rows = html! { @for (place, node) in result.nodes.iter().enumerate() { tr {
        th.word scope="row" title=(node.address) { (node.name) }
        @for (.., pointer) in &columns[1..] {
            (figure(json, &format!("/nodes/{place}{pointer}")))
        }
    } } };
    table("Counts of the QDL for each node", names, figures, &[], &rows)
}

/// Shows where the time of an average sample went, node by node, on one scale.
fn stages(nodes: &[Node]) -> Markup {
    let whole = |node: &Node| means(&node.stages_ns).iter().sum::<f64>();
    let longest = nodes.iter().map(whole).fold(0.0, f64::max);
    if longest <= 0.0 {
        return html! {};
    }
    let legend: Vec<_> =
        STAGES.into_iter().enumerate().map(|(number, name)| (name, colour(number))).collect();
    let shares = |node| means(node).into_iter().enumerate();
    let content = html! {
        table.bars { tbody { @for node in nodes { tr {
            th.word scope="row" title=(node.name) { (node.name) }
            td style="width:100%" {
                (bar(shares(&node.stages_ns).map(|(number, mean)| (colour(number), mean / longest))))
            }
            td { (format!("{:.3} ms", whole(node) / 1e6)) }
        } } } }
    };
    framed("Mean time of a sample in each stage", &legend, &content, &[])
}

fn batches(nodes: &[Node]) -> Markup {
    let mut sizes = std::collections::BTreeMap::<u32, u64>::new();
    for (size, count) in nodes.iter().flat_map(|node| &node.batches) {
        let all = sizes.entry(*size).or_default();
        *all = all.saturating_add(*count);
    }
    let most = sizes.values().copied().max().unwrap_or(0).max(1);
    html! {
        @if !sizes.is_empty() {
            details open[sizes.len() <= 16] {
                summary { "Batches of all nodes, by size in samples" }
                table.bars {
                    thead { tr { th { "size" } th.word { "" } th { "batches" } } }
                    tbody { @for (size, count) in sizes { tr {
                        td { (size) }
                        td style="width:100%" { (bar([(colour(0), count as f64 / most as f64)])) }
                        td { (count) }
                    } } }
                }
            }
        }
    }
}
