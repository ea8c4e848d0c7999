//! Runs as an HTML file: one run, or an overview of several. It has no script and loads nothing, so
//! that it opens anywhere and can be printed.
//!
//! The attribute `data-pointer` of a figure from `result.json` is its JSON pointer there.

pub(in crate::report) mod axis;
mod comparison;
mod curves;
pub(in crate::report) mod elements;
mod fabric;
mod heat_map;
mod links;
mod nodes;
mod phrases;
pub(in crate::report) mod plot;
mod summary;
mod sweep;
mod sweep_curves;
mod times;

use maud::{Markup, PreEscaped, html};
use netdiv_machine::evidence::Machine;
use netdiv_rules::{Finding, Outcome};
use serde_json::Value;

use self::{
    elements::{date, document, download, figure, list, table, words},
    summary::{is_good, metrics, overview, tiles_of},
};
use super::{
    lateness::SLOW_NODE,
    listing::{self, escape_formula},
    run::{facts, purpose},
};
use crate::{
    RunError,
    comparison::{interface, machine as machine_facts, setting},
    record::{RunResult, Verdict},
    recording::{
        RecordedRun,
        series::{self, SeriesRow},
    },
    units::count,
};

pub(crate) use self::{
    comparison::comparison,
    fabric::{fabric, fabric_matrix, fabric_plot},
    links::{PAGE, link},
    plot::LINES,
    summary::Entry,
    sweep::sweep,
};

/// Maximum length of the series that a page contains for downloading, in bytes.
const SERIES: usize = 250_000;

/// Returns the page of one run.
pub(crate) fn run(run: &RecordedRun) -> Result<String, RunError> {
    let csv = listing::csv([(&run.name()[..], run)])?;
    let escaped = |row: &SeriesRow| SeriesRow { node: escape_formula(&row.node), ..row.clone() };
    let series: Vec<_> = run.series.iter().map(escaped).collect();
    let series = series::csv(&series).filter(|csv| csv.len() <= SERIES);
    let downloads = html! {
        p.note.download {
            "Download: " (download("nodes.csv", &csv))
            @if let Some(series) = series { (download("series.csv", &series)) }
        }
    };
    Ok(document(
        &format!("{}: {}", run.name(), summary(&run.result)),
        &html! { (chapter(0, run, &downloads)) (footnote()) },
    ))
}

/// Returns the page of several runs: an overview, and a chapter for each if they are few and
/// `has_chapters` is set. `unread` has the reasons why other runs cannot be read.
pub(crate) fn runs(
    title: &str,
    entries: &[Entry],
    unread: &[String],
    has_chapters: bool,
) -> Result<String, RunError> {
    let has_chapters = has_chapters && entries.len() <= LINES;
    let csv = listing::csv(entries.iter().map(|entry| (&entry.name[..], &entry.run)))?;
    Ok(document(
        title,
        &html! {
            p { (count(entries.len(), "run")) ". " span.download { "Download: " (download("runs.csv", &csv)) } }
            @for why in unread { p.verdict.bad { "Not shown: " (why) } }
            (overview(entries, has_chapters.then_some("run")))
            @if has_chapters { @for (number, entry) in entries.iter().enumerate() {
                h2 id=(format!("run-{number}")) { (entry.name) ": " (summary(&entry.run.result)) }
                (chapter(number, &entry.run, &html! {}))
            } }
            (footnote())
        },
    ))
}

fn footnote() -> Markup {
    html! {
        p.note {
            "LoadGen's figures are the results of a run. The counts of the Query Dispatch Library (QDL) show where the time went; \
            they cover the whole run, and each sample from IssueQuery to completion."
        }
    }
}

fn summary(result: &RunResult) -> String {
    format!("{} {} {}", result.benchmark, result.scenario, result.mode)
}

