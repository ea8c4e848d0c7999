//! Run folders, read and checked one by one: is each what the settings say, and as LoadGen left it?

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use netdiv_proto::digest::in_hex;
use sha2::{Digest as _, Sha256};

use super::{accuracy_log::AccuracyLog, problems::Problems};
use crate::{
    Outcome, Scenario,
    check::without_model,
    official_log::DetailLog,
    regular,
    result::{Division, RunResult, Verdict},
    tree,
};

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// How messages name it: the folder as the settings have it.
    pub(super) name: String,
    /// What `result.json` says.
    pub(super) result: RunResult,
    /// What it was given for; a run of digests may be of any mode.
    mode: Option<&'static str>,
    /// That file, byte for byte.
    pub(super) record: Vec<u8>,
    pub(super) detail: Vec<u8>,
    pub(super) summary: Vec<u8>,
    pub(super) accuracy_log: AccuracyLog,
}

/// What a run has to be.
pub(super) struct Wanted<'a> {
    /// The benchmark, by our name and the official checker's.
    pub(super) benchmark: [&'a str; 2],
    pub(super) scenario: Scenario,
    /// performance or accuracy; a run of both serves as well.
    pub(super) mode: Option<&'static str>,
    pub(super) sources_sha256: &'a str,
}

/// Reads a run and says what is wrong with it. None where it cannot be read.
pub(super) fn load(
    base: &Path,
    folder: &Path,
    wanted: &Wanted<'_>,
    problems: &mut Problems,
) -> Option<Run> {
    let name = folder.display().to_string();
    let folder = base.join(folder);
    let mut fault = |what: &str, error: &dyn std::fmt::Display| {
        problems.fault(format!("{name}: {what}: {error}"));
    };
    let record = regular::read(&folder.join("result.json"))
        .map_err(|error| fault("no result.json of a run can be read there", &error))
        .ok()?;
    let result: RunResult = serde_json::from_slice(&record)
        .map_err(|error| fault("result.json is not one of this program's", &error))
        .ok()?;
    let mut read =
        |file: &str| regular::read(&folder.join(file)).map_err(|error| fault(file, &error)).ok();
    let (detail, summary) = (read(tree::DETAIL), read(tree::SUMMARY));
    let accuracy_log = AccuracyLog::read(&folder.join(tree::ACCURACY_LOG))
        .map_err(|error| fault(tree::ACCURACY_LOG, &error))
        .ok();
    let (detail, summary, accuracy_log) = (detail?, summary?, accuracy_log?);
    let run =
        Run { folder, name, result, mode: wanted.mode, record, detail, summary, accuracy_log };
    run.check_logs(problems);
    run.check_kind(wanted, problems);
    run.check_validity(wanted, problems);
    Some(run)
}

impl Run {
    fn check_logs(&self, problems: &mut Problems) {
        let hashes = [
            (tree::DETAIL, in_hex(&Sha256::digest(&self.detail))),
            (tree::SUMMARY, in_hex(&Sha256::digest(&self.summary))),
            (tree::ACCURACY_LOG, self.accuracy_log.sha256.clone()),
        ];
        for (file, found) in hashes {
            if self.result.logs.get(file) != Some(&found) {
                problems.fault(format!(
                    "{}: {file} is not the one that result.json was made with; \
                     take the run's folder as it was, or run it again",
                    self.name
                ));
            }
        }
    }

    fn check_kind(&self, wanted: &Wanted<'_>, problems: &mut Problems) {
        let Self { name, result, .. } = self;
        let mut other = |what: &str, found: &str, wanted: &str| {
            problems
                .fault(format!("{name}: its {what} is {found}, not {wanted}; give another folder"));
        };
        if !wanted.benchmark.contains(&result.benchmark.as_str()) {
            other("benchmark", &result.benchmark, wanted.benchmark[0]);
        }
        if result.scenario != wanted.scenario.word() {
            other("scenario", &result.scenario, wanted.scenario.word());
        }
        if let Some(mode) = wanted.mode
            && result.mode != mode
            && result.mode != "submission"
        {
            other("mode", &result.mode, mode);
        }
    }

