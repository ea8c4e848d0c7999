//! Facts and figures of a run that are compared.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_machine::evidence::{Machine, Route};
use netdiv_rules::{Mode, Scenario};
use serde_json::Value;

use super::subject::{MeasuredFigure, Subject, SubjectKind};
use crate::{
    record::{Accuracy, Metric, RunResult, Verdict},
    recording::{LATENCIES, PERCENTILES, RecordedRun},
};

/// Settings that name a destination and do not affect a run.
const DESTINATION_SETTINGS: [&str; 2] = ["settings output", "settings metrics"];

/// Converts a run that has ended into a subject.
pub(super) fn subject(run: RecordedRun) -> Subject {
    let result = &run.result;
    Subject {
        kind: SubjectKind::Run {
            benchmark: result.benchmark.clone(),
            scenario: result.scenario,
            mode: result.mode,
        },
        facts: facts(result),
        workload: workload(result),
        remarks: Vec::new(),
        figures: figures(result),
        folder: run.folder,
        histograms: run.histograms,
    }
}

fn figures(result: &RunResult) -> Vec<MeasuredFigure> {
    let is_good = matches!(result.verdict, Verdict::Valid | Verdict::Complete);
    let share = f64::from(u8::from(is_good));
    let mut figures =
        vec![MeasuredFigure::exact("share of runs that are valid or complete", "", share)];
    for Metric { name, unit, value } in result.metric.iter().chain(&result.token_metric) {
        figures.push(MeasuredFigure::new(name, unit, vec![*value]));
    }
    if let Some(Accuracy { metric, .. }) = &result.accuracy {
        figures.push(MeasuredFigure::exact("accuracy", &metric.unit, metric.value));
    }
    if result.mode == Mode::Accuracy {
        return figures;
    }
    // In Offline all samples are issued at once: their waiting times only repeat what the rate
    // shows.
    let kinds = LATENCIES.iter().filter(|_| result.scenario != Scenario::Offline);
    for (prefix, what) in kinds {
        for (percentile, shown) in PERCENTILES {
            let ns = result.loadgen_latency_ns.get(&format!("{prefix}{percentile}"));
            let name = format!("{what} {shown}");
            figures.extend(ns.map(|ns| MeasuredFigure::new(name, "ns", vec![*ns])));
        }
    }
    let samples = result.samples.completed;
    if samples > 0 {
        let spent = result.process.cpu_seconds * 1e9 / samples as f64;
        let name = "processor time of the LoadGen node, a sample";
        figures.push(MeasuredFigure::new(name, "ns", vec![spent]));
    }
    figures
}

/// Returns the settings and counts that describe the workload, by name. Contains only those that
/// other benchmark clients report as well, so that their results compare with runs.
fn workload(result: &RunResult) -> BTreeMap<String, String> {
    let samples = &result.samples;
    let mut workload = BTreeMap::from([
        ("client".to_owned(), format!("LoadGen {}", result.versions.loadgen)),
        ("samples".into(), format!("{} issued, {} completed", samples.issued, samples.completed)),
    ]);
    let prompts = result.prompt_tokens.as_ref();
    let prompts = prompts.map(|prompts| format!("mean {:.2}, max {}", prompts.mean, prompts.max));
    workload.extend(prompts.map(|text| ("tokens of a prompt".into(), text)));
    let all = || result.nodes.iter().filter_map(|node| node.tokens.as_ref());
    if let Some(max) = all().map(|tokens| tokens.per_answer.max).max() {
        let total: u64 = all().map(|tokens| tokens.total).sum();
        let mean = total as f64 / samples.completed.max(1) as f64;
        workload.insert("tokens of an output".into(), format!("mean {mean:.2}, max {max}"));
        if let Some(length) = all().map(|tokens| tokens.finished_by_length).sum::<Option<u64>>() {
            workload.insert("outputs with finish reason length".into(), length.to_string());
        }
    }
    workload
}

