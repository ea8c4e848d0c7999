//! Valid submission in a separate folder, with methods to edit it.

use netdiv_node_common::words::Mode;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde_json::{Map, Value};

use crate::fixture::{self, RunSpec, files::publish_settings};
use netdiv_rules::{
    Scenario,
    book::Table,
    check::drafted,
    record::RunResult,
    submission::{self, Strictness, SubmissionSettings},
    testing::{sha256_of, sources_sha256},
    tree::{self, DETAIL, SUMMARY},
};

/// Path of the submitter's folder.
pub(super) const HOME: &str = "network/acme";
/// Path of the system's description.
pub(super) const SYSTEM: &str = "network/acme/systems/two-H100-nodes.json";

/// Path of the settings from which the documents are drafted.
pub(super) const SETTINGS: &str = "network/acme/documentation/submission.toml";

/// Path of the folder with the program's sources.
pub(super) const SOURCES: &str = "network/acme/code/netdiv";

pub(super) struct EditableTree {
    folder: tempfile::TempDir,
    /// Contents by path in their original form: all files except records, logs and sources.
    documents: Files,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

impl EditableTree {
    /// Creates a tree of the Network division, round v5.0.
    pub(super) fn new() -> Self {
        static FILES: OnceLock<Files> = OnceLock::new();
        Self::with(FILES.get_or_init(|| files("network", "v5.0")))
    }

    /// Creates a tree of a division and a round.
    pub(super) fn of(division: &str, round: &str) -> Self {
        Self::with(&files(division, round))
    }

    /// Creates a tree of a language model, Network division, round v5.0.
    pub(super) fn of_llama() -> Self {
        static FILES: OnceLock<Files> = OnceLock::new();
        let runs = [Scenario::Offline, Scenario::Server]
            .map(|scenario| RunSpec::llama(scenario, Mode::Performance));
        Self::with(FILES.get_or_init(|| files_of("v5.0", &runs)))
    }

    /// Creates a tree of a language model and its interactive variant, Network division, round
    /// v5.1.
    pub(super) fn of_chat() -> Self {
        static FILES: OnceLock<Files> = OnceLock::new();
        Self::with(FILES.get_or_init(|| files_of("v5.1", &RunSpec::chat())))
    }

    fn with(files: &Files) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let is_document = |path: &Path| {
            let path = path.to_str().unwrap();
            !["/code/", "/src/", ".result.json", "mlperf_log"]
                .iter()
                .any(|part| path.contains(part))
        };
        let documents = files.iter().filter(|(path, _)| is_document(path));
        let documents = documents.map(|(path, bytes)| (path.clone(), bytes.clone())).collect();
        Self { folder, documents }
    }

