//! Compliance tests: the runs that `loadgen-node audit` made, verified against the submitted runs.

use std::{collections::BTreeMap, io, path::Path};

use super::{
    folder::FileTree,
    gap::Problems,
    runs::{self, RunFolder},
    submission_toml::ResultSettings,
};
use crate::{
    book::{Benchmark, Test},
    compliance::{self, Reference},
    input::files,
    tree::{self, ResultPaths},
};

pub(super) struct Audit {
    pub(super) test: Test,
    pub(super) run: RunFolder,
    /// Contents by file name: the files with the verdict, such as `verify_accuracy.txt`.
    verified: BTreeMap<String, String>,
    /// Contents by file name, for the test's folder `accuracy`:
    /// [`BASELINE_SCORES`](tree::BASELINE_SCORES) for TEST01, and LoadGen's accuracy log for TEST06.
    accuracy: BTreeMap<String, Vec<u8>>,
}

/// Reads and verifies the compliance tests of the benchmark that have a folder. A test that fails
/// is no fault here: its files state the result, and the check of the tree reads them.
pub(super) fn load(
    base: &Path,
    settings: &ResultSettings,
    benchmark: Option<&Benchmark>,
    [performance, accuracy]: [&RunFolder; 2],
    problems: &mut Problems,
) -> Vec<Audit> {
    let Some(benchmark) = benchmark else { return Vec::new() };
    let mut audits = Vec::new();
    for test in &benchmark.compliance {
        let folder = settings.compliance.as_ref().map(|folder| folder.join(test.name()));
        let Some(folder) = folder.filter(|folder| base.join(folder).is_dir()) else { continue };
        let Some(run) = runs::load(base, &folder, problems) else { continue };
        let accuracy_log = accuracy.folder.join(tree::ACCURACY_LOG);
        let summary = performance.folder.join(tree::SUMMARY);
        let reference = Reference { accuracy_log: &accuracy_log, summary: &summary };
        let verified = compliance::verify(*test, benchmark, &reference, &run.folder);
        let mut accuracy = BTreeMap::new();
        let mut keep = |name: &str| match files::read(&run.folder.join(name)) {
            Ok(bytes) => drop(accuracy.insert(name.to_owned(), bytes)),
            // A deterministic benchmark has no files with scores.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => problems.fault_in(&run.name, format!("{name}: {error}")),
        };
        match test {
            Test::Test01 => tree::BASELINE_SCORES.into_iter().for_each(keep),
            // The log has only a hundred responses and is submitted whole, without a hash.
            Test::Test06 => keep(tree::ACCURACY_LOG),
            Test::Test04 | Test::Test07 | Test::Test09 => {}
        }
        let verified = match verified {
            Ok(verified) => verified.files,
            Err(error) => unverifiable_files(*test, &error.problems().join("; "), base),
        };
        audits.push(Audit { test: *test, run, verified, accuracy });
    }
    audits
}

/// Returns the files of a test that cannot be verified: text with the reason by file name.
fn unverifiable_files(test: Test, why: &str, base: &Path) -> BTreeMap<String, String> {
    let why = why.replace(&format!("{}/", base.display()), "");
    let text = format!("TEST FAIL: the test cannot be verified: {why}\n");
    let speed = test.compares_speed().then_some(tree::VERIFY_PERFORMANCE);
    let files = compliance::responses_file(test).into_iter().chain(speed);
    files.map(|name| (name.to_owned(), text.clone())).collect()
}

impl Audit {
    pub(super) fn put(&self, place: &ResultPaths, tree: &mut FileTree) {
        let name = self.test.name();
        let mut put = |folder: &str, name: &str, bytes: &[u8]| {
            tree.insert(format!("{folder}/{name}"), bytes.to_vec());
        };
        let folder = place.compliance(name);
        for (name, text) in &self.verified {
            put(&folder, name, text.as_bytes());
        }
        let folder = place.compliance_accuracy(name);
        if !matches!(self.test, Test::Test04 | Test::Test06) {
            let log = &self.run.accuracy_log;
            put(&folder, tree::ACCURACY_LOG, &log.truncated);
            put(&folder, tree::ACCURACY_TXT, compliance::with_hash("", &log.sha256).as_bytes());
        }
        for (name, bytes) in &self.accuracy {
            put(&folder, name, bytes);
        }
        if self.test != Test::Test06 {
            let folder = place.compliance_performance(name);
            put(&folder, tree::DETAIL, &self.run.detail);
            put(&folder, tree::SUMMARY, &self.run.summary);
        }
    }
}
