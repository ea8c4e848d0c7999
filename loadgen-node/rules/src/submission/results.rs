//! One `[[result]]`: its runs, read and checked, and the files that a submission has of them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    Tree, accuracy_txt,
    audits::{self, Audit},
    problems::Problems,
    runs::{self, Run, Wanted},
    settings::ResultSettings,
};
use crate::{
    Scenario,
    benchmarks::{Benchmark, Suite, Table},
    tree::{self, Home, Place},
};

/// A result whose runs could be read.
pub(super) struct Loaded<'a> {
    pub(super) settings: &'a ResultSettings,
    /// Benchmark and scenario, as people write them.
    pub(super) name: String,
    /// Name of the benchmark's folder.
    pub(super) benchmark_name: String,
    /// The benchmark, where the table has it.
    pub(super) benchmark: Option<&'a Benchmark>,
    pub(super) scenario: Scenario,
    pub(super) performance: Run,
    pub(super) accuracy: Run,
    pub(super) digests: Option<Run>,
    pub(super) audits: Vec<Audit>,
    accuracy_txt: String,
}

/// What all results of a submission have in common.
pub(super) struct Common<'a> {
    pub(super) base: &'a Path,
    pub(super) table: &'a Table,
    pub(super) sources_sha256: &'a str,
}

/// Reads a result. None when that cannot be done; then there are faults.
pub(super) fn load<'a>(
    common: &Common<'a>,
    settings: &'a ResultSettings,
    number: usize,
    problems: &mut Problems,
) -> Option<Loaded<'a>> {
    let place = format!("[[result]] {number}");
    let what = format!("{place}: write benchmark, such as \"resnet50\"");
    let benchmark_name = problems.need(&settings.benchmark, &what).to_owned();
    let what = format!("{place}: write scenario, \"offline\" or \"server\"");
    let word = problems.need(&settings.scenario, &what);
    let scenario = settings.scenario();
    if scenario.is_none() && !word.is_empty() {
        problems.fault(format!("{place}: there is no scenario `{word}`; write offline or server"));
    }
    let scenario = scenario?;
    if !super::is_folder_name(&benchmark_name) {
        if !benchmark_name.is_empty() {
            problems
                .fault(format!("{place}: benchmark `{benchmark_name}` cannot be a folder's name"));
        }
        return None;
    }
    let benchmark = common.table.find(&benchmark_name);
    let benchmark_name = benchmark.map_or(benchmark_name, |benchmark| benchmark.name.clone());
    let name = format!("{benchmark_name} {}", scenario.official_name());
    match benchmark {
        None => problems.invalid(1, &name, "there is no such benchmark in the suite"),
        Some(known) if known.suite != Suite::Datacenter => {
            problems.broken(1, &name, "the benchmark is not in the datacenter suite");
        }
        Some(known) if !known.scenarios.contains(&scenario) => {
            problems.broken(32, &name, "the datacenter suite does not have this scenario of it");
        }
        Some(_) => {}
    }

    let other = benchmark.map_or(benchmark_name.as_str(), Benchmark::checker_name);
    let wanted = |mode| Wanted {
        benchmark: [&benchmark_name, other],
        scenario,
        mode,
        sources_sha256: common.sources_sha256,
    };
    let mut run = |folder: &Option<PathBuf>, mode: Option<&'static str>, what: &str| match folder {
        Some(folder) => runs::load(common.base, folder, &wanted(mode), problems),
        None => {
            problems.fault(format!("{place} ({name}): write {what}, the folder of that run"));
            None
        }
    };
    let performance = run(&settings.performance, Some("performance"), "performance");
    let accuracy = run(&settings.accuracy, Some("accuracy"), "accuracy");
    let digests = settings.digests.is_some().then(|| run(&settings.digests, None, "digests"));
    let (performance, accuracy) = (performance?, accuracy?);
    let digests = digests.flatten();
    runs::check_untested(&performance, problems);
    if let Some(run) = &digests {
        check_digests(run, problems);
    }
    let accuracy_txt =
        accuracy_txt::make(common.base, &name, settings, &accuracy, benchmark, problems);
    let audits = audits::load(
        common.base,
        settings,
        benchmark,
        [&performance, &accuracy],
        &wanted(Some("performance")),
        problems,
    );
    let loaded = Loaded {
        settings,
        name,
        benchmark_name,
        benchmark,
        scenario,
        performance,
        accuracy,
        digests,
        audits,
        accuracy_txt: accuracy_txt.unwrap_or_default(),
    };
    check_models(&loaded, problems);
    Some(loaded)
}

fn check_digests(run: &Run, problems: &mut Problems) {
    let Some(digests) = &run.result.digests else {
        problems.fault(format!("{}: that run was made without --digests", run.name));
        return;
    };
    for (rule, what, comparison) in
        [(7, "samples", &digests.samples), (8, "responses", &digests.responses)]
    {
        if comparison.differences > 0 {
            let count = comparison.differences;
            problems.broken(
                rule,
                &run.name,
                format!("{count} {what} did not arrive as they were sent"),
            );
        }
    }
}

fn check_models(loaded: &Loaded<'_>, problems: &mut Problems) {
    let models = |run: &Run| -> BTreeSet<_> {
        run.result.nodes.iter().map(|node| (node.name.clone(), node.model_sha256.clone())).collect()
    };
    let first = &loaded.performance;
    for run in loaded.runs() {
        if models(run) != models(first) {
            let pair = format!("{} and {}", first.name, run.name);
            problems.broken(30, &pair, "the nodes ran different models");
        }
    }
}

impl Loaded<'_> {
    /// All of its runs.
    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        let audits = self.audits.iter().map(|audit| &audit.run);
        [&self.performance, &self.accuracy].into_iter().chain(&self.digests).chain(audits)
    }

    /// The model's name in user.conf.
    pub(super) fn model(&self) -> &str {
        self.benchmark.map_or(&self.benchmark_name, |benchmark| &benchmark.loadgen_model)
    }

    /// Where it lies in a tree.
    pub(super) fn place(&self, home: &Home, system: &str) -> Place {
        Place {
            home: home.clone(),
            system: system.into(),
            benchmark: self.benchmark_name.clone(),
            scenario: self.scenario.official_name().into(),
        }
    }

    /// Logs, accuracy, compliance, and the records of all runs.
    pub(super) fn put(&self, place: &Place, tree: &mut Tree) {
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
        put(place.accuracy(), tree::ACCURACY_TXT, self.accuracy_txt.as_bytes());
        for audit in &self.audits {
            audit.put(place, tree);
        }
        let records = [("performance", &self.performance), ("accuracy", &self.accuracy)];
        let digests = self.digests.iter().map(|run| ("digests", run));
        let audits = self.audits.iter().map(|audit| (audit.test.name(), &audit.run));
        for (name, run) in records.into_iter().chain(digests).chain(audits) {
            tree.insert(place.record(name), run.record.clone());
        }
    }
}
