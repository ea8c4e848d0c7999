//! N7 to N10 and N18: what LoadGen issued is what arrived, one by one and byte for byte (rules, sections 6.2.1 and 6.2.3).

use netdiv_contract::encoding::Encoding;
use netdiv_words::Mode;

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::{At, Findings},
};
use crate::{
    Rule::{N7, N8, N9, N10, N18},
    book::ElementType,
    result::{Comparison, Digests, InterfaceTraffic, Node, RunResult},
};

/// Least number of samples whose digests show something, where the data set has as many.
const MANY: u64 = 1000;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        counts(entry, found);
        if !subject.is_foreign() {
            digests(entry, found);
        }
    }
}

/// What the records count, of each run.
fn counts(entry: &Entry, found: &mut Findings) {
    for run in &entry.runs {
        let place = &run.record_place;
        let Some(record) = run.result() else { continue };
        let mut at = found.at(N9, place);
        one_by_one(run, record, &mut at);
        at.or_pass(
            "each sample that LoadGen issued was sent in a message of its own, and counted at the nodes",
        );
        let mut at = found.at(N18, place);
        carried(record, &mut at);
        at.or_pass("the bytes sent are those of the samples, and the interfaces carried them");
    }
}

fn one_by_one(run: &Run, record: &RunResult, at: &mut At) {
    let sent = record.total(|node| node.sent);
    let issued = record.samples.issued;
    if sent != issued {
        at.fail(format!("LoadGen issued {issued} samples, and {sent} messages were sent"));
    }
    for node in record.nodes.iter().filter(|node| node.acknowledged != node.sent) {
        let Node { name, sent, acknowledged, .. } = node;
        at.fail(format!("{sent} messages were sent to node {name}, which counted {acknowledged}"));
    }
    if let Some(logged) = logged_samples(run).filter(|logged| *logged != issued) {
        at.fail(format!(
            "LoadGen's log has {logged} samples, the record says that {issued} were issued"
        ));
    }
}

/// How many samples LoadGen issued, by its log.
fn logged_samples(run: &Run) -> Option<u64> {
    let detail = run.detail()?;
    if detail.mode() == Some(Mode::Submission) {
        return None;
    }
    match run.kind {
        Kind::Accuracy => detail.integer("qsl_reported_total_count"),
        Kind::Performance | Kind::Test(_) => {
            let queries = detail.integer("result_query_count")?;
            Some(queries.saturating_mul(detail.samples_per_query()?))
        }
        Kind::Submission | Kind::Digests => None,
    }
}

fn carried(record: &RunResult, at: &mut At) {
    let samples = &record.samples;
    if samples.completed != samples.issued || samples.lost != 0 {
        at.fail(format!(
            "of {} samples {} came back and {} were lost",
            samples.issued, samples.completed, samples.lost
        ));
    }
    let answered = record.total(|node| node.answered);
    if answered != samples.completed {
        at.fail(format!(
            "the nodes answered {answered} samples, and LoadGen was given {} responses",
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
        at.unknown("the record does not say how long the samples are");
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

/// Bytes of a sample that is one tensor of a fixed shape, and not encoded.
fn raw_bytes(record: &RunResult) -> Option<u64> {
    let ([tensor], Encoding::None) = (record.input.as_slice(), record.encoding) else {
        return None;
    };
    let element = ElementType::all().find(|one| one.is_in(tensor))?;
    let (_, shape) = tensor.split_once('[')?;
    let lengths =
        shape.strip_suffix(']')?.split(',').map(|length| length.trim().parse::<u64>().ok());
    lengths.into_iter().try_fold(element.bytes(), |bytes, length| bytes.checked_mul(length?))
}

/// What a run with digests proves for the result.
fn digests(entry: &Entry, found: &mut Findings) {
    let mut proven = false;
    for (place, record) in entry.records() {
        let Some(digests) = &record.digests else { continue };
        proven = true;
        if let Some(text) = too_little(entry, digests) {
            for rule in [N7, N8, N10] {
                found.fail(rule, place, &text);
            }
            continue;
        }
        let Digests { samples, responses, bytes_issued } = digests;
        let mut at = found.at(N7, place);
        at.fail_each(differences("samples", samples));
        let sent = record.total(|node| node.bytes_sent);
        if *bytes_issued != sent {
            at.fail(format!(
                "the samples that LoadGen issued have {bytes_issued} bytes as the QSL holds them, and {sent} payload bytes \
                 were sent"
            ));
        }
        let Comparison { sent, distinct, .. } = samples;
        at.or_pass(format!(
            "{sent} samples, {distinct} of them different, have the same digests at both ends"
        ));
        let mut at = found.at(N8, place);
        at.fail_each(differences("responses", responses));
        at.or_pass(format!("{} responses have the same digests at both ends", responses.sent));
        let mut at = found.at(N10, place);
        at.fail_each(miscounted("samples", samples, record.samples.issued));
        let responses_of_loadgen = record.samples.completed.saturating_add(record.first_tokens());
        at.fail_each(miscounted("responses", responses, responses_of_loadgen));
        at.or_pass(format!(
            "each of {sent} samples was received by a node, and each response came from one"
        ));
    }
    if !proven {
        let text = "no run compared what was sent with what arrived: run once with --digests";
        found.none_known([N7, N8, N10], &entry.place, text);
    }
}

/// Why digests show nothing of the result: they must be of enough samples.
fn too_little(entry: &Entry, digests: &Digests) -> Option<String> {
    let benchmark = entry.benchmark?;
    let least = benchmark.dataset_samples.min(MANY);
    let Comparison { sent, distinct, .. } = digests.samples;
    if let Some(tally) =
        [&digests.samples, &digests.responses].iter().find(|one| one.distinct > one.sent)
    {
        return Some(format!(
            "the digests have {} different ones of {}",
            tally.distinct, tally.sent
        ));
    }
    if distinct > benchmark.dataset_samples {
        let all = benchmark.dataset_samples;
        return Some(format!(
            "the digests are of {distinct} different samples, and the data set has {all}"
        ));
    }
    // A response's digest is also of the sample that it answers.
    if digests.responses.distinct < distinct {
        let responses = digests.responses.distinct;
        return Some(format!(
            "the digests are of {distinct} different samples, and of {responses} different responses to them"
        ));
    }
    if sent < least {
        return Some(format!("the digests are of {sent} samples; {least} are the least"));
    }
    // Samples are drawn by chance, and data sets have some twice.
    let different = least.min(benchmark.qsl_size) / 2;
    (distinct < different).then(|| {
        format!("of {sent} samples only {distinct} were different; {different} are the least")
    })
}

/// What is not the same at both ends.
fn differences(what: &str, tally: &Comparison) -> Option<String> {
    match (tally.differences, &tally.sha256) {
        (0, Some(_)) => None,
        (0, None) => {
            Some(format!("the digests of {what} have no common sum: the record is not whole"))
        }
        (count, _) => {
            let examples = tally.examples.join("; ");
            Some(format!("{count} {what} are not the same at both ends: {examples}"))
        }
    }
}

/// Both ends must have counted as many as LoadGen.
fn miscounted(what: &str, tally: &Comparison, count: u64) -> Option<String> {
    let Comparison { sent, received, .. } = tally;
    ([sent, received] != [&count; 2])
        .then(|| format!("{sent} {what} were sent and {received} received; LoadGen has {count}"))
}
