//! Speed of a node, as a lane learns it from replies.
//!
//! Each reply shows how many samples the lane had in flight when its sample was sent, how long the
//! sample waited at the node, and how long everything else took. While samples wait, a node handles
//! as many at a time as it has *places*: with `n` in flight, a wait of `w` and a service time of
//! `s`, these are `n · s / (w + s)` (Little's law). Without a wait, there are at least `n`. A service
//! time far above its minimum is a wait, too: at a server behind the node, or in the network.

use std::sync::atomic::{AtomicU64, Ordering};

/// Weight of a reply in the running means.
const WEIGHT: f64 = 1.0 / 32.0;

/// Weight of a reply without a wait that had fewer samples in flight than there are places.
const FORGETTING: f64 = 1.0 / 256.0;

/// Maximum wait that shows no lack of places, as a share of the service time.
const NO_WAIT: f64 = 0.01;

/// Multiple of the minimum service time above which the rest is a wait.
const FAR: f64 = 2.0;

/// Part by which the minimum service time grows with each reply, so that a node may become slower.
const AGEING: f64 = 1.0 / 2048.0;

/// Service time of a node that has not replied, in nanoseconds: longer than that of a node that has.
const UNKNOWN_NS: f64 = 1e12;

/// Speed of the node behind a lane, for this lane.
#[derive(Debug)]
pub(crate) struct SpeedEstimate {
    /// Number of samples of the lane that the node handles at a time.
    places: f64,
    /// Mean of the recent service times; `None` before the first reply.
    service_ns: Option<f64>,
    /// Minimum of that mean.
    min_service_ns: f64,
}

impl SpeedEstimate {
    /// Creates the estimate for a node that handles `batch` samples at a time and has not replied.
    pub(crate) fn new(batch: usize) -> Self {
        Self { places: batch.max(1) as f64, service_ns: None, min_service_ns: f64::INFINITY }
    }

    /// Adds a reply: the number of samples of the lane that were in flight when its sample was
    /// sent, the time that the sample waited at the node, and the rest of its round trip.
    pub(crate) fn observe(&mut self, in_flight: u32, wait_ns: u64, rest_ns: u64) {
        let (in_flight, wait, rest) = (f64::from(in_flight), wait_ns as f64, rest_ns.max(1) as f64);
        let before = self.service_ns.unwrap_or(rest);
        let mean = before + (rest - before) * WEIGHT;
        self.service_ns = Some(mean);
        self.min_service_ns = mean.min(self.min_service_ns * (1.0 + AGEING));
        let service = mean.min(FAR * self.min_service_ns);
        let wait = wait.max(mean - service);
        let (seen, weight) = if wait > NO_WAIT * service {
            (in_flight * service / (wait + service), WEIGHT)
        } else if in_flight > self.places {
            (in_flight, 1.0)
        } else {
            (in_flight, FORGETTING)
        };
        self.places += (seen - self.places) * weight;
    }
}

/// Speed of the node behind a lane, as all threads read it.
#[derive(Debug)]
pub(crate) struct Speed {
    /// Bits of a floating-point number, as are those of the other field.
    places: AtomicU64,
    ns_per_sample: AtomicU64,
}

impl Speed {
    pub(crate) fn new(estimate: &SpeedEstimate) -> Self {
        let speed = Self { places: AtomicU64::default(), ns_per_sample: AtomicU64::default() };
        speed.publish(estimate);
        speed
    }

    pub(crate) fn publish(&self, estimate: &SpeedEstimate) {
        let ns_per_sample = estimate.service_ns.unwrap_or(UNKNOWN_NS) / estimate.places;
        self.places.store(estimate.places.to_bits(), Ordering::Relaxed);
        self.ns_per_sample.store(ns_per_sample.to_bits(), Ordering::Relaxed);
    }

    /// Returns the time for each sample while samples wait, in nanoseconds.
    pub(crate) fn ns_per_sample(&self) -> f64 {
        f64::from_bits(self.ns_per_sample.load(Ordering::Relaxed))
    }

    /// Returns the time that another sample is expected to wait behind `unanswered` samples of the
    /// lane, and the time that those take, in nanoseconds. An idle node lets none wait.
    pub(crate) fn expected_ns(&self, unanswered: usize) -> [f64; 2] {
        let (unanswered, places) =
            (unanswered as f64, f64::from_bits(self.places.load(Ordering::Relaxed)));
        let each = self.ns_per_sample();
        [(unanswered + 1.0 - places.max(1.0)).max(0.0) * each, unanswered * each]
    }
}