    fn check_validity(&self, wanted: &Wanted<'_>, problems: &mut Problems) {
        let Self { name, result, .. } = self;
        if matches!(result.verdict, Verdict::Invalid | Verdict::Failed) {
            let verdict = if result.verdict == Verdict::Failed { "FAILED" } else { "INVALID" };
            problems.invalid(
                33,
                name,
                format!("the run is {verdict}: {}", result.reasons.join("; ")),
            );
        }
        match result.division {
            Division::Exploratory => problems.broken(
                2,
                name,
                "the run was exploratory; run it again with --division network",
            ),
            Division::Open => problems.broken(38, name, "the run was made for the Open division"),
            Division::Network => {}
        }
        for text in without_model(result) {
            problems.broken(2, name, text);
        }
        if result.rehearsal {
            problems.broken(2, name, "the run was a rehearsal; run it again without --rehearsal");
        }
        problems.found(name, result.findings.iter().filter(|found| found.outcome == Outcome::Fail));
        if result.evidence.is_none() {
            problems.broken(22, name, "the run has no evidence of the machines");
        }
        if result.versions.sources_sha256 != wanted.sources_sha256 {
            let text = "it was made by a build of other sources than those that are submitted; \
                        make the submission with the program that made the runs";
            problems.broken(16, name, text);
        }
    }
}

/// Says where runs are not of one system, one LoadGen and one model.
pub(super) fn check_together(runs: &[&Run], problems: &mut Problems) {
    check_purposes(runs, problems);
    let Some((first, others)) = runs.split_first() else { return };
    let node_names = |run: &Run| -> BTreeSet<String> {
        run.result.nodes.iter().map(|node| node.name.clone()).collect()
    };
    let listed = |run: &Run| node_names(run).into_iter().collect::<Vec<_>>().join(", ");
    for run in others {
        let pair = format!("{} and {}", first.name, run.name);
        let (a, b) = (&first.result, &run.result);
        if node_names(first) != node_names(run) {
            problems.fault(format!(
                "{pair}: their nodes are not the same ({} and {}); a submission.toml is about one system",
                listed(first),
                listed(run)
            ));
        }
        if a.versions.loadgen != b.versions.loadgen {
            let text = format!("LoadGen is {} and {}", a.versions.loadgen, b.versions.loadgen);
            problems.invalid(3, &pair, text);
        }
        let (a, b) = (machine_ids(a), machine_ids(b));
        let changed: Vec<_> =
            a.iter().filter(|(name, id)| b.get(*name).is_some_and(|other| other != *id)).collect();
        for (machine, _) in changed {
            problems.broken(37, &pair, format!("{machine} is another machine there"));
        }
    }
}

/// A run serves one purpose; that of mode `submission` serves two.
fn check_purposes(runs: &[&Run], problems: &mut Problems) {
    for (place, run) in runs.iter().enumerate() {
        let is_same = |other: &&&Run| other.detail == run.detail;
        for other in runs[..place].iter().filter(is_same) {
            let both = [run, other].iter().all(|run| run.result.mode == "submission")
                && [run.mode, other.mode].contains(&Some("performance"))
                && [run.mode, other.mode].contains(&Some("accuracy"));
            if !both {
                problems.fault(format!(
                    "{} and {} are one run; give each its own, since a run serves one purpose",
                    other.name, run.name
                ));
            }
        }
    }
}

/// A performance run is not one of a compliance test.
pub(super) fn check_untested(run: &Run, problems: &mut Problems) {
    let Ok(detail) = DetailLog::read(&run.folder.join(tree::DETAIL)) else { return };
    let sampled = detail.integer("effective_accuracy_log_sampling_target").unwrap_or(0) != 0;
    let same = detail.value("effective_performance_issue_same").and_then(|value| value.as_bool());
    if sampled || same == Some(true) {
        problems.fault(format!(
            "{}: it was run with the audit.config of a compliance test; give another folder",
            run.name
        ));
    }
}

fn machine_ids(run: &RunResult) -> BTreeMap<String, String> {
    let machines = super::cluster::Cluster::of(run).machines;
    machines.into_iter().filter_map(|named| Some((named.name, named.machine.machine_id?))).collect()
}
