//! Files of a tree that settings and records determine: the descriptions of the system and of the
//! results, and the documents.

use std::collections::BTreeSet;

use netdiv_contract::encoding::Encoding;
use serde::Serialize;

use super::{
    architecture, bandwidth_document,
    cluster::Cluster,
    description, documents,
    folder::{FileTree, is_folder_name},
    gap::Problems,
    measurements,
    named_files::is_path,
    readme,
    results::RecordedResult,
    submission_toml::SubmissionSettings,
    systems, topology,
};
use crate::{
    Division,
    book::RoundName,
    record::RunResult,
    tree::{SubmitterFolder, documents as names},
};

/// A tree in progress, with the data from which it is generated. Paths of documents in the settings
/// are those in the tree.
pub(super) struct TreeBuilder<'a> {
    pub(super) settings: &'a SubmissionSettings,
    /// Round of the submission; `None` if the runs are of another round.
    pub(super) round: Option<RoundName>,
    pub(super) home: &'a SubmitterFolder,
    pub(super) system: &'a str,
    pub(super) results: &'a [RecordedResult<'a>],
    pub(super) tree: &'a mut FileTree,
    pub(super) problems: &'a mut Problems,
}

impl TreeBuilder<'_> {
    /// Adds all files, and the faults of the settings.
    pub(super) fn build(&mut self) {
        self.texts();
        for result in self.results {
            let fields = measurements::measurements(
                result,
                self.round,
                self.settings.retraining.as_ref(),
                self.problems,
            );
            self.tree.insert(result.place.measurements_json(), json(&fields));
            self.tree.insert(result.place.readme(), readme::readme(result).into_bytes());
        }
        match self.results.first() {
            Some(first) => self.machines(first.performance),
            None => systems::check_without_runs(self.settings, self.problems),
        }
    }

    fn document(&mut self, name: &str, text: String) {
        self.tree.insert(self.home.document(name), text.into_bytes());
    }

    /// Adds the documents about compression, power and retraining, as far as the settings contain
    /// them.
    fn texts(&mut self) {
        let settings = self.settings;
        self.compression();
        if let Some(text) = settings.power.as_ref().and_then(|power| power.text.as_ref()) {
            self.document(names::POWER, documents::power(text));
        }
        if let Some(tag) = &settings.retraining {
            self.document(names::RETRAINING, documents::retraining(tag));
        }
    }

    fn compression(&mut self) {
        let runs = self.results.iter().flat_map(RecordedResult::records);
        let encodings: BTreeSet<_> = runs.map(|run| run.encoding).collect();
        let compressing = encodings.into_iter().filter(|encoding| *encoding != Encoding::None);
        let encodings: Vec<_> = compressing.map(Encoding::word).collect();
        if encodings.is_empty() {
            return;
        }
        let approval = self.settings.compression_approval.as_deref().unwrap_or_default().trim();
        if !approval.is_empty() {
            self.document(names::COMPRESSION, documents::compression(&encodings, approval));
        }
    }

    /// Adds all files about the machines, from the evidence in the record of `run`.
    fn machines(&mut self, run: &RunResult) {
        let (settings, system) = (self.settings, self.system);
        let cluster = &Cluster::of(run);
        let topology = &settings.topology;
        // Section 6.2.3 requires the diagram in the Network division; in the Closed division it is
        // optional.
        let is_drawn = settings.division != Some(Division::Closed) || !topology.is_empty();
        let mut cables = Vec::new();
        if is_drawn {
            cables = topology::cables(topology, cluster, self.problems);
            self.problems
                .need(&topology.text, "[topology] write text: what the system diagram shows");
            let text = architecture::system_diagram(system, cluster, topology, &cables);
            self.document(names::DIAGRAM, text);
        }
        let runs: Vec<_> = self.results.iter().flat_map(RecordedResult::records).collect();
        let mut derived = description::fields(cluster, &runs);
        derived.extend(topology::link_fields(&cables));
        let description = systems::description(settings, &derived, self.problems);
        self.tree.insert(self.home.system_json(system), json(&description));
        let measurement = settings.architecture.measurement.as_deref().unwrap_or_default();
        for named in &cluster.machines {
            let name = &named.name;
            if !is_folder_name(name) {
                let text = format!("node `{name}`: its name is not a valid file name; rename it");
                self.problems.fault(text);
            }
            if measurement == format!("evidence/{name}.json") {
                let text = "[architecture] measurement: a machine has this name; rename the file";
                self.problems.fault(text);
            }
            self.tree.insert(self.home.evidence(name), json(&named.machine));
        }

        let what = "[architecture] write data_path: the path from the NIC to the accelerators and its bandwidth";
        let data_path = self.problems.need(&settings.architecture.data_path, what);
        let what =
            "[architecture] write measurement: a text, or the fabric.json of loadgen-node fabric";
        let measured = match self.problems.need(&settings.architecture.measurement, what) {
            path if is_path(path) => {
                format!("What was measured over this network: [{path}]({path}).")
            }
            text => text.to_owned(),
        };
        let text = architecture::architecture(system, cluster, data_path, &measured);
        self.document(names::ARCHITECTURE, text);
        self.document(names::BANDWIDTH, bandwidth_document::bandwidth(system, self.results));
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Maps with strings as keys are always valid JSON.
    let value = serde_json::to_value(value).unwrap_or_default();
    format!("{value:#}\n").into_bytes()
}
