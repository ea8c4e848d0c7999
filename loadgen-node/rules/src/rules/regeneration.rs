//! Regenerates the documents about machines and bandwidth from the runs in a tree, as `submission`
//! makes them.

use crate::{
    Scenario,
    derived::markdown::{TableRow, UNKNOWN, on_one_line, rows},
    drafting::{
        bandwidth_document::{MeasuredResult, bandwidth},
        machine_documents,
    },
    facts::rate::bits_per_second,
    subject::{ResultEntry, RunKind, Subject, SubmissionTree, System, topology},
    submission::{LinkSettings, SwitchSettings, Topology},
    tree::documents,
};

/// Returns the system of a submission that has exactly one; `None` if it has several, because the
/// documents can then not be regenerated.
pub(crate) fn only_system<'a>(subject: &'a Subject<'_>) -> Option<&'a System> {
    let [system] = subject.systems.as_slice() else { return None };
    Some(system)
}

/// Returns the documents about the machines that `submission` may have made, as name and text.
/// `submission` used one of the performance runs, so that each document has a version for the
/// evidence of each of them. If the [`topology`] is unknown, only the architecture is returned.
/// `texts` are the submitter's two texts in the architecture.
pub(crate) fn regenerated_documents(
    subject: &Subject,
    tree: &SubmissionTree,
    texts: [&str; 2],
) -> Vec<(&'static str, String)> {
    let Some(system) = only_system(subject) else { return Vec::new() };
    let records = subject.records().filter(|(run, record)| {
        run.kind == RunKind::Performance && record.evidence.is_some() && !record.nodes.is_empty()
    });
    let topology = topology(subject, tree, system);
    let is_known = topology.is_some();
    let topology = topology.unwrap_or_default();
    let explained = Topology { text: Some(machine_documents::FREE.into()), ..topology.clone() };
    let again =
        |record, topology| machine_documents::regenerate(&system.name, record, topology, texts);
    let all = records.flat_map(|(_, record)| [again(record, &topology), again(record, &explained)]);
    let all = all.flatten().filter(|(name, _)| is_known || *name == documents::ARCHITECTURE);
    let mut once: Vec<_> = Vec::new();
    for paper in all {
        if !once.contains(&paper) {
            once.push(paper);
        }
    }
    once
}

/// Texts that a document may have: one for each run that `submission` may have used.
pub(super) struct AcceptableTexts<'p> {
    pub(super) texts: Vec<&'p str>,
    /// True if `texts` is complete; false if `submission` may have used a run whose record is
    /// unusable.
    pub(super) are_all: bool,
}

impl<'p> AcceptableTexts<'p> {
    /// Returns the texts of a document about the machines.
    pub(super) fn of(subject: &'p Subject, tree: &SubmissionTree, name: &str) -> Self {
        let papers = subject
            .generated_documents
            .get_or_init(|| regenerated_documents(subject, tree, [machine_documents::FREE; 2]));
        let texts = papers.iter().filter(|(paper, _)| *paper == name).map(|(_, text)| &text[..]);
        let mut performance = subject.runs().filter(|(_, run)| run.kind == RunKind::Performance);
        let are_all = performance.all(|(_, run)| run.result().is_some());
        Self { texts: texts.collect(), are_all }
    }
}

/// Returns the switches from the diagram's text and the links from the system description; `None`
/// if the links omit a port in use, or the diagram's text omits a switch of the links.
fn topology(subject: &Subject, tree: &SubmissionTree, system: &System) -> Option<Topology> {
    let links = topology::links(&system.text("network_topology")?)?;
    if !topology::unlinked(subject, system, &links).is_empty() {
        return None;
    }
    let text = tree.document(documents::DIAGRAM).unwrap_or_default();
    // The text before this heading is the submitter's.
    let rows = rows(text.rsplit_once("\n## Machines").map_or("", |(_, tables)| tables));
    let switches: Vec<_> = rows
        .iter()
        .filter(|row| row.head[0] == "switch")
        .filter_map(|row| {
            let [name, model, ports, speed] = row.cells.as_slice() else { return None };
            let [name, model, speed] = [name, model, speed].map(String::clone);
            Some(SwitchSettings { name, model, ports: ports.parse().ok()?, speed })
        })
        .collect();
    let has = |name: &String| switches.iter().any(|switch| switch.name == *name);
    if !topology::switches(subject, &links).iter().all(has) {
        return None;
    }
    let links = links.iter().map(|link| cable(link, &rows)).collect();
    Some(Topology { text: None, switches, links })
}

