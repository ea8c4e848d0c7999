//! Machines of a run, and the routes between them.

use maud::{Markup, html};
use netdiv_machine::evidence::Machine;

use super::elements::{figure, table, words};
use crate::record::RunResult;

pub(super) fn render(result: &RunResult) -> Markup {
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
        (traffic(result))
    }
}

/// Lists the known facts about a machine.
fn machine(of: &Machine) -> Markup {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let mut add = |label, fact: Option<String>| facts.extend(fact.map(|fact| (label, fact)));
    add("host", of.host_name.clone());
    add("product", of.product.clone());
    add(
        "processors",
        of.cpu_model.as_ref().map(|model| match of.cpu_threads {
            Some(threads) => format!("{model}, {threads} threads"),
            None => model.clone(),
        }),
    );
    add(
        "memory",
        of.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)),
    );
    let accelerators: Vec<_> = of.accelerators.iter().map(|a| a.name.clone()).collect();
    add("accelerators", (!accelerators.is_empty()).then(|| accelerators.join(", ")));
    add("operating system", of.operating_system.clone());
    add("kernel", of.kernel.clone());
    add("container", of.container_image.clone());
    add("framework", of.framework.clone());
    for route in &of.routes {
        let interface = of.interfaces.iter().find(|i| Some(&i.name) == route.interface.as_ref());
        let mut way = format!("to {}", route.peer);
        way.extend(route.local_address.iter().map(|address| format!(", from {address}")));
        way.extend(route.interface.iter().map(|name| format!(" via {name}")));
        if let Some(interface) = interface {
            way.push_str(&format!(" ({}", interface.kind));
            way.extend(interface.model.iter().map(|model| format!(", {model}")));
            way.extend(
                interface
                    .speed_mbit_per_second
                    .map(|mbit| format!(", {} Gbit/s", mbit as f64 / 1e3)),
            );
            way.extend(interface.mtu_bytes.map(|mtu| format!(", MTU {mtu}")));
            way.push(')');
        }
        add("route", Some(way));
    }
    words(facts)
}

/// Shows the traffic of the LoadGen node's interfaces.
fn traffic(result: &RunResult) -> Markup {
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
                    (figure(&format!("/interfaces/{place}/bytes_sent"), interface.bytes_sent))
                    td { (rate(interface.bytes_sent)) }
                    (figure(&format!("/interfaces/{place}/bytes_received"), interface.bytes_received))
                    td { (rate(interface.bytes_received)) }
                } } },
            ))
        }
    }
}
