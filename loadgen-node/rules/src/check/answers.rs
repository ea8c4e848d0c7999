//! The answers in LoadGen's accuracy logs are those of the run: of N21 their numbers, of N18 their bytes, of N34 that TEST01 has the
//! ones of the accuracy run.

use std::collections::{BTreeMap, BTreeSet};

use netdiv_contract::encoding::Encoding;
use netdiv_words::Mode;

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
};
use crate::{
    Rule::{self, N18, N21, N34},
    book::{Benchmark, Test},
    compliance::first_number,
    facts::files,
    official_log::readable::{Readable, ReadableEntry, readable},
    result::{RunResult, Verdict},
    tree::{ACCURACY_LOG, VERIFY_ACCURACY},
};

/// The metric of benchmarks whose answer is one number: all answers have the same length.
const ONE_NUMBER: &str = "acc";

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let log = |run| Some((run, log(subject, entry, run)?));
        let logs: Vec<_> = entry.runs.iter().filter_map(log).collect();
        for (run, log) in &logs {
            for (rule, text) in of_run(run, log) {
                found.fail(rule, &run.place, text);
            }
        }
        if let Some(benchmark) = entry.benchmark {
            lengths(benchmark, entry, &logs, found);
            test01(subject, benchmark, entry, &logs, found);
        }
    }
}

/// The accuracy log of a run whose record may be judged by it: in a tree that of a test lies beside its logs.
fn log(subject: &Subject, entry: &Entry, run: &Run) -> Option<Readable> {
    run.logs.as_ref()?;
    let folder = match (&subject.tree, &entry.tree, run.kind) {
        (Some(tree), Some(place), Kind::Test(test)) => {
            tree.path(&place.compliance_accuracy(test.name()))
        }
        _ => run.folder.clone(),
    };
    let log = readable(&folder.join(ACCURACY_LOG));
    (!log.entries.is_empty()).then_some(log)
}

/// Returns true if the bytes that a record counts can be compared with the answers.
fn is_comparable(record: &RunResult) -> bool {
    record.verdict != Verdict::Failed
        && record.mode != Mode::Submission
        && record.nodes.iter().all(|node| {
            node.lost.is_none()
                && node.redispatched == 0
                && node.response_encodings == [Encoding::None]
        })
}

fn of_run(run: &Run, log: &Readable) -> Vec<(Rule, String)> {
    let mut wrong = Vec::new();
    let as_written = "submit the log as LoadGen wrote it";
    let mut add = |rule: Rule, text: String| {
        wrong.push((rule, format!("{ACCURACY_LOG} {text}: {as_written}")))
    };
    let numbers: BTreeSet<_> = log.entries.iter().map(|entry| entry.seq_id).collect();
    if numbers.len() < log.entries.len() {
        add(N21, "has two entries of one seq_id".into());
    }
    let issued = run.result().map(|record| record.samples.issued);
    let is_over = |entry: &&ReadableEntry| issued.is_some_and(|issued| entry.seq_id >= issued);
    if let Some(ReadableEntry { seq_id, .. }) = log.entries.iter().find(is_over) {
        add(N21, format!("has seq_id {seq_id}, and {} samples were issued", issued.unwrap_or(0)));
    }
    // Where these two differ, that is a finding of N2.
    let recorded = run.result().map(|record| record.dataset_samples);
    let logged = run.detail().and_then(|detail| detail.integer("qsl_reported_total_count"));
    let total =
        logged.or(recorded).filter(|total| recorded.is_none_or(|recorded| recorded == *total));
    let is_beyond = |entry: &&ReadableEntry| total.is_some_and(|total| entry.qsl_idx >= total);
    if let Some(ReadableEntry { qsl_idx, .. }) = log.entries.iter().find(is_beyond) {
        add(N21, format!("has sample {qsl_idx} of a data set of {}", total.unwrap_or(0)));
    }
    let samples: BTreeSet<_> = log.entries.iter().map(|entry| entry.qsl_idx).collect();
    if run.kind == Kind::Accuracy && samples.len() < log.entries.len() {
        add(N21, "answers a sample twice, and an accuracy run issues each once".into());
    }
    let Some(record) = run.result().filter(|record| is_comparable(record)) else { return wrong };
    let bytes: u64 = log.entries.iter().map(|entry| entry.data.len() as u64).sum();
    let received = record.total(|node| node.bytes_received);
    let is_all = log.is_whole && run.kind == Kind::Accuracy;
    if is_all && log.entries.len() as u64 != record.samples.issued {
        let count = log.entries.len();
        add(N21, format!("has {count} entries, and {} samples were issued", record.samples.issued));
    } else if bytes > received || (is_all && bytes != received) {
        let text =
            format!("has answers of {bytes} bytes, and {received} were received from the nodes");
        add(N18, text);
    }
    wrong
}

