//! A `[[result]]` of `submission.toml`: reads its runs, and adds their files to a submission.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    audits::{self, Audit},
    folder::{FileTree, is_folder_name},
    gap::Problems,
    make_accuracy_txt,
    runs::{self, RunFolder},
    submission_toml::ResultSettings,
};
use crate::{
    Scenario,
    book::{Benchmark, Formats, Round, Table, Test},
    record::RunResult,
    tree::{self, INTERACTIVE, ResultPaths, SubmitterFolder},
};

/// A result whose runs could be read.
pub(super) struct LoadedResult<'a> {
    pub(super) settings: &'a ResultSettings,
    /// Benchmark and scenario, such as `resnet50 Offline`.
    pub(super) name: String,
    pub(super) benchmark_name: String,
    pub(super) place: ResultPaths,
    /// Benchmark, if the table has it.
    pub(super) benchmark: Option<&'a Benchmark>,
    pub(super) performance: RunFolder,
    pub(super) accuracy: RunFolder,
    pub(super) digests: Option<RunFolder>,
    pub(super) audits: Vec<Audit>,
    /// Text of accuracy.txt; `None` if there is a gap about it.
    accuracy_txt: Option<String>,
}

/// Result with the records of its runs, which are in run folders or in a tree.
pub(crate) struct RecordedResult<'a> {
    pub(crate) settings: &'a ResultSettings,
    /// Benchmark and scenario, such as `resnet50 Offline`.
    pub(crate) name: String,
    /// Benchmark, if the table has it.
    pub(crate) benchmark: Option<&'a Benchmark>,
    pub(crate) place: ResultPaths,
    pub(crate) performance: &'a RunResult,
    pub(crate) accuracy: &'a RunResult,
    /// Records of compliance tests, and of the run with digests, whose key is `None`.
    pub(crate) others: BTreeMap<Option<Test>, &'a RunResult>,
    /// Samples per second of the performance run, from LoadGen's log.
    pub(crate) rate: Option<f64>,
}

impl<'a> RecordedResult<'a> {
    pub(super) fn records(&self) -> impl Iterator<Item = &'a RunResult> {
        [self.performance, self.accuracy].into_iter().chain(self.others.values().copied())
    }
}

pub(super) struct SubmissionContext<'a> {
    pub(super) base: &'a Path,
    pub(super) table: &'a Table,
    pub(super) round: Option<&'a Round>,
    pub(super) home: &'a SubmitterFolder,
    pub(super) system: &'a str,
}

/// Reads the result with this number in `submission.toml`. Adds faults and returns `None` if that
/// fails.
pub(super) fn load<'a>(
    common: &SubmissionContext<'a>,
    settings: &'a ResultSettings,
    number: usize,
    problems: &mut Problems,
) -> Option<LoadedResult<'a>> {
    let key = format!("[[result]] {number}");
    let what = format!("{key}: write benchmark, such as \"resnet50\"");
    let benchmark_name = problems.need(&settings.benchmark, &what).to_owned();
    if settings.scenario.is_none() {
        problems.fault(format!("{key}: write scenario, \"offline\" or \"server\""));
    }
    let scenario = settings.scenario?;
    if !is_folder_name(&benchmark_name) {
        if !benchmark_name.is_empty() {
            problems
                .fault(format!("{key}: benchmark `{benchmark_name}` is not a valid folder name"));
        }
        return None;
    }
    let benchmark = common.table.find(&benchmark_name);
    let benchmark_name = benchmark.map_or(benchmark_name, |benchmark| benchmark.name.clone());
    let name = format!("{benchmark_name} {}", scenario.official_name());
    let mut run = |folder: &Option<PathBuf>, what: &str| match folder {
        Some(folder) => runs::load(common.base, folder, problems),
        None => {
            problems.fault(format!("{key} ({name}): write {what}, the folder of that run"));
            None
        }
    };
    let performance = run(&settings.performance, "performance");
    let accuracy = run(&settings.accuracy, "accuracy");
    let digests = settings.digests.as_ref().and_then(|folder| {
        let run = runs::load(common.base, folder, problems)?;
        if run.result.digests.is_none() {
            problems.fault_in(&run.name, "that run was made without --digests");
        }
        Some(run)
    });
    let (performance, accuracy) = (performance?, accuracy?);
    let formats = Formats::of(common.round.map(|round| round.name));
    let accuracy_txt = make_accuracy_txt::make(
        common.base,
        &name,
        settings,
        &accuracy,
        benchmark.map(|benchmark| (benchmark, &formats)),
        problems,
    );
    let runs = [&performance, &accuracy];
    let audits = audits::load(common.base, settings, benchmark, runs, problems);
    Some(LoadedResult {
        settings,
        name,
        place: place(common, &benchmark_name, benchmark, scenario),
        benchmark_name,
        benchmark,
        performance,
        accuracy,
        digests,
        audits,
        accuracy_txt,
    })
}

