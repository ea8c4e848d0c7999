//! Compares documents, dashboard and alerts with the metrics of the registry.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

#[path = "../../../tests/src/generated.rs"]
mod generated;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use generated::assert_current;
use netdiv_node_common::metrics::{Kind, Metric, Unit, both_programs, loadgen_node, sut_node};
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(repository().join(path))
}

const COMMAND: &str = "NETDIV_WRITE_METRICS=1 cargo test --release -p netdiv-node-common --features process --test metrics_documents";

/// Returns the metrics as a Markdown table, with a row for each.
fn table(metrics: &[Metric]) -> String {
    let row = |Metric { name, kind, unit, labels, help }: &Metric| {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{name}` | {kind} | {unit} | {} | {help} |\n", labels.join(", "))
    };
    let rows: String = metrics.iter().map(row).collect();
    format!("| name | kind | unit | labels | meaning |\n|---|---|---|---|---|\n{rows}")
}

/// Writes the document if `NETDIV_WRITE_METRICS` is set.
#[test]
fn the_tables_are_those_of_the_registry() {
    let path = repository().join("docs/generated/metrics.md");
    let body = format!(
        "## SUT node\n\n{}\n## LoadGen node, during a run\n\n{}\n## Both programs\n\n{}",
        table(sut_node::ALL),
        table(loadgen_node::ALL),
        table(both_programs::ALL)
    );
    assert_current(&path, "Metrics", COMMAND, &body);
}

fn all() -> impl Iterator<Item = &'static Metric> {
    [sut_node::ALL, loadgen_node::ALL, both_programs::ALL].into_iter().flatten()
}

#[test]
fn names_end_as_those_of_prometheus_do() {
    for Metric { name, kind, unit, help, .. } in all() {
        let base = name.strip_suffix("_total");
        assert_eq!(base.is_some(), *kind == Kind::Counter, "{name}");
        let is_duration = (*kind, *unit) == (Kind::Histogram, Unit::Seconds);
        for (ending, has_it) in [
            ("_seconds", *unit == Unit::Seconds),
            ("_duration_seconds", is_duration),
            ("_bytes", *unit == Unit::Bytes),
            ("_info", help.starts_with("Always 1")),
        ] {
            assert_eq!(base.unwrap_or(name).ends_with(ending), has_it, "{name}: {ending}");
        }
    }
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name = |word: &&str| word.starts_with("netdiv_") || word.starts_with("process_");
    words.filter(is_name).map(String::from).collect()
}

/// Expressions that a dashboard sends to Prometheus.
fn expressions(value: &Value) -> Vec<String> {
    match value {
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value) {
                ("expr" | "query" | "definition", Value::String(text)) => vec![text.clone()],
                _ => expressions(value),
            })
            .collect(),
        Value::Array(values) => values.iter().flat_map(expressions).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
    let series: BTreeSet<_> = all().flat_map(Metric::series).collect();
    let dashboard: Value =
        serde_json::from_str(&read("deploy/grafana/netdiv.json").expect("a dashboard"))
            .expect("JSON");
    let first = |panel: &&Value| panel["gridPos"]["y"] == 1;
    let tiles = dashboard["panels"].as_array().expect("panels").iter().filter(first);
    let tiles: Vec<_> = tiles.map(|panel| &panel["title"]).collect();
    assert_eq!(tiles, ["Rate", "p99 against its bound", "Lost samples", "Nodes"]);
    let of_dashboard = named(&expressions(&dashboard).join("\n"));
    let alerts = read("deploy/prometheus/alerts.yml").expect("alerts");
    let exprs = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr:"));
    let of_alerts = named(&exprs.collect::<Vec<_>>().join("\n"));
    for (what, named) in [("the dashboard", of_dashboard), ("the alerts", of_alerts)] {
        let unknown: Vec<_> = named.difference(&series).collect();
        assert!(unknown.is_empty(), "{what}: there is no {unknown:?}");
        assert!(named.len() >= 6, "{what}: only {named:?}");
    }
}
