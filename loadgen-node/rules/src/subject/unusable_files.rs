//! Unusable files of a run: missing, unreadable, changed after the run, or of another run.
//!
//! A single finding reports such a file: of N35, or of N32 if the run was made in another scenario
//! or mode. The rules that need the file cannot be judged there, and its contents do not count
//! against any rule.

use netdiv_node_common::words::Mode;

use super::{
    ResultEntry, RunFiles, RunKind, Subject,
    findings::{AllFindings, list_first},
    logs::{Logs, MISSING, UnusableFile, disagreements, is_changed},
};
use crate::{
    Rule::{self, *},
    Scenario,
    official_log::metric,
    record::RunResult,
    tree::{DETAIL, SUMMARY},
};

/// Start of a finding that only follows from another finding.
pub(crate) const UNJUDGED: &str = "cannot be judged, because this";

/// Minimum number of differences for which the detail log and the summary count as logs of
/// different runs. Fewer differences count as edits of one log.
const MIN_DIFFERENCES: usize = 4;

const NO_RECORD: &str = "is missing: add the result.json that loadgen-node wrote";

/// Finding about a submission that another program made.
const FOREIGN: &str = "another program made this submission, and this check reads only the records, documents and sources that netdiv \
                       writes: read the submission's own documents";

pub(crate) const CHANGED: &str =
    "was changed after the run: its SHA-256 is not the one in result.json";

/// Rules that cannot be judged without the record of a run.
const BY_RECORD: [Rule; 20] =
    [N2, N4, N5, N6, N9, N11, N12, N14, N15, N16, N18, N19, N20, N21, N22, N24, N25, N26, N29, N30];

/// Rules that cannot be judged without the detail log of a run, of whatever kind.
const BY_DETAIL: [Rule; 11] = [N2, N3, N9, N12, N13, N14, N15, N21, N31, N32, N33];

/// Rules that cannot be judged without the description of a system.
const BY_SYSTEM: [Rule; 7] = [N1, N5, N6, N15, N22, N23, N24];

