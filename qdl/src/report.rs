//! What the QDL counted.

use std::{collections::BTreeMap, time::Duration};

use clap::ValueEnum as _;
use hdrhistogram::Histogram;
use netdiv_contract::{encoding::Encoding, v1::InferResponse};

/// Longest time that the histograms tell apart, in nanoseconds: one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Where the time of samples went: one histogram of nanoseconds per stage.
#[derive(Debug, Clone)]
pub struct Stages {
    /// From `IssueQuery` until the sample was handed to the transport.
    pub qdl_queue: Histogram<u64>,
    /// On the wire, both ways, and in both ends' sockets: what is left of the round trip.
    pub network: Histogram<u64>,
    /// At the node, waiting for a batch.
    pub sut_queue: Histogram<u64>,
    /// At the node, in the engine: putting the batch together and running the model.
    pub compute: Histogram<u64>,
}

/// What was counted about one node.
#[derive(Debug, Clone)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Samples sent to it.
    pub sent: u64,
    /// Samples that it says it has received, at the last flush.
    pub acknowledged: u64,
    /// Samples that it answered.
    pub answered: u64,
    /// Why it was lost, where the run went on without it.
    pub lost: Option<String>,
    /// Samples that were given to it and had to go to other nodes.
    pub redispatched: u64,
    /// Replies whose id belongs to no sample in flight; dropped.
    pub unmatched: u64,
    /// Payload bytes sent, as encoded.
    pub bytes_sent: u64,
    /// Response bytes received, as encoded.
    pub bytes_received: u64,
    /// Encodings of the responses.
    pub response_encodings: Encodings,
    /// Number of answered samples by the size of the batch that they were in.
    pub samples_by_batch: BTreeMap<u32, u64>,
    /// Sum of the latencies, in nanoseconds.
    pub latency_sum_ns: u64,
    /// From `IssueQuery` to completion, in nanoseconds.
    pub latency: Histogram<u64>,
    /// Where that time went.
    pub stages: Stages,
}

/// A set of encodings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Encodings(u32);

impl Encodings {
    fn insert(&mut self, encoding: Encoding) {
        self.0 |= Self::bit(encoding);
    }

    /// The encodings in it, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Encoding> {
        let all = Encoding::value_variants().iter().copied();
        all.filter(move |encoding| self.0 & Self::bit(*encoding) != 0)
    }

    const fn bit(encoding: Encoding) -> u32 {
        1 << encoding as u32
    }
}

/// A glance at a run under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Samples handed over by LoadGen.
    pub issued: u64,
    /// Samples sent.
    pub sent: u64,
    /// Samples answered.
    pub answered: u64,
    /// Sum of the answered samples' latencies, in nanoseconds.
    pub latency_sum_ns: u64,
}

fn histogram(digits: u8) -> Histogram<u64> {
    #[allow(clippy::expect_used, reason = "the bounds are constants that the library allows")]
    Histogram::new_with_bounds(1, LONGEST_NS, digits).expect("valid bounds")
}

impl NodeReport {
    /// Of a node that has answered nothing yet.
    pub fn new(name: &str, address: &str) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            sent: 0,
            acknowledged: 0,
            answered: 0,
            lost: None,
            redispatched: 0,
            unmatched: 0,
            bytes_sent: 0,
            bytes_received: 0,
            response_encodings: Encodings::default(),
            samples_by_batch: BTreeMap::new(),
            latency_sum_ns: 0,
            latency: histogram(3),
            stages: Stages {
                qdl_queue: histogram(2),
                network: histogram(2),
                sut_queue: histogram(2),
                compute: histogram(2),
            },
        }
    }

    /// Counts the payload of one answer, as it was received.
    pub fn received(&mut self, bytes: usize, encoding: Encoding) {
        self.bytes_received += bytes as u64;
        self.response_encodings.insert(encoding);
    }

    /// Counts one answer: how long it waited here, its round trip, and the times that the node gives.
    pub fn answer(&mut self, queued: Duration, round_trip: Duration, reply: &InferResponse) {
        self.answered += 1;
        *self.samples_by_batch.entry(reply.batch_size).or_default() += 1;
        let compute = reply.prepare_ns.saturating_add(reply.compute_ns);
        let at_node = reply.queue_ns.saturating_add(compute);
        let (queued, round_trip) = (nanoseconds(queued), nanoseconds(round_trip));
        self.latency_sum_ns += queued + round_trip;
        self.latency.saturating_record(queued + round_trip);
        self.stages.qdl_queue.saturating_record(queued);
        self.stages.network.saturating_record(round_trip.saturating_sub(at_node));
        self.stages.sut_queue.saturating_record(reply.queue_ns);
        self.stages.compute.saturating_record(compute);
    }

    /// Adds another lane to the same node.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.redispatched += other.redispatched;
        self.unmatched += other.unmatched;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.response_encodings.0 |= other.response_encodings.0;
        for (size, samples) in &other.samples_by_batch {
            *self.samples_by_batch.entry(*size).or_default() += samples;
        }
        self.latency_sum_ns += other.latency_sum_ns;
        merge_histogram(&mut self.latency, &other.latency);
        self.stages.merge(&other.stages);
    }
}

impl Stages {
    /// Adds the times of other samples.
    pub fn merge(&mut self, other: &Self) {
        merge_histogram(&mut self.qdl_queue, &other.qdl_queue);
        merge_histogram(&mut self.network, &other.network);
        merge_histogram(&mut self.sut_queue, &other.sut_queue);
        merge_histogram(&mut self.compute, &other.compute);
    }
}

/// Both have the same bounds, so adding cannot fail.
fn merge_histogram(into: &mut Histogram<u64>, other: &Histogram<u64>) {
    let added = into.add(other);
    debug_assert!(added.is_ok());
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
