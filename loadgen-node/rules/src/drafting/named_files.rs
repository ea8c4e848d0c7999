//! Files that `submission.toml` names, copied into the tree.

use std::{collections::BTreeMap, io, path::Path};

use netdiv_node_common::{resources::text, words::is_todo};

use super::{
    folder::{FileTree, is_folder_name},
    gap::Problems,
    results::LoadedResult,
    runs::RunFolder,
    submission_toml::SubmissionSettings,
};
use crate::{
    Division, Scenario,
    book::setting_number,
    input::files,
    placeholder::is_placeholder,
    tree::{self, ResultPaths, SubmitterFolder, documents},
    user_conf::{check_line, compared},
};

/// Names of the files that contain the records and logs of the measurement client and its server.
const PROTOCOL: [&str; 5] =
    ["client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"];

/// Name of the file that contains the samples of the power analyzer.
const SAMPLES: &str = "spl.txt";

/// A tree in progress, with the folder that contains the named files.
pub(super) struct NamedFiles<'a> {
    pub(super) base: &'a Path,
    pub(super) home: &'a SubmitterFolder,
    pub(super) tree: &'a mut FileTree,
    pub(super) problems: &'a mut Problems,
}

impl NamedFiles<'_> {
    /// Reads a file that the setting `key` names. Adds a fault if the file is empty or cannot be
    /// read.
    fn bytes(&mut self, key: &str, path: &Path) -> Option<Vec<u8>> {
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

    /// Copies the documents that the settings name, and changes their paths to those in the tree.
    /// The text of a README replaces its path.
    pub(super) fn documents(&mut self, settings: &mut SubmissionSettings) {
        match &mut settings.calibration {
            Some(path) => {
                if let Some(text) = self.file("calibration", path) {
                    let place = self.home.document(documents::CALIBRATION);
                    self.tree.insert(place, text.into_bytes());
                    *path = documents::CALIBRATION.into();
                }
            }
            None if settings.division == Some(Division::Open) => {}
            None => self.problems.fault(
                "write calibration: a Markdown file that describes the calibration of quantization (section 2.3), or \
                 states that nothing was quantized",
            ),
        }
        if let Some(path) = &mut settings.architecture.measurement
            && is_path(path.trim())
            && !is_placeholder(path)
        {
            self.measurement(path);
        }
        for result in &mut settings.results {
            if let Some(readme) = result.readme.as_mut().filter(|readme| is_path(readme.trim())) {
                *readme = self.file("readme", Path::new(readme.trim())).unwrap_or_default();
            }
        }
    }

    /// Copies a measurement of the bandwidth, and changes its path to that in the tree.
    fn measurement(&mut self, path: &mut String) {
        let from = Path::new(path.trim());
        let Some(text) = self.file("[architecture] measurement", from) else { return };
        let name = from.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if !is_folder_name(&name) {
            let text = format!("[architecture] measurement {path}: rename the file");
            self.problems.fault(text);
        }
        let to = format!("evidence/{name}");
        self.tree.insert(self.home.document(&to), text.into_bytes());
        *path = to;
    }

    pub(super) fn runs(&mut self, result: &LoadedResult<'_>, settings: &SubmissionSettings) {
        result.put(self.tree);
        if let Some(folder) = &result.settings.power {
            self.power(result, folder, settings);
        }
        match user_conf(self.base, &result.performance, result.model()) {
            Ok(conf) => drop(self.tree.insert(result.place.user_conf(), conf.into_bytes())),
            Err(why) => self.problems.fault_in(result.performance.name.clone(), why),
        }
    }

    /// Adds the files of a measured run: `power/`, `ranging/` and the samples of the performance
    /// run.
    fn power(&mut self, result: &LoadedResult<'_>, folder: &Path, settings: &SubmissionSettings) {
        let place = &result.place;
        let performance = format!("{}/performance", place.results());
        let mut files = Vec::new();
        files
            .extend(PROTOCOL.map(|name| (format!("power/{name}"), format!("{performance}/power"))));
        let ranging = [tree::DETAIL, tree::SUMMARY, SAMPLES];
        files.extend(ranging.map(|n| (format!("ranging/{n}"), format!("{performance}/ranging"))));
        files.push((format!("run_1/{SAMPLES}"), place.performance()));
        for (from, to) in files {
            if let Some(bytes) = self.bytes("power", &folder.join(&from)) {
                let name = from.rsplit('/').next().unwrap_or_default();
                self.tree.insert(format!("{to}/{name}"), bytes);
            }
        }
        let measured = folder.join("run_1").join(tree::DETAIL);
        if files::read(&self.base.join(&measured)).ok().as_ref() != Some(&result.performance.detail)
        {
            let why = format!(
                "power: its log differs from that of {}; write performance = \"{}\"",
                result.performance.name,
                folder.join("run_1").display()
            );
            self.problems.fault_in(measured.display(), why);
        }
        let about = settings.power.clone().unwrap_or_default();
        if let Some(path) = &about.nameplate
            && let Some(bytes) = self.bytes("nameplate", path)
        {
            self.tree.insert(self.home.nameplate(&place.system), bytes);
        }
        for (key, path) in
            [("analyzer_table", about.analyzer_table), ("power_settings", about.power_settings)]
        {
            match path {
                None => {
                    self.problems.fault(format!("[power] write {key}, a path (power was measured)"))
                }
                Some(path) => self.describe(key, &path, place),
            }
        }
    }

    /// Adds a descriptive file of the measurement. The checker identifies these files by the prefix
    /// of their names.
    fn describe(&mut self, key: &str, path: &Path, place: &ResultPaths) {
        let Some(bytes) = self.bytes(key, path) else { return };
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or("txt");
        self.tree.insert(format!("{}/{key}.{kind}", place.measurements()), bytes);
    }
}

