//! N7 to N10 and N18: what LoadGen issued is what arrived, one by one and byte for byte (rules, sections 6.2.1 and 6.2.3).

use super::{
    bindings::{is_of_benchmark, is_of_scenario},
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
    machines::NO_RECORD,
};
use crate::{
    Rule,
    result::{Comparison, Digests, Node, RunResult},
};

const N7: Rule = Rule::new(7);
const N8: Rule = Rule::new(8);
const N9: Rule = Rule::new(9);
const N10: Rule = Rule::new(10);
const N18: Rule = Rule::new(18);

/// Least number of samples whose digests show something, where the data set has as many.
const MANY: u64 = 1000;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        counts(entry, found);
        digests(entry, found);
    }
}

/// Over all nodes.
fn total(record: &RunResult, of: fn(&Node) -> u64) -> u64 {
    sum(record.nodes.iter().map(of))
}

/// A record may say anything.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// What the records count, of each run.
fn counts(entry: &Entry, found: &mut Findings) {
    for run in &entry.runs {
        let place = &run.record_place;
        let Some(record) = run.result() else {
            for rule in [N9, N18] {
                found.unknown(rule, place, NO_RECORD);
            }
            continue;
        };
        let before = found.problems(N9);
        one_by_one(place, run, record, found);
        let text = "each sample that LoadGen issued was sent in a message of its own, and counted \
                    at the nodes";
        found.pass_unless_more(N9, before, place, text);
        let before = found.problems(N18);
        carried(place, record, found);
        let text = "the bytes sent are those of the samples, and the interfaces carried them";
        found.pass_unless_more(N18, before, place, text);
    }
}

fn one_by_one(place: &str, run: &Run, record: &RunResult, found: &mut Findings) {
    let sent = total(record, |node| node.sent);
    let issued = record.samples.issued;
    if sent != issued {
        let text = format!("LoadGen issued {issued} samples, and {sent} messages were sent");
        found.fail(N9, place, text);
    }
    for node in record.nodes.iter().filter(|node| node.acknowledged != node.sent) {
        let text = format!(
            "{} messages were sent to node {}, which counted {}",
            node.sent, node.name, node.acknowledged
        );
        found.fail(N9, place, text);
    }
    let Some(logged) = logged_samples(run) else { return };
    if logged != issued {
        let text = format!(
            "LoadGen's log has {logged} samples, the record says that {issued} were issued"
        );
        found.fail(N9, place, text);
    }
}

/// How many samples LoadGen issued, by its log.
fn logged_samples(run: &Run) -> Option<u64> {
    let detail = run.detail()?;
    if detail.text("effective_test_mode") == Some("SubmissionRun") {
        return None;
    }
    match run.kind {
        Kind::Accuracy => detail.integer("qsl_reported_total_count"),
        Kind::Performance | Kind::Test(_) => {
            let queries = detail.integer("result_query_count")?;
            Some(queries.saturating_mul(detail.integer("effective_samples_per_query")?))
        }
        Kind::Submission | Kind::Digests => None,
    }
}

fn carried(place: &str, record: &RunResult, found: &mut Findings) {
    let sent = total(record, |node| node.sent);
    let bytes = total(record, |node| node.bytes_sent);
    let received = total(record, |node| node.bytes_received);
    let samples = &record.samples;
    if samples.completed != samples.issued || samples.lost != 0 {
        let text = format!(
            "of {} samples {} came back and {} were lost",
            samples.issued, samples.completed, samples.lost
        );
        found.fail(N18, place, text);
    }
    let answered = total(record, |node| node.answered);
    if answered != samples.completed {
        let text = format!(
            "the nodes answered {answered} samples, and LoadGen was given {} responses",
            samples.completed
        );
        found.fail(N18, place, text);
    }
    match record.sample_bytes {
        Some(lengths) => {
            let [least, most] =
                [lengths.least, lengths.most].map(|length| sent.saturating_mul(length));
            if bytes < least || bytes > most {
                let text = format!(
                    "{bytes} payload bytes were sent, and {sent} samples of {} to {} bytes have \
                     {least} to {most}",
                    lengths.least, lengths.most
                );
                found.fail(N18, place, text);
            }
        }
        None => found.unknown(N18, place, "the record does not say how long the samples are"),
    }
    if record.interfaces.is_empty() {
        found.unknown(N18, place, "the run did not count what its interfaces carried");
        return;
    }
    let interfaces = || record.interfaces.iter();
    let out = sum(interfaces().map(|interface| interface.bytes_sent));
    let back = sum(interfaces().map(|interface| interface.bytes_received));
    for (what, payload, carried) in [("out", bytes, out), ("back", received, back)] {
        if carried < payload {
            let text = format!(
                "{payload} payload bytes went {what}, but the LoadGen node's interfaces carried \
                 {carried} bytes that way"
            );
            found.fail(N18, place, text);
        }
    }
}

