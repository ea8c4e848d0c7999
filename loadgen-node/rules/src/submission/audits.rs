//! Compliance tests: the runs that `loadgen-node audit` made, verified against the runs that are submitted.

use std::{collections::BTreeMap, path::Path};

use super::{
    Tree, accuracy_txt,
    problems::Problems,
    runs::{self, Run, Wanted},
    settings::ResultSettings,
};
use crate::{
    benchmarks::{Benchmark, Test},
    compliance::{self, Reference},
    regular,
    tree::{self, Place},
};

/// Files of TEST01 where a benchmark is not deterministic: accuracies of the official script over the same samples.
const BASELINE: [&str; 2] = ["baseline_accuracy.txt", "compliance_accuracy.txt"];

/// A compliance test.
pub(super) struct Audit {
    pub(super) test: Test,
    pub(super) run: Run,
    /// What the verification says, by the file's name.
    verified: BTreeMap<String, String>,
    /// Further files of the folder `accuracy`.
    accuracy: BTreeMap<String, Vec<u8>>,
}

/// Reads and verifies the tests that the benchmark asks for.
pub(super) fn load(
    base: &Path,
    settings: &ResultSettings,
    benchmark: Option<&Benchmark>,
    [performance, accuracy]: [&Run; 2],
    wanted: &Wanted<'_>,
    problems: &mut Problems,
) -> Vec<Audit> {
    let Some(benchmark) = benchmark else { return Vec::new() };
    let place = format!("{} {}", benchmark.name, wanted.scenario.official_name());
    let mut audits = Vec::new();
    for test in &benchmark.compliance {
        let name = test.name();
        let folder = settings.compliance.as_ref().map(|folder| folder.join(name));
        let Some(folder) = folder.filter(|folder| base.join(folder).is_dir()) else {
            let text = format!(
                "{name} is missing; make it with loadgen-node audit and write compliance, the folder that it is in"
            );
            problems.broken(34, &place, text);
            continue;
        };
        let Some(run) = runs::load(base, &folder, wanted, problems) else { continue };
        let accuracy_log = accuracy.folder.join(tree::ACCURACY_LOG);
        let summary = performance.folder.join(tree::SUMMARY);
        let reference = Reference { accuracy_log: &accuracy_log, summary: &summary };
        let verified = match compliance::verify(*test, benchmark, &reference, &run.folder) {
            Ok(verified) => verified,
            Err(error) => {
                for problem in error.problems() {
                    problems.broken(34, &place, format!("{name}: {problem}"));
                }
                continue;
            }
        };
        let mut files = BTreeMap::new();
        let differs = verified.accuracy.as_ref().is_some_and(|part| !part.passed());
        if *test == Test::Test01 && differs {
            files = baseline(&run, benchmark, &place, problems);
        } else if differs {
            problems.broken(34, &place, format!("{name} fails: {}", run.name));
        }
        if verified.performance.as_ref().is_some_and(|part| !part.passed()) {
            problems.broken(34, &place, format!("{name} fails by its performance: {}", run.name));
        }
        if *test == Test::Test06 {
            // It has a hundred responses, and no hash that would stand for them.
            match regular::read(&run.folder.join(tree::ACCURACY_LOG)) {
                Ok(log) => drop(files.insert(tree::ACCURACY_LOG.to_owned(), log)),
                Err(error) => problems.fault(format!("{}: {error}", run.name)),
            }
        }
        audits.push(Audit { test: *test, run, verified: verified.files, accuracy: files });
    }
    audits
}

/// The way on for TEST01 where responses differ.
fn baseline(
    run: &Run,
    benchmark: &Benchmark,
    place: &str,
    problems: &mut Problems,
) -> BTreeMap<String, Vec<u8>> {
    let [baseline, compliance] = BASELINE.map(|name| run.folder.join(name));
    match compliance::baseline_agrees(&baseline, &compliance, benchmark) {
        Ok(part) if part.passed() => {}
        Ok(_) => problems.broken(34, place, "TEST01 fails: the accuracies of both runs differ"),
        Err(error) => {
            let why = error.problems().join("; ");
            let text = format!(
                "TEST01 fails: responses differ. Where the benchmark is not deterministic, score the same samples of both \
                 runs and put the official script's outputs into its folder: {why}"
            );
            problems.broken(34, place, text);
        }
    }
    let read = |name: &str| Some((name.to_owned(), regular::read(&run.folder.join(name)).ok()?));
    BASELINE.into_iter().filter_map(read).collect()
}

impl Audit {
    /// Its files.
    pub(super) fn put(&self, place: &Place, tree: &mut Tree) {
        let name = self.test.name();
        let mut put = |folder: &str, name: &str, bytes: &[u8]| {
            tree.insert(format!("{folder}/{name}"), bytes.to_vec());
        };
        let folder = place.compliance(name);
        for (name, text) in &self.verified {
            put(&folder, name, text.as_bytes());
        }
        let folder = place.compliance_accuracy(name);
        if self.test == Test::Test01 {
            let log = &self.run.accuracy_log;
            put(&folder, tree::ACCURACY_LOG, &log.truncated);
            put(&folder, tree::ACCURACY_TXT, accuracy_txt::with_hash("", &log.sha256).as_bytes());
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
