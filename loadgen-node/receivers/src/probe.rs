//! Measurements and single samples, without LoadGen.

use std::{ops::Deref, sync::Arc, time::Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use netdiv_qdl::{ConnectError, Expectation, Failure, LoadGen, Qdl, SampleSource, Settings};
use parking_lot::Mutex;

/// Receiver of a measurement's responses. By default, it discards them.
pub trait ProbeReceiver: Send + Sync + 'static {
    /// Receives the first token of a sample.
    fn first_token(&self) {}

    /// Receives responses. `due` holds the times with which their samples were issued.
    fn complete(&self, _due: &[Instant], _payloads: &[Bytes]) {}
}

/// Discards responses; the QDL counts them.
pub struct ResponseSink;

impl ProbeReceiver for ResponseSink {}

/// Records the time of each response, from when its sample was due.
pub struct LatencyRecorder(pub Arc<Mutex<Histogram<u64>>>);

impl ProbeReceiver for LatencyRecorder {
    fn complete(&self, due: &[Instant], _: &[Bytes]) {
        let now = Instant::now();
        let mut times = self.0.lock();
        for due in due {
            let ns = now.saturating_duration_since(*due).as_nanos();
            times.saturating_record(u64::try_from(ns).unwrap_or(u64::MAX));
        }
    }
}

/// A QDL that sends one sample again and again.
pub struct Probe(Qdl<AnyReceiver>);

/// A receiver whose type the QDL does not know.
pub struct AnyReceiver(Box<dyn ProbeReceiver>);

impl LoadGen for AnyReceiver {
    type Ticket = Instant;

    fn first_token(&self, _: &mut Instant, _: &Bytes) {
        self.0.first_token();
    }

    fn complete(&self, due: &mut Vec<Instant>, payloads: &[Bytes]) {
        self.0.complete(due, payloads);
        due.clear();
    }
}

impl Probe {
    /// Index of the sample.
    pub const SAMPLE: usize = 0;

    /// Connects to all nodes, like [`Qdl::connect`]. It is not generic, so that this crate contains
    /// the QDL's code.
    ///
    /// # Errors
    ///
    /// Fails if a node cannot be reached, or does not meet `expected`.
    pub fn connect(
        settings: Settings,
        expected: &Expectation,
        receiver: Box<dyn ProbeReceiver>,
        source: Arc<dyn SampleSource>,
    ) -> Result<Self, ConnectError> {
        Qdl::connect(settings, expected, AnyReceiver(receiver), source).map(Self)
    }

    /// Issues the sample once for each of these times.
    ///
    /// # Errors
    ///
    /// Fails if the QDL has failed.
    pub fn issue(&self, due: &[Instant]) -> Result<(), Failure> {
        self.0.issue(due.iter().map(|due| (*due, Self::SAMPLE)))
    }
}

impl Deref for Probe {
    type Target = Qdl<AnyReceiver>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
