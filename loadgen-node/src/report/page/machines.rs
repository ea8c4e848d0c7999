//! Machines of a run, and the routes between them.

use maud::{Markup, html};
use netdiv_machine::evidence::Machine;
use serde_json::Value;

use super::elements::{figure, table, words};
use crate::{comparison, record::RunResult};

/// Shows the machines of a run; `json` is its `result.json`.
pub(super) fn render(result: &RunResult, json: &Value) -> Markup {
    let Some(evidence) = &result.evidence else {
        return html! { p.note { "The run has no record of its machines." } };
    };
    html! {
        h4 { "LoadGen node" }
        (machine(&evidence.loadgen_node))
        @for (name, node) in &evidence.nodes {
            details open[evidence.nodes.len() <= 4] {
                summary { "SUT node " (name) }
                (machine(node))
            }
        }
        (traffic(result, json))
    }
}

fn machine(of: &Machine) -> Markup {
    let mut facts = comparison::machine(of);
    for route in &of.routes {
        let mut way = format!("to {}", route.peer);
        way.extend(route.local_address.iter().map(|address| format!(", from {address}")));
        way.extend(comparison::interface(of, route).map(|interface| format!(" via {interface}")));
        facts.push(("route", way));
    }
    words(facts)
}

fn traffic(result: &RunResult, json: &Value) -> Markup {
    let rate =
        |bytes: u64| format!("{:.3}", bytes as f64 * 8.0 / 1e9 / result.test_seconds.max(1e-9));
    html! {
        @if !result.interfaces.is_empty() {
            (table(
                "Bytes that the LoadGen node's interfaces carried for all programs during the test, and the mean rates in Gbit/s",
                &["interface"],
                &["bytes sent", "Gbit/s", "bytes received", "Gbit/s"],
                &html! { @for (place, interface) in result.interfaces.iter().enumerate() { tr {
                    th.word scope="row" { (interface.name) }
                    (figure(json, &format!("/interfaces/{place}/bytes_sent")))
                    td { (rate(interface.bytes_sent)) }
                    (figure(json, &format!("/interfaces/{place}/bytes_received")))
                    td { (rate(interface.bytes_received)) }
                } } },
            ))
        }
    }
}