pub(crate) fn judge(subject: &Subject, found: &mut AllFindings) {
    let in_tree = subject.tree.is_some();
    let is_foreign = subject.is_foreign();
    if is_foreign {
        for rule in BY_RECORD.into_iter().chain([N7, N8, N10, N17, N23, N27, N28]) {
            found.of(rule).unknown("", FOREIGN);
        }
    }
    for (_, run) in subject.runs() {
        let throughput = [N27].into_iter().filter(|_| run.kind.is_submitted());
        // These documents cannot be drafted again.
        let drafted = [N23, N28].into_iter().filter(|_| in_tree && !is_foreign);
        let no_record = || UnusableFile { rule: in_tree.then_some(N35), why: NO_RECORD.into() };
        let record = match &run.record {
            None if is_foreign => None,
            None => Some(no_record()),
            Some(record) => record.as_ref().err().cloned(),
        };
        if let Some(record) = record {
            let rules = BY_RECORD.into_iter().chain(drafted.clone()).chain(throughput.clone());
            report_unusable(&record, subject, rules, &run.record_place, found);
        }
        let Some(logs) = &run.logs else { continue };
        let tests = [N34].into_iter().filter(|_| run.kind != RunKind::Accuracy && in_tree);
        let place = |name: &str| match run.place.as_str() {
            "." => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        match (&logs.detail, &logs.summary) {
            (Err(detail), summary) => {
                let drafted = drafted.filter(|_| run.kind.is_submitted());
                let rules = BY_DETAIL.into_iter().chain(throughput).chain(tests).chain(drafted);
                report_unusable(detail, subject, rules, &place(DETAIL), found);
                if let Err(summary) = summary {
                    report_unusable(summary, subject, [], &place(SUMMARY), found);
                }
            }
            (Ok(_), Err(summary)) => {
                report_unusable(
                    summary,
                    subject,
                    [N21].into_iter().chain(tests),
                    &place(SUMMARY),
                    found,
                );
            }
            (Ok(_), Ok(_)) => {}
        }
    }
    for system in subject.systems.iter().filter(|system| system.json.is_err()) {
        report_unjudged(BY_SYSTEM, &system.place, "cannot be read (N36)", found);
    }
}

/// Reports that an unusable file breaks its rule, and that `rules` cannot be judged by the file.
fn report_unusable(
    unusable: &UnusableFile,
    subject: &Subject,
    rules: impl IntoIterator<Item = Rule>,
    place: &str,
    found: &mut AllFindings,
) {
    let UnusableFile { rule, why } = unusable;
    if let Some(rule) = rule {
        // If the folder of the file is missing, only the folder is reported, once for all of its
        // files.
        let missing = subject.outermost_missing(place);
        let why = if missing == place { why } else { MISSING };
        found.of(*rule).fail(missing, why);
    }
    report_unjudged(rules, place, why, found);
}

/// Reports for each of `rules` that it cannot be judged by the file at `place`.
fn report_unjudged(
    rules: impl IntoIterator<Item = Rule>,
    place: &str,
    why: &str,
    found: &mut AllFindings,
) {
    let why = why.split(": ").next().unwrap_or(why);
    for rule in rules {
        found.of(rule).unknown(place, format!("{UNJUDGED} {why}"));
    }
}

/// Marks as unusable the records and logs that the runs of an entry cannot have written: files that
/// were changed, and files of another benchmark, scenario or mode.
pub(crate) fn set_aside(entry: &mut ResultEntry) {
    let mut runs = std::mem::take(&mut entry.runs);
    let may_infer = entry.tree.as_ref().is_some_and(|place| place.home.division != "network");
    for run in &mut runs {
        let scenario = entry.scenario;
        let other_benchmark = run
            .result()
            .filter(|record| !entry.is_of_benchmark(record))
            .map(|record| format!("is of a run of {}, not of {}", record.benchmark, entry.name));
        if let Some(why) = &other_benchmark {
            run.record = Some(Err(UnusableFile::of(N35, why)));
        } else if let Some(record) = run.result()
            && let Some(why) = misplacement(run, scenario, Some(record.scenario), Some(record.mode))
        {
            run.record = Some(Err(UnusableFile::of(N32, why)));
        }
        let wrong = |name: &str| {
            let is_changed =
                run.result().is_some_and(|record| is_changed(&run.folder, name, record));
            is_changed.then(|| UnusableFile::of(N35, CHANGED))
        };
        let (detail, summary) = (wrong(DETAIL), wrong(SUMMARY));
        let elsewhere = other_benchmark.map(|why| UnusableFile { rule: None, why });
        let other = run.detail().and_then(|log| {
            // TEST06 is identified by its settings, whatever mode its log states.
            let mode = if run.is_token_test() { Some(Mode::Performance) } else { log.mode() };
            let is_inferred = may_infer && scenario.zip(log.scenario()).is_some_and(may_stand_for);
            let wanted = if is_inferred { log.scenario() } else { scenario };
            misplacement(run, wanted, log.scenario(), mode)
        });
        let other = elsewhere.or_else(|| other.map(|why| UnusableFile::of(N32, why)));
        let record = run.record.as_ref().and_then(|record| record.as_deref().ok());
        let Some(logs) = &mut run.logs else { continue };
        if let (Some(unusable), Ok(_)) = (detail.or(other), &logs.detail) {
            logs.detail = Err(unusable);
        }
        if let (Some(unusable), Ok(_)) = (summary, &logs.summary) {
            logs.summary = Err(unusable);
        }
        set_aside_other_log(logs, record);
    }
    entry.runs = runs;
}

/// Marks as unusable one of two logs of different runs: the log whose metric the record does not
/// contain.
fn set_aside_other_log(logs: &mut Logs, record: Option<&RunResult>) {
    let (Ok(detail), Ok(summary)) = (&logs.detail, &logs.summary) else { return };
    let differ = disagreements(summary, detail);
    if differ.len() < MIN_DIFFERENCES {
        return;
    }
    let is_recorded = record.is_some_and(|record| {
        let logged = metric(record.scenario, detail).map(|metric| metric.value);
        logged.is_some() && record.metric.as_ref().map(|metric| metric.value) == logged
    });
    let (name, other) = if is_recorded { (SUMMARY, DETAIL) } else { (DETAIL, SUMMARY) };
    let why = format!(
        "is of another run than {other}: submit both as one run wrote them ({})",
        list_first(&differ)
    );
    let unusable = UnusableFile::of(N21, why);
    if name == SUMMARY {
        logs.summary = Err(unusable);
    } else {
        logs.detail = Err(unusable);
    }
}

/// Returns true if the official checkers infer a result in the scenario `wanted` from a run in the
/// scenario `run` (in the edge suite).
pub(crate) fn may_stand_for((wanted, run): (Scenario, Scenario)) -> bool {
    use Scenario::{MultiStream, Offline, SingleStream};
    matches!(
        (wanted, run),
        (MultiStream, SingleStream) | (Offline, SingleStream) | (Offline, MultiStream)
    )
}

/// Returns the reason why a record or a log does not belong at its path. `wanted` is the scenario
/// of the path; `scenario` and `mode` are those of the record or the log.
fn misplacement(
    run: &RunFiles,
    wanted: Option<Scenario>,
    scenario: Option<Scenario>,
    mode: Option<Mode>,
) -> Option<String> {
    let word = |word: Option<&'static str>| word.unwrap_or("unknown");
    if wanted.is_some() && scenario != wanted {
        let [of, not] = [scenario, wanted].map(|one| word(one.map(Scenario::word)));
        return Some(format!("is of a run of {of}, not of {not}"));
    }
    let allowed: &[Mode] = match run.kind {
        RunKind::Performance | RunKind::Submission => &[Mode::Performance, Mode::Submission],
        RunKind::Accuracy => &[Mode::Accuracy, Mode::Submission],
        RunKind::Test(_) => &[Mode::Performance],
        RunKind::Digests => &[Mode::Performance, Mode::Accuracy, Mode::Submission],
    };
    if mode.is_some_and(|mode| allowed.contains(&mode)) {
        return None;
    }
    let allowed: Vec<_> = allowed.iter().map(|mode| mode.word()).collect();
    let of = word(mode.map(Mode::word));
    Some(format!("is of a run in mode {of}, not {}", allowed.join(" or ")))
}