/// Parts of a run's chapter: the anchor and the heading of each.
const PARTS: [(&str, &str); 7] = [
    ("latency", "Latency"),
    ("time", "Over time"),
    ("nodes", "Nodes"),
    ("facts", "Facts"),
    ("settings", "Settings"),
    ("machines", "Machines and network"),
    ("rules", "Rules"),
];

/// Returns the chapter of a run. Its `downloads` follow the decisive figures.
fn chapter(number: usize, run: &RecordedRun, downloads: &Markup) -> Markup {
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
            (tiles_of(&run.result))
            (warnings(&run.result))
            nav aria-label=(format!("Contents of {}", run.name())) {
                @for (part, heading) in PARTS { a href=(format!("#{part}-{number}")) { (heading) } " " }
            }
            (downloads)
            (part(0, times::latency(run, &json)))
            (part(1, times::over_time(run)))
            (part(2, nodes::render(&run.result, &json)))
            (part(3, facts_table(run)))
            (part(4, settings(&run.result)))
            (part(5, machines(&run.result, &json)))
            (part(6, rules(&run.result)))
        }
    }
}

fn verdict_line(result: &RunResult) -> Markup {
    // LoadGen joins its reasons by stars.
    let mut reasons = result.reasons.iter().flat_map(|reasons| reasons.split(" * "));
    let why = reasons.next().unwrap_or(match result.verdict {
        Verdict::Valid => "LoadGen accepts the run",
        Verdict::Complete => "every sample has a response",
        _ => "the run states no reason",
    });
    let more: Vec<_> = reasons.collect();
    html! {
        div class=(format!("verdict {}", if is_good(result.verdict) { "good" } else { "bad" })) {
            strong data-pointer="/verdict" { (result.verdict) } ": " (why) " (" (purpose(result)) ")"
            @if !more.is_empty() { ul { @for reason in more { li { (reason) } } } }
        }
    }
}

/// Labels of the facts that a reader has to know before the figures.
const WARNINGS: [&str; 3] = ["rules violated", "short of processors", SLOW_NODE];

fn warnings(result: &RunResult) -> Markup {
    let facts = facts(result);
    let mut facts = facts.iter().filter(|(label, _)| WARNINGS.contains(label)).peekable();
    html! {
        @if facts.peek().is_some() {
            ul.warnings { @for (label, fact) in facts { li { strong { (label) } ": " (fact) } } }
        }
    }
}

fn facts_table(run: &RecordedRun) -> Markup {
    let result = &run.result;
    let mut facts = facts(result);
    // The tiles have the metrics.
    let is_above =
        |label| WARNINGS.contains(&label) || metrics(result).any(|metric| metric.name == label);
    facts.retain(|(label, _)| !is_above(*label));
    facts.extend(result.started.iter().map(|at| ("started", date(at))));
    facts.push(("duration", format!("{:.1} s", result.test_seconds)));
    let security = if result.tls { "with TLS" } else { "without TLS" };
    facts.push(("transport", format!("{} {security}", result.transport)));
    facts.push(("data set", format!("{}, {} samples", result.dataset, result.dataset_samples)));
    words(facts)
}

fn settings(result: &RunResult) -> Markup {
    let given = result.settings.iter().map(|(key, value)| (key.as_str(), setting(value)));
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
    // Nodes on like machines share a table.
    let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, node) in &evidence.nodes {
        let facts = machine(node).into_string();
        match alike.iter_mut().find(|(other, _)| *other == facts) {
            Some((_, names)) => names.push(name),
            None => alike.push((facts, vec![name])),
        }
    }
    html! {
        h4 { "LoadGen node" }
        (machine(&evidence.loadgen_node))
        @for (machine, names) in &alike {
            details open[alike.len() <= 4] {
                summary { (if names.len() == 1 { "SUT node " } else { "SUT nodes " }) (list(names)) }
                (PreEscaped(machine))
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
                &[],
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
            (table("Rules", &["rule", "requirement", "outcome", "finding"], &[], &[], &html! {
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