/// Returns true if a text is the path of a file: it has no white space.
pub(super) fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Returns the text of LoadGen's `user.conf` for `model`, LoadGen's name of the model: of the run's
/// own file if it still exists, or else of a file with the settings of the run. Fails if the run's
/// own file cannot be read.
fn user_conf(base: &Path, run: &RunFolder, model: &str) -> Result<String, String> {
    let places = run.user_conf().map(|path| [base.join(path), run.folder.join(path)]);
    for path in places.iter().flatten() {
        match files::read_text(path) {
            Ok(text) if !text.trim().is_empty() => return Ok(text),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        }
    }
    let result = &run.result;
    Ok(reconstructed(&result.test_settings, model, result.scenario))
}

/// Writes a user.conf with the settings of a run that LoadGen reads from such a file and that
/// differ from LoadGen's defaults. `settings` are the fields of LoadGen's TestSettings by name.
fn reconstructed(settings: &BTreeMap<String, String>, model: &str, scenario: Scenario) -> String {
    let mut text = "# The settings of the run, from its result.json.\n".to_owned();
    let name = scenario.official_name();
    for (key, row) in compared(scenario) {
        if let Some(value) = settings.get(&row.field).and_then(|value| setting_number(value)) {
            // LoadGen's factors are not binary fractions.
            let value = (value / row.factor * 1e6).round() / 1e6;
            let line = format!("{model}.{name}.{key} = {value}\n");
            if row.default != Some(value) && check_line(&line).is_ok() {
                text += &line;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_conf::{differences, tests::settings};

    #[test]
    fn the_settings_become_a_file_that_says_the_same() {
        let text = reconstructed(&settings(), "resnet50", Scenario::Server);
        let want = "# The settings of the run, from its result.json.\n\
                    resnet50.Server.target_qps = 18000.5\n\
                    resnet50.Server.target_latency = 15\n\
                    resnet50.Server.target_latency_percentile = 99\n\
                    resnet50.Server.min_duration = 600000\n";
        assert_eq!(text, want);
        let differ = differences(&text, &settings(), &[], "resnet50", Scenario::Server);
        assert!(differ.is_empty());
    }
}
