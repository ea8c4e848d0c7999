//! The QDL between its two ends: official LoadGen, or a measurement, issues samples and receives
//! responses.
//!
//! The QDL is generic over the receiver of its responses, so the compiler translates it once for
//! each. This crate has the receivers of many samples, and is optimised fully; the rest of
//! `loadgen-node` is not.
//!
//! - `official.rs`: LoadGen, as the QDL calls it, and the QDL, as LoadGen calls it
//! - `witness.rs`: digests of what LoadGen issued and received
//! - `probe.rs`: receivers of measurements, without LoadGen

mod official;
mod probe;
mod witness;

pub use official::{FAILED, NetworkSut, OfficialLoadGen, connect, run_failure};
pub use probe::{LatencyRecorder, Probe, ProbeReceiver, ResponseSink};
pub use witness::Witness;
