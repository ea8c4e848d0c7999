//! Power measurement: copies the files of the measurement client of mlcommons/power-dev to the
//! paths that the official checker reads.

use std::path::Path;

use super::{named_files::NamedFiles, results::LoadedResult, submission_toml::SubmissionSettings};
use crate::{
    input::files,
    tree::{self, ResultPaths},
};

/// Names of the files that contain the records and logs of the measurement client and its server.
const PROTOCOL: [&str; 5] =
    ["client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"];

/// Name of the file that contains the samples of the power analyzer.
const SAMPLES: &str = "spl.txt";

impl NamedFiles<'_> {
    /// Adds the files of a measured run: `power/`, `ranging/` and the samples of the performance
    /// run.
    pub(super) fn power(
        &mut self,
        result: &LoadedResult<'_>,
        place: &ResultPaths,
        folder: &Path,
        settings: &SubmissionSettings,
    ) {
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
