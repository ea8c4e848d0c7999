//! Parts of a tree that are generated from settings, results and machines.

use std::{collections::BTreeSet, path::Path};

use netdiv_contract::encoding::Encoding;
use netdiv_node_common::{resources::text, words::is_todo};
use serde::Serialize;

use super::{
    bandwidth_document,
    cluster::Cluster,
    documents,
    folder::{FileTree, is_folder_name},
    graph, machine_documents,
    make_user_conf::user_conf,
    measurements,
    problems::Problems,
    results::LoadedResult,
    runs::RunFolder,
    submission_toml::SubmissionSettings,
    systems, topology,
};
use crate::{
    Division,
    book::RoundName,
    derived::description,
    input::files,
    record::RunResult,
    tree::{SubmitterFolder, documents as names},
};

/// A tree in progress, with the data from which it is generated.
pub(super) struct TreeBuilder<'a> {
    pub(super) settings: &'a SubmissionSettings,
    /// Round of the submission; `None` if the runs are of another round.
    pub(super) round: Option<RoundName>,
    pub(super) base: &'a Path,
    pub(super) home: &'a SubmitterFolder,
    pub(super) system: &'a str,
    pub(super) results: &'a [LoadedResult<'a>],
    pub(super) tree: &'a mut FileTree,
    pub(super) problems: &'a mut Problems,
}