    /// Drafts the documents again that the edit left as they were, as a cheat would. An edit of runs
    /// then causes no findings about documents.
    pub(super) fn draft_again(&self) {
        for (path, bytes) in drafted(self.root(), Table::builtin().unwrap()).unwrap_or_default() {
            if fs::read(self.path(&path)).ok().as_ref() == self.documents.get(Path::new(&path)) {
                self.write(&path, &String::from_utf8(bytes).unwrap());
            }
        }
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns the digest of the sources in a folder.
    pub(super) fn digest_of_sources(&self, folder: &str) -> String {
        let folder = self.path(folder);
        let files = tree::list_files(&folder).unwrap_or_default().into_iter();
        let sources: Vec<_> = files
            .filter(|path| path.to_str() != Some("REVISION"))
            .map(|path| (path.display().to_string(), fs::read(folder.join(&path)).unwrap()))
            .collect();
        let sources: Vec<_> = sources.iter().map(|(path, bytes)| (&path[..], &bytes[..])).collect();
        sources_sha256(&sources)
    }

    /// Writes a file, in a new folder if necessary.
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Removes a file or a folder.
    pub(super) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    pub(super) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from}");
        self.write(path, &text.replace(from, to));
    }

    /// Edits a field of the system's description.
    pub(super) fn field(&self, name: &str, value: Value) {
        let mut system: Map<String, Value> = serde_json::from_str(&self.read(SYSTEM)).unwrap();
        assert!(system.insert(name.into(), value).is_some(), "{name}");
        self.write(SYSTEM, &serde_json::to_string(&system).unwrap());
    }

    /// Edits the record of one run: `Offline/performance`, `Server/TEST01` and so on.
    pub(super) fn record(&self, run: &str, change: impl FnOnce(&mut RunResult)) {
        let path = format!("{}/{run}.result.json", self.under("measurements"));
        let mut record = serde_json::from_str(&self.read(&path)).unwrap();
        change(&mut record);
        self.write(&path, &serde_json::to_string_pretty(&record).unwrap());
    }

    /// Edits a JSON file.
    pub(super) fn json(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_str(&self.read(path)).unwrap();
        change(&mut value);
        self.write(path, &serde_json::to_string_pretty(&value).unwrap());
    }

    /// Edits the evidence about each node in all records.
    pub(super) fn every_node(&self, change: impl Fn(&mut Value)) {
        let files = tree::list_files(self.root()).unwrap();
        let records = files.iter().filter_map(|path| path.to_str());
        for path in records.filter(|path| path.ends_with(".result.json")) {
            self.json(path, |record| {
                record["evidence"]["nodes"].as_object_mut().unwrap().values_mut().for_each(&change);
            });
        }
    }

    /// Returns the path of the measurements file of the Server run.
    pub(super) fn measurements_file(&self) -> String {
        format!("{}/Server/two-H100-nodes_netdiv_Server.json", self.under("measurements"))
    }

    /// Edits a setting of the LoadGen node in one record, and the copy and SHA-256 of the settings
    /// in its evidence.
    pub(super) fn given(&self, run: &str, key: &str, value: Value) {
        self.record(run, |record| {
            record.settings.insert(key.into(), value);
            publish_settings(record);
        });
    }

    /// Edits all records.
    pub(super) fn every_record(&self, change: impl Fn(&mut RunResult)) {
        self.records("", change);
    }

    /// Edits all records whose paths contain `part`.
    pub(super) fn records(&self, part: &str, change: impl Fn(&mut RunResult)) {
        let files = tree::list_files(self.root()).unwrap();
        let records = files.iter().filter_map(|path| path.to_str());
        for path in records.filter(|path| path.ends_with(".result.json") && path.contains(part)) {
            let mut record = serde_json::from_str(&self.read(path)).unwrap();
            change(&mut record);
            self.write(path, &serde_json::to_string_pretty(&record).unwrap());
        }
    }

    /// Edits an entry of a detail log, its line in the summary, and the hashes in the record, as a
    /// cheat would. `in_summary` is the name of the line; empty if the summary has no such line.
    pub(super) fn entry(&self, run: &str, key: &str, value: &str, in_summary: &str) {
        let detail = |text: &str| {
            let start = format!(":::MLLOG {{\"key\": \"{key}\", \"value\": ");
            let edited = text.lines().map(|line| match line.strip_prefix(&start) {
                Some(rest) => {
                    let (_, rest) = rest.split_once(", \"time_ms\"").unwrap();
                    format!("{start}{value}, \"time_ms\"{rest}\n")
                }
                None => format!("{line}\n"),
            });
            edited.collect::<String>()
        };
        self.log(run, DETAIL, |text| {
            assert!(text.contains(&format!("\"key\": \"{key}\"")), "{key}");
            detail(&text)
        });
        if !in_summary.is_empty() {
            self.log(run, SUMMARY, |text| {
                let lines = text.lines().map(|line| match line.split_once(':') {
                    Some((name, _)) if name.trim() == in_summary => {
                        format!("{name}: {}\n", value.trim_matches('"'))
                    }
                    _ => format!("{line}\n"),
                });
                lines.collect()
            });
        }
    }

    /// Returns the path of the benchmark's folder in a folder of the submitter, such as `results`.
    fn under(&self, folder: &str) -> String {
        let benchmarks = ["resnet50", "llama2-70b-99"];
        let folder = |name| format!("{HOME}/{folder}/two-H100-nodes/{name}");
        benchmarks.map(folder).into_iter().find(|path| self.path(path).exists()).unwrap()
    }

    /// Returns the path of the folder with the logs of a run.
    pub(super) fn folder(&self, run: &str) -> String {
        let (scenario, run) = run.split_once('/').unwrap();
        match run {
            "performance" => format!("{}/{scenario}/performance/run_1", self.under("results")),
            "accuracy" => format!("{}/{scenario}/accuracy", self.under("results")),
            test => format!("{}/{scenario}/{test}/performance/run_1", self.under("compliance")),
        }
    }

    /// Edits a log of a run, and its hash in the record.
    pub(super) fn log(&self, run: &str, name: &str, change: impl FnOnce(String) -> String) {
        let path = format!("{}/{name}", self.folder(run));
        let text = change(self.read(&path));
        self.write(&path, &text);
        let hash = sha256_of(&text);
        self.record(run, |record| {
            record.logs.insert(name.into(), hash);
        });
    }
}

fn files(division: &str, round: &str) -> Files {
    let folder = tempfile::tempdir().unwrap();
    read(&fixture::submission_tree(folder.path(), division, round))
}

/// Creates a submission to the Network division from these performance runs and all other runs that
/// belong to them, and returns its files.
fn files_of(round: &str, runs: &[RunSpec]) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fixture::submission_folder_of(dir, "network", round, runs);
    let settings = SubmissionSettings::read(&dir.join("submission.toml")).unwrap();
    let (table, sources) = (Table::builtin().unwrap(), &fixture::SOURCES);
    let tree = dir.join("tree");
    submission::make(&settings, dir, table, sources, Strictness::Usual, &tree).unwrap();
    read(&tree)
}

/// Reads the files of a tree.
fn read(root: &Path) -> Files {
    let read = |path: PathBuf| {
        let bytes = fs::read(root.join(&path)).unwrap();
        (path, bytes)
    };
    tree::list_files(root).unwrap().into_iter().map(read).collect()
}