/// Returns a link with its media, rate and length. The link's text contains them in this order,
/// with commas between them. If they contain commas themselves, the row of the diagram's text
/// separates them.
fn cable(link: &topology::DescribedCable, rows: &[TableRow]) -> LinkSettings {
    let [from, to] = link.ends.each_ref().map(|(device, port)| format!("{device}:{port}"));
    let cable = |parts: [String; 3]| {
        let [media, rate, length] = parts;
        let length = Some(length).filter(|length| !["", UNKNOWN].contains(&length.as_str()));
        LinkSettings { from: from.clone(), to: to.clone(), media, rate, length }
    };
    let text = |link: &LinkSettings| -> String {
        let parts = [Some(&link.media), Some(&link.rate), link.length.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let of_ends = rows.iter().filter_map(|row| match row.cells.as_slice() {
        [one, other, parts @ ..] if *one == from && *other == to => parts.to_vec().try_into().ok(),
        _ => None,
    });
    if let Some(cable) = of_ends.map(cable).find(|cable| text(cable) == on_one_line(&link.text)) {
        return cable;
    }
    let parts: Vec<_> = link.text.split(", ").collect();
    let is_rate = |part: &&str| bits_per_second(part).is_some();
    let place = parts.iter().skip(1).position(is_rate).map_or(parts.len(), |place| place + 1);
    let (media, rest) = parts.split_at(place);
    let (rate, length) = rest.split_at(rest.len().min(1));
    cable([media, rate, length].map(|parts| parts.join(", ")))
}

/// Returns the report on the bandwidth of all results except [`unknown_bandwidths`]. Fails with a
/// reason if no report can be made.
pub(crate) fn report_on_bandwidth(subject: &Subject) -> Result<String, &'static str> {
    let system = only_system(subject).ok_or("the results are not of one system")?;
    let results: Vec<_> = subject.results.iter().filter_map(measured_bandwidth).collect();
    if results.is_empty() {
        return Err("no result has a benchmark of the table and a performance run with evidence");
    }
    Ok(bandwidth(&system.name, results))
}

/// Returns the results whose bandwidth cannot be computed again, each as its name in the report and
/// a flag. The flag is true if the reason is an unusable file, which is a separate finding.
pub(crate) fn unknown_bandwidths(subject: &Subject) -> Vec<(String, bool)> {
    let is_set_aside = |entry: &ResultEntry| {
        let run = entry.run(RunKind::Performance);
        run.is_none_or(|run| run.result().is_none() || run.detail().is_none())
    };
    let unknown = subject.results.iter().filter(|entry| measured_bandwidth(entry).is_none());
    unknown.map(|entry| (name(entry), is_set_aside(entry))).collect()
}

fn name(entry: &ResultEntry) -> String {
    let scenario = entry.scenario.map_or("", Scenario::official_name);
    format!("{} {scenario}", entry.name)
}

fn measured_bandwidth<'a>(entry: &'a ResultEntry) -> Option<MeasuredResult<'a>> {
    let run = entry.run(RunKind::Performance)?;
    let (record, scenario) = (run.result()?, entry.scenario?);
    record.evidence.as_ref().and(entry.benchmark)?;
    let rate = run.detail()?.throughput(scenario);
    Some(MeasuredResult { name: name(entry), benchmark: entry.benchmark, record, rate })
}