impl TreeBuilder<'_> {
    fn document(&mut self, name: &str, text: String) {
        self.tree.insert(self.home.document(name), text.into_bytes());
    }

    /// Reads a file that the setting `key` names. Adds a fault if the file is empty or cannot be
    /// read.
    pub(super) fn bytes(&mut self, key: &str, path: &Path) -> Option<Vec<u8>> {
        if path.to_str().is_some_and(is_todo) {
            return None;
        }
        let why = match files::read(&self.base.join(path)) {
            Ok(bytes) if !bytes.trim_ascii().is_empty() => return Some(bytes),
            Ok(_) => "the file is empty".to_owned(),
            Err(error) => error.to_string(),
        };
        self.problems.fault_in(path.display(), format!("{key}: {why}"));
        None
    }

    /// Reads the text of a file that the setting `key` names. Adds a fault if the file cannot be
    /// read or is not text.
    fn file(&mut self, key: &str, path: &Path) -> Option<String> {
        let text = text::decode(self.bytes(key, path)?);
        let fault = |why| self.problems.fault_in(path.display(), format!("{key}: {why}"));
        text.map_err(fault).ok()
    }

    /// Adds the documents about calibration, compression, power and retraining, as far as the
    /// settings contain or name them.
    pub(super) fn texts(&mut self) {
        let settings = self.settings;
        match &settings.calibration {
            Some(path) => {
                if let Some(text) = self.file("calibration", path) {
                    self.document(names::CALIBRATION, text);
                }
            }
            None if settings.division == Some(Division::Open) => {}
            None => self.problems.fault(
                "write calibration: a Markdown file that describes the calibration of quantization (section 2.3), or \
                 states that nothing was quantized",
            ),
        }
        self.compression();
        if let Some(text) = settings.power.as_ref().and_then(|power| power.text.as_ref()) {
            self.document(names::POWER, documents::power(text));
        }
        if let Some(tag) = &settings.retraining {
            self.document(names::RETRAINING, documents::retraining(tag));
        }
    }

    fn compression(&mut self) {
        let runs = self.results.iter().flat_map(LoadedResult::runs);
        let encodings: BTreeSet<_> = runs.map(|run| run.result.encoding).collect();
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

    /// Adds all files of a result.
    pub(super) fn result(&mut self, result: &LoadedResult<'_>) {
        let place = result.place(self.home, self.system);
        result.put(&place, self.tree);
        if let Some(folder) = &result.settings.power {
            self.power(result, &place, folder);
        }
        let retraining = self.settings.retraining.as_ref();
        let fields = measurements::measurements(result, self.round, retraining, self.problems);
        self.tree.insert(place.measurements_json(), json(&fields));
        match user_conf(self.base, &result.performance, result.model()) {
            Ok(conf) => drop(self.tree.insert(place.user_conf(), conf.into_bytes())),
            Err(why) => self.problems.fault_in(result.performance.name.clone(), why),
        }
        let readme = result.settings.readme.as_deref().unwrap_or_default().trim();
        let written = if is_path(readme) {
            self.file("readme", Path::new(readme)).unwrap_or_default()
        } else {
            readme.to_owned()
        };
        self.tree.insert(place.readme(), measurements::readme(result, &written).into_bytes());
    }

    /// Adds all files about the machines, from the evidence in the record of `run`.
    pub(super) fn machines(&mut self, run: &RunFolder) {
        let (settings, system) = (self.settings, self.system);
        let cluster = &Cluster::of(&run.result);
        let topology = &settings.topology;
        // Section 6.2.3 requires the diagram in the Network division; in the Closed division it is
        // optional.
        let is_drawn = settings.division != Some(Division::Closed) || !topology.is_empty();
        let mut cables = Vec::new();
        if is_drawn {
            cables = topology::cables(topology, cluster, self.problems);
            self.problems
                .need(&topology.text, "[topology] write text: what the system diagram shows");
        }
        let runs = self.results.iter().flat_map(LoadedResult::runs).map(|run| &run.result);
        let runs: Vec<&RunResult> = runs.collect();
        let mut derived = description::fields(cluster, &runs);
        derived.extend(graph::fields(&cables));
        let description = systems::description(settings, &derived, self.problems);
        self.tree.insert(self.home.system_json(system), json(&description));
        for named in &cluster.machines {
            let name = &named.name;
            if !is_folder_name(name) {
                let text = format!("node `{name}`: its name is not a valid file name; rename it");
                self.problems.fault(text);
            }
            self.tree.insert(self.home.evidence(name), json(&named.machine));
        }

        let what = "[architecture] write data_path: the path from the NIC to the accelerators and its bandwidth";
        let data_path = self.problems.need(&settings.architecture.data_path, what);
        let measured = self.measured();
        let papers =
            machine_documents::generate(system, cluster, topology, &cables, [data_path, &measured]);
        let is_wanted = |name: &str| is_drawn || name == names::ARCHITECTURE;
        for (name, text) in papers.into_iter().filter(|(name, _)| is_wanted(name)) {
            self.document(name, text);
        }
        let results: Vec<_> = self.results.iter().map(LoadedResult::measured).collect();
        let text = bandwidth_document::bandwidth(system, results);
        self.document(names::BANDWIDTH, text);
    }

    /// Returns the text about the measured bandwidth: the text in the settings, or a link to the
    /// file that they name. Adds that file to the tree.
    fn measured(&mut self) -> String {
        let what =
            "[architecture] write measurement: a text, or the fabric.json of loadgen-node fabric";
        let measurement = self.problems.need(&self.settings.architecture.measurement, what);
        if !is_path(measurement) {
            return measurement.to_owned();
        }
        let path = Path::new(measurement);
        let Some(text) = self.file("[architecture] measurement", path) else {
            return String::new();
        };
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let place = format!("evidence/{name}");
        if !is_folder_name(&name) || self.tree.contains_key(&self.home.document(&place)) {
            let text = format!("[architecture] measurement {measurement}: rename the file");
            self.problems.fault(text);
        }
        self.document(&place, text);
        format!("What was measured over this network: [{place}]({place}).")
    }
}

/// Returns true if a text is the path of a file: it has no white space.
fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Formats a JSON file.
fn json(value: &impl Serialize) -> Vec<u8> {
    // Maps with strings as keys are always valid JSON.
    let value = serde_json::to_value(value).unwrap_or_default();
    format!("{value:#}\n").into_bytes()
}