/// Answers of one number have one length, in all runs of a result.
fn lengths(benchmark: &Benchmark, entry: &Entry, logs: &[(&Run, Readable)], found: &mut Findings) {
    if benchmark.quality.first().is_none_or(|quality| quality.metric != ONE_NUMBER) {
        return;
    }
    let length = |entry: &ReadableEntry| entry.data.len() as u64;
    let mut all = logs.iter().flat_map(|(run, log)| log.entries.iter().map(move |one| (run, one)));
    let Some((_, first)) = all.next() else { return };
    if let Some((run, other)) = all.find(|(_, other)| length(other) != length(first)) {
        let text = format!(
            "{ACCURACY_LOG} has answers of {} and of {} bytes, and each is one number: submit the log as LoadGen wrote it",
            length(first),
            length(other)
        );
        return found.fail(N18, &run.place, text);
    }
    let length = length(first);
    for run in &entry.runs {
        let Some(record) = run.result().filter(|record| is_comparable(record)) else { continue };
        let (answered, received) =
            (record.total(|node| node.answered), record.total(|node| node.bytes_received));
        if received != answered.saturating_mul(length) {
            let text = format!(
                "answers in LoadGen's log have {length} bytes, and {received} bytes were received in {answered} answers: take the \
                 record as the run wrote it"
            );
            found.fail(N18, &run.record_place, text);
        }
    }
}

/// A sample that both logs show was answered alike, but for as many as the test itself has counted.
fn test01(
    subject: &Subject,
    benchmark: &Benchmark,
    entry: &Entry,
    logs: &[(&Run, Readable)],
    found: &mut Findings,
) {
    let of = |kind: Kind| logs.iter().find(|(run, _)| run.kind == kind).map(|(_, log)| log);
    let (Some(reference), Some(test)) = (of(Kind::Accuracy), of(Kind::Test(Test::Test01))) else {
        return;
    };
    let (Some(tree), Some(place)) = (&subject.tree, &entry.tree) else { return };
    let first = |entry: &ReadableEntry| first_number(benchmark, &entry.data).ok().flatten();
    let known: BTreeMap<_, _> =
        reference.entries.iter().map(|entry| (entry.qsl_idx, first(entry))).collect();
    let is_other = |entry: &&ReadableEntry| {
        known.get(&entry.qsl_idx).is_some_and(|known| *known != first(entry))
    };
    let others: Vec<_> = test.entries.iter().filter(is_other).collect();
    let folder = place.compliance(Test::Test01.name());
    let text = files::read_to_string(&tree.path(&format!("{folder}/{VERIFY_ACCURACY}")));
    let counted = text.ok().and_then(|text| {
        let line =
            text.lines().find_map(|line| line.strip_prefix("num_perf_log_data_mismatch = "))?;
        line.trim().parse::<usize>().ok()
    });
    let counted = counted.unwrap_or(0);
    if let Some(ReadableEntry { qsl_idx, .. }) = others.first().filter(|_| others.len() > counted) {
        let text = format!(
            "sample {qsl_idx} was answered otherwise in the accuracy run, and {VERIFY_ACCURACY} counts {counted} mismatches: verify \
             the test again"
        );
        found.fail(N34, folder, text);
    }
}
