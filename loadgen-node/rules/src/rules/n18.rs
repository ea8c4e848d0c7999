//! N18: queries and responses all cross the network (rules, section 6.2.3).

use std::collections::BTreeSet;

use netdiv_contract::{encoding::Encoding, tokens::ID_BYTES};

use crate::{
    book::{Benchmark, ElementType},
    judge::samples::in_shape,
    official_log::readable_entries::{ReadableEntry, ReadableLog},
    record::{Evidence, InterfaceTraffic, RunResult},
    subject::{Findings, PlaceJudgement, ResultEntry, RunFiles, RunKind, Subject},
    tree::ACCURACY_LOG,
};

/// Metric of benchmarks whose response is a single number, so that all responses have the same
/// length.
const ONE_NUMBER: &str = "acc";

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    found.records(subject, |record| misattributed_traffic(record, record.network_evidence()?));
    for (run, record) in subject.records() {
        let mut at = found.at(&run.record_place);
        judge_traffic(record, &mut at);
        at.or_pass("the bytes sent are those of the samples, and the interfaces carried them");
    }
    for entry in &subject.results {
        let log = |run| Some((run, subject.read_answers(entry, run)?));
        let logs: Vec<_> = entry.runs.iter().filter_map(log).collect();
        for (run, log) in &logs {
            if let Some(text) = other_bytes(run, log) {
                found.fail(&run.place, text);
            }
        }
        if let Some(benchmark) = entry.benchmark {
            lengths(benchmark, entry, &logs, found);
        }
    }
    found.records(subject, other_bytes_of_tokens);
}

/// Returns a finding about an interface whose traffic was counted and that no route uses, or that
/// was counted twice.
fn misattributed_traffic(record: &RunResult, evidence: &Evidence) -> Option<String> {
    let routes = &evidence.loadgen_node.routes;
    let used: BTreeSet<_> = routes.iter().filter_map(|route| route.interface.as_deref()).collect();
    let counted = || record.interfaces.iter().map(|interface| interface.name.as_str());
    let stranger = counted().find(|name| !used.is_empty() && !used.contains(name));
    if let Some(name) = stranger {
        return Some(format!("the traffic of {name} was counted, and no route uses it"));
    }
    let names: BTreeSet<_> = counted().collect();
    (names.len() < record.interfaces.len())
        .then(|| "the traffic of one interface was counted twice".into())
}

fn judge_traffic(record: &RunResult, at: &mut PlaceJudgement) {
    let samples = &record.samples;
    if samples.completed != samples.issued || samples.lost != 0 {
        at.fail(format!(
            "of {} samples, {} were completed and {} were lost",
            samples.issued, samples.completed, samples.lost
        ));
    }
    let answered = record.total(|node| node.answered);
    if answered != samples.completed {
        at.fail(format!(
            "the nodes answered {answered} samples, and LoadGen received {} responses",
            samples.completed
        ));
    }
    let sent = record.total(|node| node.sent);
    let bytes = record.total(|node| node.bytes_sent);
    if let Some(lengths) = record.sample_bytes {
        let [least, most] = [lengths.least, lengths.most].map(|length| sent.saturating_mul(length));
        if let Some(raw) =
            raw_bytes(record).filter(|raw| [lengths.least, lengths.most] != [*raw; 2])
        {
            at.fail(format!(
                "samples had {} to {} bytes, and `{}` has {raw}: take the record as the run wrote it",
                lengths.least,
                lengths.most,
                record.input.join(" + ")
            ));
        }
        if !(least..=most).contains(&bytes) {
            at.fail(format!(
                "{bytes} payload bytes were sent, and {sent} samples of {} to {} bytes have {least} to {most}",
                lengths.least, lengths.most
            ));
        }
    } else {
        at.unknown("the record lacks the length of the samples");
    }
    let carried = |of: fn(&InterfaceTraffic) -> u64| {
        record.interfaces.iter().map(of).fold(0, u64::saturating_add)
    };
    if record.interfaces.is_empty() {
        return at.unknown("the run did not count what its interfaces carried");
    }
    let received = record.total(|node| node.bytes_received);
    let (out, back) = (carried(|one| one.bytes_sent), carried(|one| one.bytes_received));
    for (what, payload, carried) in [("out", bytes, out), ("back", received, back)] {
        if carried < payload {
            at.fail(format!(
                "{payload} payload bytes went {what}, but the LoadGen node's interfaces carried {carried} bytes that way"
            ));
        }
    }
}

/// Returns the bytes of a sample if it is one tensor of a fixed shape, without encoding.
fn raw_bytes(record: &RunResult) -> Option<u64> {
    let ([tensor], Encoding::None) = (record.input.as_slice(), record.encoding) else {
        return None;
    };
    in_shape(tensor)?.checked_mul(ElementType::of(tensor)?.bytes())
}

/// Returns a finding if LoadGen's accuracy log has more bytes of responses than the nodes sent, or
/// fewer although it is the complete log of an accuracy run. N21 compares the number of responses.
fn other_bytes(run: &RunFiles, log: &ReadableLog) -> Option<String> {
    let record = run.result().filter(|record| record.has_comparable_answers())?;
    let is_all = log.is_whole && run.kind == RunKind::Accuracy;
    if is_all && log.entries.len() as u64 != record.samples.issued {
        return None;
    }
    let bytes: u64 = log.entries.iter().map(|entry| entry.data.len() as u64).sum();
    let received = record.total(|node| node.bytes_received);
    (bytes > received || (is_all && bytes != received)).then(|| {
        format!(
            "{ACCURACY_LOG} has answers of {bytes} bytes, and {received} were received from the nodes: submit the log as LoadGen \
             wrote it"
        )
    })
}

/// Finds responses that differ in length although each is a single number, in all runs of a result.
/// Also compares that length with the bytes in each record.
fn lengths(
    benchmark: &Benchmark,
    entry: &ResultEntry,
    logs: &[(&RunFiles, ReadableLog)],
    found: &mut Findings,
) {
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
        return found.fail(&run.place, text);
    }
    let length = length(first);
    for run in &entry.runs {
        let Some(record) = run.result().filter(|record| record.has_comparable_answers()) else {
            continue;
        };
        let (answered, received) =
            (record.total(|node| node.answered), record.total(|node| node.bytes_received));
        if received != answered.saturating_mul(length) {
            let text = format!(
                "answers in LoadGen's log have {length} bytes, and {received} bytes were received in {answered} answers: take the \
                 record as the run wrote it"
            );
            found.fail(&run.record_place, text);
        }
    }
}

/// Returns the nodes that sent another number of bytes than their tokens have.
fn other_bytes_of_tokens(record: &RunResult) -> impl Iterator<Item = String> {
    record.nodes_with_tokens().filter_map(|(node, tokens)| {
        let bytes = tokens.total.saturating_mul(ID_BYTES as u64);
        // A lost node may have sent responses that were not counted.
        let is_whole = node.lost.is_none() && node.redispatched == 0;
        let is_compared = is_whole && node.response_encodings == [Encoding::None];
        (is_compared && node.bytes_received != bytes).then(|| {
            let (received, name) = (node.bytes_received, &node.name);
            format!("node {name} sent {received} bytes, and its tokens have {bytes}")
        })
    })
}