/// Returns all facts that may make a run faster or slower, by name.
fn facts(result: &RunResult) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::<String, BTreeSet<String>>::new();
    let mut add = |what: String, value: String| {
        facts.entry(what).or_default().insert(value);
    };
    for (key, value) in &result.settings {
        add(format!("settings {key}"), setting(value));
    }
    for (key, value) in &result.test_settings {
        add(format!("LoadGen {key}"), value.clone());
    }
    let versions = &result.versions;
    for (what, value) in [
        ("version of loadgen-node", versions.loadgen_node.clone()),
        ("sources of loadgen-node", versions.sources_sha256.clone()),
        ("version of LoadGen", versions.loadgen.clone()),
        ("data set", result.dataset.clone()),
        ("encoding", result.encoding.to_string()),
        ("transport", result.transport.to_string()),
        ("TLS", result.tls.to_string()),
        ("nodes", result.nodes.len().to_string()),
    ] {
        add(what.into(), value);
    }
    if let Some(part) = result.dataset_part {
        add("part of the data set".into(), part.name.to_string());
    }
    // The order and the names of nodes do not matter: only their programs and machines count.
    for node in &result.nodes {
        for (what, value) in [
            ("engines", &node.engine),
            ("models", &node.model),
            ("SHA-256 of models", &node.model_sha256),
            ("configurations of nodes", &node.config_sha256),
            ("versions of sut-node", &node.software_version),
        ] {
            add(what.into(), value.clone());
        }
    }
    if let Some(evidence) = &result.evidence {
        let nodes = evidence.nodes.values().map(|node| ("SUT nodes'", node));
        for (whose, of) in [("LoadGen node", &evidence.loadgen_node)].into_iter().chain(nodes) {
            let interface = |route: &Route| Some(("interfaces", interface(of, route)?));
            let interfaces = of.routes.iter().filter_map(interface);
            for (what, value) in machine(of).into_iter().chain(interfaces) {
                add(format!("{whose} {what}"), value);
            }
        }
    }
    facts.retain(|what, _| !DESTINATION_SETTINGS.contains(&what.as_str()));
    let joined = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(", ");
    facts.into_iter().map(|(what, values)| (what, joined(values))).collect()
}

/// Returns the value of a setting as text; the values of a list are joined by commas.
pub(crate) fn setting(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(setting).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}

/// Returns the known facts about a machine, without its interfaces.
pub(crate) fn machine(of: &Machine) -> Vec<(&'static str, String)> {
    let threads = of.cpu_threads.map(|threads| format!(", {threads} threads")).unwrap_or_default();
    let gib = of.memory_bytes.map(|bytes| bytes as f64 / (1u64 << 30) as f64);
    let accelerators: Vec<_> = of.accelerators.iter().map(|one| one.name.as_str()).collect();
    let facts = [
        ("host", of.host_name.clone()),
        ("product", of.product.clone()),
        ("processors", of.cpu_model.as_ref().map(|model| format!("{model}{threads}"))),
        ("memory", gib.map(|gib| format!("{gib:.1} GiB"))),
        ("accelerators", (!accelerators.is_empty()).then(|| accelerators.join(", "))),
        ("operating system", of.operating_system.clone()),
        ("kernel", of.kernel.clone()),
        ("container", of.container_image.clone()),
        ("framework", of.framework.clone()),
    ];
    facts.into_iter().filter_map(|(what, fact)| Some((what, fact?))).collect()
}

/// Describes the interface of a route.
pub(crate) fn interface(of: &Machine, route: &Route) -> Option<String> {
    let name = route.interface.as_ref()?;
    let Some(found) = of.interfaces.iter().find(|interface| interface.name == *name) else {
        return Some(name.clone());
    };
    let speed = found.speed_mbit_per_second.map(|mbit| format!("{} Gbit/s", mbit as f64 / 1e3));
    let mtu = found.mtu_bytes.map(|mtu| format!("MTU {mtu}"));
    let facts = [Some(found.kind.clone()), found.model.clone(), speed, mtu];
    Some(format!("{name} ({})", facts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}
