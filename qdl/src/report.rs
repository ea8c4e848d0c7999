//! Counters and latencies of the QDL.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use clap::ValueEnum as _;
use hdrhistogram::Histogram;
use netdiv_contract::{encoding::Encoding, v1::InferResponse};

use crate::{
    histograms::{histogram, merge_histogram, nanoseconds},
    tokens::TokenReport,
};

/// Part of a round trip by which a node's times may exceed it, because the clocks of two machines
/// differ in speed: NTP changes each by at most 1 / 2000.
const CLOCK_TOLERANCE: u64 = 1000;

/// Durations of the four stages between `IssueQuery` and the response: one histogram for each
/// stage, in nanoseconds. The stages of a sample add up to its latency.
#[derive(Debug, Clone)]
pub struct Stages {
    /// Time from `IssueQuery` until the QDL passed the sample to the transport.
    pub qdl_queue: Histogram<u64>,
    /// Time on the wire, in both directions, and in the sockets of both ends: the round trip
    /// without `sut_queue` and `compute`.
    pub network: Histogram<u64>,
    /// Time from the sample's arrival at the node until the node's engine took its batch, as the
    /// node reports it.
    pub sut_queue: Histogram<u64>,
    /// Time in which the node's engine assembled the batch and ran the model, as the node reports
    /// it.
    pub compute: Histogram<u64>,
}

/// Counters and latencies of one node, or of one lane to it.
#[derive(Debug, Clone)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// The node's address.
    pub address: String,
    /// Number of samples sent to the node.
    pub sent: u64,
    /// Number of samples that the node reported as received, at the last flush.
    pub acknowledged: u64,
    /// Number of samples that the node answered.
    pub answered: u64,
    /// Arrival of the last response.
    pub last_answered: Option<Instant>,
    /// Failure by which the node was lost, if the run continued without it.
    pub lost: Option<String>,
    /// Number of samples that were assigned to the node and had to go to other nodes.
    pub redispatched: u64,
    /// Number of reassigned samples that had already been sent to the node.
    pub taken_back: u64,
    /// Number of replies whose id belongs to no sample in flight; they are dropped.
    pub unmatched: u64,
    /// Number of responses with impossible figures: times that are longer than the sample's round
    /// trip, or more reused tokens than its prompt has. They count with the sample's own instead.
    pub impossible: u64,
    /// Number of payload bytes sent to the node, after encoding.
    pub bytes_sent: u64,
    /// Number of payload bytes in the node's responses, before decoding.
    pub bytes_received: u64,
    /// Encodings that the node has used for its responses.
    pub response_encodings: Encodings,
    /// Number of tokens of samples that the node's engine reused from other samples instead of
    /// computing them.
    pub cached_prompt_tokens: u64,
    /// Number of answered samples by batch size. The batch size is the number of samples that the
    /// node's engine computed together.
    pub samples_by_batch: BTreeMap<u32, u64>,
    /// Sum of the answered samples' latencies, in nanoseconds.
    pub latency_sum_ns: u64,
    /// Latency of each answered sample: the time from `IssueQuery` until its response arrived, in
    /// nanoseconds.
    pub latency: Histogram<u64>,
    /// Durations of the stages of each latency.
    pub stages: Stages,
    /// Counts and latencies of tokens; `None` until a response arrives whose tokens the run counts.
    pub tokens: Option<Box<TokenReport>>,
}

/// Times of one response, in nanoseconds, and the size of its batch. The times at the node are at
/// most the round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerTimes {
    queued_ns: u64,
    round_trip_ns: u64,
    sut_queue_ns: u64,
    compute_ns: u64,
    batch_size: u32,
    /// Set if the response has impossible figures.
    pub(crate) is_impossible: bool,
}

impl AnswerTimes {
    /// Combines the time `queued` that a sample waited in the QDL, its round trip, and the times
    /// and batch size that the node reports in `reply`.
    pub fn new(queued: Duration, round_trip: Duration, reply: &InferResponse) -> Self {
        let round_trip_ns = nanoseconds(round_trip);
        let compute_ns = reply.prepare_ns.saturating_add(reply.compute_ns);
        let excess = reply.queue_ns.saturating_add(compute_ns).saturating_sub(round_trip_ns);
        let sut_queue_ns = reply.queue_ns.min(round_trip_ns);
        Self {
            queued_ns: nanoseconds(queued),
            round_trip_ns,
            sut_queue_ns,
            compute_ns: compute_ns.min(round_trip_ns - sut_queue_ns),
            batch_size: reply.batch_size,
            is_impossible: excess > round_trip_ns / CLOCK_TOLERANCE
                || reply.first_token_ns > reply.compute_ns,
        }
    }

