//! Facts and figures of a run that are compared.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_machine::evidence::Machine;
use netdiv_rules::{Mode, Scenario};

use super::{
    kind::SubjectKind,
    subject::{MeasuredFigure, Subject},
};
use crate::{
    record::{Accuracy, Metric, RunResult, Verdict},
    recording::run::RecordedRun,
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

/// Kinds of latencies: the prefix of each kind's keys in `result.json`, and its name.
pub(super) const LATENCIES: [(&str, &str); 3] =
    [("", "latency"), ("first_token_", "TTFT"), ("further_token_", "TPOT")];
/// Percentiles: the end of each percentile's keys in `result.json`, and its name.
pub(super) const PERCENTILES: [(&str, &str); 4] =
    [("50.00", "p50"), ("90.00", "p90"), ("99.00", "p99"), ("99.90", "p99.9")];

/// Returns the figures of a run.
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
    let mut facts = BTreeMap::new();
    let mut add = |name: String, value: Option<String>| {
        if !DESTINATION_SETTINGS.contains(&&*name) {
            facts.extend(value.map(|value| (name, value)));
        }
    };
    for (key, value) in &result.settings {
        add(format!("settings {key}"), Some(value.to_string()));
    }
    for (key, value) in &result.test_settings {
        add(format!("LoadGen {key}"), Some(value.clone()));
    }
    let versions = &result.versions;
    add("version of loadgen-node".into(), Some(versions.loadgen_node.clone()));
    add("sources of loadgen-node".into(), Some(versions.sources_sha256.clone()));
    add("version of LoadGen".into(), Some(versions.loadgen.clone()));
    add("data set".into(), Some(result.dataset.clone()));
    add("encoding".into(), Some(result.encoding.to_string()));
    add("transport".into(), Some(result.transport.to_string()));
    add("TLS".into(), Some(result.tls.to_string()));
    add("nodes".into(), Some(result.nodes.len().to_string()));
    // The order and the names of nodes do not matter: only their programs and machines count.
    let mut of_nodes = BTreeMap::<&str, BTreeSet<String>>::new();
    for node in &result.nodes {
        for (what, value) in [
            ("engines", &node.engine),
            ("models", &node.model),
            ("SHA-256 of models", &node.model_sha256),
            ("configurations of nodes", &node.config_sha256),
            ("versions of sut-node", &node.software_version),
        ] {
            of_nodes.entry(what).or_default().insert(value.clone());
        }
    }
    for (what, values) in of_nodes {
        add(what.into(), Some(values.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if let Some(evidence) = &result.evidence {
        for (what, value) in machine(&evidence.loadgen_node) {
            add(format!("LoadGen node {what}"), value);
        }
        let mut of_machines = BTreeMap::<&str, BTreeSet<String>>::new();
        for (what, value) in evidence.nodes.values().flat_map(machine) {
            of_machines.entry(what).or_default().extend(value);
        }
        for (what, values) in of_machines {
            let values: Vec<_> = values.into_iter().collect();
            add(format!("SUT nodes' {what}"), (!values.is_empty()).then(|| values.join(", ")));
        }
    }
    facts
}

fn machine(of: &Machine) -> [(&'static str, Option<String>); 8] {
    let names = |names: Vec<String>| (!names.is_empty()).then(|| names.join(", "));
    let interface = |route: &netdiv_machine::evidence::Route| {
        let found = of.interfaces.iter().find(|i| Some(&i.name) == route.interface.as_ref())?;
        let speed = found.speed_mbit_per_second.map(|mbit| format!(" {mbit} Mbit/s"));
        let mtu = found.mtu_bytes.map(|mtu| format!(" MTU {mtu}"));
        Some(format!("{}{}{}", found.name, speed.unwrap_or_default(), mtu.unwrap_or_default()))
    };
    let interfaces: BTreeSet<_> = of.routes.iter().filter_map(interface).collect();
    [
        ("host", of.host_name.clone()),
        ("processors", of.cpu_model.clone()),
        ("threads", of.cpu_threads.map(|threads| threads.to_string())),
        ("memory, bytes", of.memory_bytes.map(|bytes| bytes.to_string())),
        ("kernel", of.kernel.clone()),
        ("container", of.container_image.clone()),
        ("accelerators", names(of.accelerators.iter().map(|a| a.name.clone()).collect())),
        ("interfaces", names(interfaces.into_iter().collect())),
    ]
}