/// What a run with digests proves for the result.
fn digests(entry: &Entry, found: &mut Findings) {
    let mut proven = false;
    for (place, record) in entry.records() {
        let Some(digests) = &record.digests else { continue };
        proven = true;
        if let Some(text) = too_little(entry, record, digests) {
            for rule in [N7, N8, N10] {
                found.fail(rule, place, &text);
            }
            continue;
        }
        let before = [N7, N8, N10].map(|rule| found.problems(rule));
        unchanged(place, record, digests, found);
        let Comparison { distinct, .. } = digests.samples;
        let count = digests.samples.sent;
        let texts = [
            format!(
                "{count} samples, {distinct} of them different, have the same digests at both ends"
            ),
            format!("{} responses have the same digests at both ends", digests.responses.sent),
            format!(
                "each of {count} samples was received by a node, and each response came from one"
            ),
        ];
        for ((rule, before), text) in [N7, N8, N10].into_iter().zip(before).zip(texts) {
            found.pass_unless_more(rule, before, place, text);
        }
    }
    if !proven {
        for rule in [N7, N8, N10] {
            let text = "no run compared what was sent with what arrived: run once with --digests";
            found.unknown(rule, &entry.place, text);
        }
    }
}

/// Why digests show nothing of the result: they must be of its samples, and of enough of them.
fn too_little(entry: &Entry, record: &RunResult, digests: &Digests) -> Option<String> {
    if !(is_of_benchmark(entry, record) && is_of_scenario(entry, record)) {
        let Entry { name, .. } = entry;
        let (benchmark, scenario) = (&record.benchmark, &record.scenario);
        return Some(format!("the digests are of {benchmark} in {scenario}, not of {name} here"));
    }
    let benchmark = entry.benchmark?;
    let least = benchmark.dataset_samples.min(MANY);
    let Comparison { sent, distinct, .. } = digests.samples;
    if sent < least {
        return Some(format!("the digests are of {sent} samples; {least} are the least"));
    }
    // Samples are drawn by chance, and data sets have some twice.
    let different = least.min(benchmark.qsl_size) / 2;
    (distinct < different).then(|| {
        format!("of {sent} samples only {distinct} were different; {different} are the least")
    })
}

fn unchanged(place: &str, record: &RunResult, digests: &Digests, found: &mut Findings) {
    let Digests { samples, responses, bytes_issued } = digests;
    let counted = [
        (N7, "samples", samples, record.samples.issued),
        (N8, "responses", responses, record.samples.completed),
    ];
    for (rule, what, tally, count) in counted {
        if tally.differences != 0 {
            let examples = tally.examples.join("; ");
            let text =
                format!("{} {what} are not the same at both ends: {examples}", tally.differences);
            found.fail(rule, place, text);
        }
        if tally.sent != tally.received || tally.sent != count {
            let text = format!(
                "{} {what} were sent and {} received; LoadGen has {count}",
                tally.sent, tally.received
            );
            found.fail(N10, place, text);
        }
        if tally.differences == 0 && tally.sha256.is_none() {
            let text = format!("the digests of {what} have no common sum: the record is not whole");
            found.fail(rule, place, text);
        }
    }
    let sent = total(record, |node| node.bytes_sent);
    if *bytes_issued != sent {
        let text = format!(
            "the samples that LoadGen issued have {bytes_issued} bytes as the QSL holds them, and \
             {sent} payload bytes were sent"
        );
        found.fail(N7, place, text);
    }
}