    /// Returns the time that the sample waited at the node, and the rest of its round trip, in
    /// nanoseconds.
    pub(crate) fn wait_and_rest_ns(&self) -> [u64; 2] {
        [self.sut_queue_ns, self.round_trip_ns - self.sut_queue_ns]
    }
}

/// Facts from which the times of a response follow: the times at which its sample was issued and
/// sent, and the figures that the node reports.
pub(crate) type ResponseFacts = (Instant, Instant, [u64; 6]);

/// Collector of consecutive responses with equal facts, such as responses of one batch that arrived
/// together. It computes their times once, and counts them in one step.
#[derive(Debug, Default)]
pub(crate) struct EqualResponses(Option<(ResponseFacts, AnswerTimes, u64)>);

impl EqualResponses {
    /// Adds a response. If its facts differ from those of the responses before it, these are first
    /// counted in `report`, and the times of this response are returned.
    pub(crate) fn add(
        &mut self,
        facts: ResponseFacts,
        times: impl FnOnce() -> AnswerTimes,
        report: &mut NodeReport,
    ) -> Option<AnswerTimes> {
        match &mut self.0 {
            Some((same, _, answers)) if *same == facts => {
                *answers += 1;
                None
            }
            _ => {
                self.count(report);
                let times = times();
                self.0 = Some((facts, times, 1));
                Some(times)
            }
        }
    }

    /// Counts in `report` the responses that were added since the last call.
    pub(crate) fn count(&mut self, report: &mut NodeReport) {
        if let Some((_, times, answers)) = self.0.take() {
            report.count_answers(&times, answers);
        }
    }
}

/// Set of encodings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Encodings(u32);

impl Encodings {
    fn insert(&mut self, encoding: Encoding) {
        self.0 |= Self::bit(encoding);
    }

    /// Iterates over the encodings in the set, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Encoding> {
        let all = Encoding::value_variants().iter().copied();
        all.filter(move |encoding| self.0 & Self::bit(*encoding) != 0)
    }

    const fn bit(encoding: Encoding) -> u32 {
        1 << encoding as u32
    }
}

/// Snapshot of a run in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of samples that LoadGen issued.
    pub issued: u64,
    /// Number of samples sent, without the samples that were taken back from a lost node.
    pub sent: u64,
    /// Number of samples answered.
    pub answered: u64,
    /// Sum of the answered samples' latencies, in nanoseconds.
    pub latency_sum_ns: u64,
}