/// Returns the paths of a result in the tree. In some rounds the interactive variant is a folder
/// beside Server.
fn place(
    common: &SubmissionContext<'_>,
    name: &str,
    benchmark: Option<&Benchmark>,
    scenario: Scenario,
) -> ResultPaths {
    let of = benchmark.and_then(|benchmark| benchmark.interactive_of.as_deref());
    let has_folder = common.round.is_some_and(|round| round.interactive_folder);
    let (benchmark, scenario) = match of.filter(|_| has_folder) {
        Some(of) if scenario == Scenario::Server => (of, INTERACTIVE),
        _ => (name, scenario.official_name()),
    };
    ResultPaths {
        home: common.home.clone(),
        system: common.system.into(),
        benchmark: benchmark.into(),
        scenario: scenario.into(),
    }
}

impl LoadedResult<'_> {
    pub(super) fn runs(&self) -> impl Iterator<Item = &RunFolder> {
        self.records().map(|(_, run)| run)
    }

    pub(super) fn recorded(&self) -> RecordedResult<'_> {
        let digests = self.digests.iter().map(|run| (None, &run.result));
        let audits = self.audits.iter().map(|audit| (Some(audit.test), &audit.run.result));
        RecordedResult {
            settings: self.settings,
            name: self.name.clone(),
            benchmark: self.benchmark,
            place: self.place.clone(),
            performance: &self.performance.result,
            accuracy: &self.accuracy.result,
            others: digests.chain(audits).collect(),
            rate: self.performance.throughput(),
        }
    }

    pub(super) fn model(&self) -> &str {
        self.benchmark.map_or(&self.benchmark_name, |benchmark| &benchmark.loadgen_model)
    }

    /// Returns the folders and files of the result in a tree, each as its path and its source. The
    /// source is a run folder, a file, or the name of a compliance test that is missing.
    pub(super) fn places(&self) -> Vec<(String, String)> {
        let place = &self.place;
        let mut places = vec![
            (place.performance(), self.performance.name.clone()),
            (place.accuracy(), self.accuracy.name.clone()),
        ];
        let user_conf = self.performance.user_conf().unwrap_or("user.conf");
        places.push((place.user_conf(), user_conf.to_owned()));
        for (name, run) in self.records() {
            places.push((place.record(name), run.name.clone()));
        }
        for test in self.benchmark.iter().flat_map(|benchmark| &benchmark.compliance) {
            let run = self.audits.iter().find(|audit| audit.test == *test);
            let name =
                run.map_or_else(|| format!("{} {test}", self.name), |audit| audit.run.name.clone());
            places.push((place.compliance(test.name()), name));
        }
        places
    }

    /// Returns the runs, each with the name of its record, such as `performance` or `TEST01`.
    fn records(&self) -> impl Iterator<Item = (&'static str, &RunFolder)> {
        let both = [("performance", &self.performance), ("accuracy", &self.accuracy)];
        let digests = self.digests.iter().map(|run| ("digests", run));
        let audits = self.audits.iter().map(|audit| (audit.test.name(), &audit.run));
        both.into_iter().chain(digests).chain(audits)
    }

    /// Adds logs, accuracy, compliance tests, and the records of all runs to a tree.
    pub(super) fn put(&self, tree: &mut FileTree) {
        let place = &self.place;
        let mut put = |folder: String, name: &str, bytes: &[u8]| {
            tree.insert(format!("{folder}/{name}"), bytes.to_vec());
        };
        for (folder, run) in
            [(place.performance(), &self.performance), (place.accuracy(), &self.accuracy)]
        {
            put(folder.clone(), tree::DETAIL, &run.detail);
            put(folder, tree::SUMMARY, &run.summary);
        }
        put(place.accuracy(), tree::ACCURACY_LOG, &self.accuracy.accuracy_log.truncated);
        if let Some(text) = &self.accuracy_txt {
            put(place.accuracy(), tree::ACCURACY_TXT, text.as_bytes());
        }
        for audit in &self.audits {
            audit.put(place, tree);
        }
        for (name, run) in self.records() {
            tree.insert(place.record(name), run.record.clone());
        }
    }
}
