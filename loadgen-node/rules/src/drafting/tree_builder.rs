//! Files of a tree that settings and records determine: the descriptions of the system and of the
//! results, and the documents.

use std::collections::BTreeSet;

use netdiv_contract::encoding::Encoding;
use serde::Serialize;

use super::{
    architecture,
    cluster::Cluster,
    description, documents,
    folder::{FileTree, is_folder_name},
    gap::Problems,
    named_files::is_path,
    result_files::{measurements, readme},
    results::RecordedResult,
    submission_toml::SubmissionSettings,
    systems, topology,
};
use crate::{
    Division,
    book::RoundName,
    tree::{SubmitterFolder, documents as names},
};

/// Returns these files, and adds the faults of the settings. Paths of documents in the settings are
/// those in the tree. `round` is `None` if the runs are of another round.
pub(super) fn build(
    settings: &SubmissionSettings,
    round: Option<RoundName>,
    home: &SubmitterFolder,
    system: &str,
    results: &[RecordedResult<'_>],
    problems: &mut Problems,
) -> FileTree {
    let mut tree = texts(settings, home, results);
    for result in results {
        let tag = settings.retraining.as_ref();
        let fields = measurements(result, round, tag, problems);
        tree.insert(result.place.measurements_json(), json(&fields));
        tree.insert(result.place.readme(), readme(result).into_bytes());
    }
    if results.is_empty() {
        systems::check_without_runs(settings, problems);
    } else {
        tree.extend(machines(settings, home, system, results, problems));
    }
    tree
}

/// Returns the documents about compression, power and retraining, as far as the settings contain
/// them.
fn texts(
    settings: &SubmissionSettings,
    home: &SubmitterFolder,
    results: &[RecordedResult<'_>],
) -> FileTree {
    let runs = results.iter().flat_map(RecordedResult::records);
    let encodings: BTreeSet<_> = runs.map(|run| run.encoding).collect();
    let compressing = encodings.into_iter().filter(|encoding| *encoding != Encoding::None);
    let encodings: Vec<_> = compressing.map(Encoding::word).collect();
    let approval = settings.compression_approval.as_deref().unwrap_or_default().trim();
    let is_approved = !encodings.is_empty() && !approval.is_empty();
    let power = settings.power.as_ref().and_then(|power| power.text.as_ref());
    let documents = [
        (names::COMPRESSION, is_approved.then(|| documents::compression(&encodings, approval))),
        (names::POWER, power.map(|text| documents::power(text))),
        (names::RETRAINING, settings.retraining.as_ref().map(documents::retraining)),
    ];
    let file =
        |(name, text): (&str, Option<String>)| Some((home.document(name), text?.into_bytes()));
    documents.into_iter().filter_map(file).collect()
}

/// Returns all files about the machines, from the evidence in the record of the first performance
/// run.
fn machines(
    settings: &SubmissionSettings,
    home: &SubmitterFolder,
    system: &str,
    results: &[RecordedResult<'_>],
    problems: &mut Problems,
) -> FileTree {
    let mut tree = FileTree::new();
    let Some(first) = results.first() else { return tree };
    let cluster = &Cluster::of(first.performance);
    let topology = &settings.topology;
    // Section 6.2.3 requires the diagram in the Network division; in the Closed division it is
    // optional.
    let is_drawn = settings.division != Some(Division::Closed) || !topology.is_empty();
    let mut cables = Vec::new();
    if is_drawn {
        cables = topology::cables(topology, cluster, problems);
        problems.need(&topology.text, "[topology] write text: what the system diagram shows");
        let text = architecture::system_diagram(system, cluster, topology, &cables);
        tree.insert(home.document(names::DIAGRAM), text.into_bytes());
    }
    let runs: Vec<_> = results.iter().flat_map(RecordedResult::records).collect();
    let mut derived = description::fields(cluster, &runs);
    derived.extend(topology::link_fields(&cables));
    let description = systems::description(settings, &derived, problems);
    tree.insert(home.system_json(system), json(&description));
    let measurement = settings.architecture.measurement.as_deref().unwrap_or_default();
    for named in &cluster.machines {
        let name = &named.name;
        if !is_folder_name(name) {
            let text = format!("node `{name}`: its name is not a valid file name; rename it");
            problems.fault(text);
        }
        if measurement == format!("evidence/{name}.json") {
            let text = "[architecture] measurement: a machine has this name; rename the file";
            problems.fault(text);
        }
        tree.insert(home.evidence(name), json(&named.machine));
    }

    let what = "[architecture] write data_path: the path from the NIC to the accelerators and its bandwidth";
    let data_path = problems.need(&settings.architecture.data_path, what);
    let what =
        "[architecture] write measurement: a text, or the fabric.json of loadgen-node fabric";
    let measured = match problems.need(&settings.architecture.measurement, what) {
        path if is_path(path) => {
            format!("What was measured over this network: [{path}]({path}).")
        }
        text => text.to_owned(),
    };
    let text = architecture::architecture(system, cluster, data_path, &measured);
    tree.insert(home.document(names::ARCHITECTURE), text.into_bytes());
    let text = architecture::bandwidth(system, results);
    tree.insert(home.document(names::BANDWIDTH), text.into_bytes());
    tree
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Maps with strings as keys are always valid JSON.
    let value = serde_json::to_value(value).unwrap_or_default();
    format!("{value:#}\n").into_bytes()
}