impl NodeReport {
    /// Creates the report of a node that has answered nothing yet.
    pub fn new(name: &str, address: &str) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            sent: 0,
            acknowledged: 0,
            answered: 0,
            last_answered: None,
            lost: None,
            redispatched: 0,
            taken_back: 0,
            unmatched: 0,
            impossible: 0,
            bytes_sent: 0,
            bytes_received: 0,
            response_encodings: Encodings::default(),
            cached_prompt_tokens: 0,
            samples_by_batch: BTreeMap::new(),
            latency_sum_ns: 0,
            latency: histogram(3),
            stages: Stages {
                qdl_queue: histogram(2),
                network: histogram(2),
                sut_queue: histogram(2),
                compute: histogram(2),
            },
            tokens: None,
        }
    }

    /// Counts the payload of one response: its length before decoding, and its encoding.
    pub fn received(&mut self, bytes: usize, encoding: Encoding) {
        self.bytes_received += bytes as u64;
        self.response_encodings.insert(encoding);
    }

    /// Counts `answers` responses, which all have these times.
    pub fn count_answers(&mut self, times: &AnswerTimes, answers: u64) {
        let AnswerTimes { queued_ns, round_trip_ns, sut_queue_ns, compute_ns, .. } = *times;
        let AnswerTimes { batch_size, is_impossible, .. } = *times;
        let latency_ns = queued_ns.saturating_add(round_trip_ns);
        let network_ns = round_trip_ns - sut_queue_ns - compute_ns;
        self.answered += answers;
        self.impossible += if is_impossible { answers } else { 0 };
        *self.samples_by_batch.entry(batch_size).or_default() += answers;
        self.latency_sum_ns =
            self.latency_sum_ns.saturating_add(latency_ns.saturating_mul(answers));
        self.latency.saturating_record_n(latency_ns, answers);
        self.stages.qdl_queue.saturating_record_n(queued_ns, answers);
        self.stages.network.saturating_record_n(network_ns, answers);
        self.stages.sut_queue.saturating_record_n(sut_queue_ns, answers);
        self.stages.compute.saturating_record_n(compute_ns, answers);
    }

    /// Adds the counters and latencies of another lane, or of another node. Fields that describe the
    /// node itself stay: `name`, `address`, `acknowledged` and `lost`.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.last_answered = self.last_answered.max(other.last_answered);
        self.redispatched += other.redispatched;
        self.taken_back += other.taken_back;
        self.unmatched += other.unmatched;
        self.impossible += other.impossible;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.response_encodings.0 |= other.response_encodings.0;
        self.cached_prompt_tokens += other.cached_prompt_tokens;
        for (size, samples) in &other.samples_by_batch {
            *self.samples_by_batch.entry(*size).or_default() += samples;
        }
        self.latency_sum_ns += other.latency_sum_ns;
        merge_histogram(&mut self.latency, &other.latency);
        self.stages.merge(&other.stages);
        if let Some(tokens) = &other.tokens {
            self.tokens.get_or_insert_default().merge(tokens);
        }
    }
}

impl Stages {
    /// Adds the histograms of other samples to the histograms of these samples.
    pub fn merge(&mut self, other: &Self) {
        merge_histogram(&mut self.qdl_queue, &other.qdl_queue);
        merge_histogram(&mut self.network, &other.network);
        merge_histogram(&mut self.sut_queue, &other.sut_queue);
        merge_histogram(&mut self.compute, &other.compute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_at_a_node_are_at_most_the_round_trip() {
        let (max, round_trip) = (u64::MAX, Duration::from_nanos(10_000));
        for ([queue_ns, prepare_ns, compute_ns, first_token_ns], at_node, is_impossible) in [
            ([10, 20, 70, 60], (10, 90), false),
            ([1_000, 1_000, 8_000, 8_000], (1_000, 9_000), false),
            ([10, 20, 9_980, 0], (10, 9_990), false),
            ([10, 20, 9_981, 0], (10, 9_990), true),
            ([max, max, max, max], (10_000, 0), true),
            ([0, 0, max, 0], (0, 10_000), true),
            ([10, 20, 70, 71], (10, 90), true),
        ] {
            let reply = InferResponse {
                queue_ns,
                prepare_ns,
                compute_ns,
                first_token_ns,
                ..Default::default()
            };
            let times = AnswerTimes::new(Duration::ZERO, round_trip, &reply);
            assert_eq!((times.sut_queue_ns, times.compute_ns), at_node, "{reply:?}");
            assert_eq!(times.is_impossible, is_impossible, "{reply:?}");
        }
    }

    #[test]
    fn answers_are_counted_as_if_one_by_one() {
        let reply = |batch_size| InferResponse { queue_ns: 5, batch_size, ..Default::default() };
        let now = Instant::now();
        let (mut one_by_one, mut in_runs) = (NodeReport::new("", ""), NodeReport::new("", ""));
        let mut alike = EqualResponses::default();
        for (queued, round_trip, batch) in
            [(1, 10, 2), (1, 10, 2), (1, 10, 2), (3, 10, 2), (3, 10, 4), (1, 10, 2)]
        {
            let [queued, round_trip] = [queued, round_trip].map(Duration::from_nanos);
            let times = AnswerTimes::new(queued, round_trip, &reply(batch));
            one_by_one.count_answers(&times, 1);
            let facts = (now - queued, now + round_trip, [5, 0, 0, 0, batch.into(), 0]);
            alike.add(facts, || times, &mut in_runs);
        }
        alike.count(&mut in_runs);
        alike.count(&mut in_runs);
        assert_eq!(format!("{one_by_one:?}"), format!("{in_runs:?}"));
        assert_eq!((in_runs.answered, in_runs.latency_sum_ns), (6, 70));
    }
}
