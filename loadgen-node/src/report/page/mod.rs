//! Runs as one HTML file. It has no script and loads nothing, so that it opens anywhere and can be
//! printed.
//!
//! The attribute `data-pointer` of a figure from `result.json` is its JSON pointer there.

pub(in crate::report) mod axis;
mod comparison;
mod curves;
pub(in crate::report) mod elements;
mod nodes;
pub(in crate::report) mod plot;
mod sweep;
mod times;

use maud::{Markup, html};
use netdiv_machine::evidence::Machine;
use netdiv_rules::{Finding, Outcome};
use serde_json::Value;

use self::elements::{document, figure, table, words};
use super::run::{facts, purpose};
use crate::{
    comparison::{interface, machine as machine_facts},
    record::{RunResult, Verdict},
    recording::RecordedRun,
    units::count,
};

pub(crate) use self::{comparison::comparison, sweep::sweep};

pub(crate) fn html(runs: &[RecordedRun]) -> String {
    let title = match runs {
        [run] => format!("{}: {}", run.name(), summary(&run.result)),
        _ => count(runs.len(), "run"),
    };
    document(
        &title,
        &html! {
            (contents(runs))
            @for (number, run) in runs.iter().enumerate() {
            @if runs.len() > 1 { h2 { (run.name()) ": " (summary(&run.result)) } }
            (section(number, run))
        }
            p.note {
                "LoadGen's figures are the results of the run. The counts of the Query Dispatch Library (QDL) show where the time went; \
                they cover the whole run, and each sample from IssueQuery to completion."
            }
        },
    )
}

fn summary(result: &RunResult) -> String {
    format!("{} {} {}", result.benchmark, result.scenario, result.mode)
}

fn contents(runs: &[RecordedRun]) -> Markup {
    html! {
        nav aria-label="Contents" {
            @for (number, run) in runs.iter().enumerate() {
                p {
                    @if runs.len() > 1 { strong { (run.name()) } ": " }
                    @for (part, heading) in PARTS {
                        a href=(format!("#{part}-{number}")) { (heading) } " "
                    }
                }
            }
        }
    }
}

/// Parts of a run's section: the anchor and the heading of each.
const PARTS: [(&str, &str); 6] = [
    ("latency", "Latency"),
    ("time", "Over time"),
    ("nodes", "Nodes"),
    ("settings", "Settings"),
    ("machines", "Machines and network"),
    ("rules", "Rules"),
];

fn section(number: usize, run: &RecordedRun) -> Markup {
    let json = serde_json::to_value(&run.result).unwrap_or_default();
    let part = |place: usize, content: Markup| {
        let (part, heading) = PARTS[place];
        html! {
            h3 id=(format!("{part}-{number}")) { (heading) }
            (content)
        }
    };
    html! {
        section {
            (verdict_line(&run.result))
            (facts_table(run))
            (part(0, times::latency(run, &json)))
            (part(1, times::over_time(run)))
            (part(2, nodes::render(&run.result, &json)))
            (part(3, settings(&run.result)))
            (part(4, machines(&run.result, &json)))
            (part(5, rules(&run.result)))
        }
    }
}

fn verdict_line(result: &RunResult) -> Markup {
    let good = matches!(result.verdict, Verdict::Valid | Verdict::Complete);
    let why = match &result.reasons[..] {
        [] if result.verdict == Verdict::Valid => "LoadGen accepts the run".into(),
        [] if result.verdict == Verdict::Complete => "every sample has a response".into(),
        reasons => reasons.join("; "),
    };
    html! {
        p class=(format!("verdict {}", if good { "good" } else { "bad" })) {
            strong data-pointer="/verdict" { (result.verdict) } ": " (why) " (" (purpose(result)) ")"
        }
    }
}

fn facts_table(run: &RecordedRun) -> Markup {
    let result = &run.result;
    let mut facts = facts(result);
    facts.extend(result.started.iter().map(|at| ("started", at.clone())));
    facts.push(("duration", format!("{:.1} s", result.test_seconds)));
    let security = if result.tls { "with TLS" } else { "without TLS" };
    facts.push(("transport", format!("{} {security}", result.transport)));
    facts.push(("data set", format!("{}, {} samples", result.dataset, result.dataset_samples)));
    words(facts)
}

fn settings(result: &RunResult) -> Markup {
    let given = result.settings.iter().map(|(key, value)| match value.as_str() {
        Some(text) => (key.as_str(), text.to_owned()),
        None => (key.as_str(), value.to_string()),
    });
    let loadgen = result.test_settings.iter().map(|(key, value)| (key.as_str(), value.clone()));
    let versions = [
        ("loadgen-node", result.versions.loadgen_node.clone()),
        ("sources", format!("SHA-256 {}", result.versions.sources_sha256)),
        ("LoadGen", format!("{}, {}", result.versions.loadgen, result.versions.loadgen_origin)),
        ("wire contract", result.versions.wire_contract.to_string()),
    ];
    html! {
        p.note { "Options and keys that were set. All others had their defaults." }
        (words(given))
        details { summary { "LoadGen's settings" } (words(loadgen)) }
        details { summary { "Versions" } (words(versions)) }
    }
}

/// Shows the machines of a run; `json` is its `result.json`.
fn machines(result: &RunResult, json: &Value) -> Markup {
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
    let mut facts = machine_facts(of);
    for route in &of.routes {
        let mut way = format!("to {}", route.peer);
        way.extend(route.local_address.iter().map(|address| format!(", from {address}")));
        way.extend(interface(of, route).map(|interface| format!(" via {interface}")));
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

fn rules(result: &RunResult) -> Markup {
    html! {
        @if !result.division.has_rules() {
            p {
                "No rules were checked, because the run was not for a division. "
                code { "loadgen-node run --division network --rehearsal" }
                " shows what the rules would find; " code { "loadgen-node check" } " checks a run or a submission."
            }
        } @else if result.findings.is_empty() && result.waived.is_empty() {
            p { "The settings and the responses violate no rule of the " (result.division.title()) " division." }
        } @else {
            p.note {
                "Findings about the settings and the responses, by the rules of the " (result.division.title())
                " division (docs/RULES.md)."
            }
            (table("Rules", &["rule", "requirement", "outcome", "finding"], &[], &html! {
                @for finding in &result.findings { (row(finding, outcome(finding.outcome))) }
                @for finding in &result.waived { (row(finding, "not required")) }
            }))
        }
    }
}

fn row(finding: &Finding, outcome: &str) -> Markup {
    html! {
        tr {
            td.word { (finding.rule) }
            td.word { (finding.rule.text()) " (" (finding.rule.section()) ")" }
            td.word { (outcome) }
            td.word { @if !finding.place.is_empty() { (finding.place) ": " } (finding.text) }
        }
    }
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::CannotTell => "cannot tell",
        Outcome::Fail => "fail",
    }
}
