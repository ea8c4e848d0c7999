//! Traces of both programs, sent to a collector in OTLP: of batches and runs, never of samples.
//!
//! A trace is made when what it is about is over, from times that were taken anyway. Without the feature `otlp`, and where no
//! collector is named, nothing is made.

#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
mod otlp {
    //! In place of what sends traces.

    use crate::{Settings, StartError, Trace};

    #[derive(Debug)]
    pub(crate) enum Sending {}

    pub(crate) fn start(_: &Settings, _: &'static str, _: &str) -> Result<Sending, StartError> {
        Err(StartError::NotBuilt)
    }

    pub(crate) fn record(_: impl FnOnce() -> Trace) {}
}
mod settings;

use std::time::Instant;

pub use settings::{Settings, SettingsError};

/// Why no traces can be sent.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program was built without them.
    #[error("--otlp: this program was built without the feature otlp")]
    NotBuilt,
    /// What sends them cannot be made.
    #[error("--otlp: cannot send traces: {0}")]
    Failed(String),
}

/// Something that took its time, and the stages of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// What it is.
    pub whole: Stage,
    /// What is known of it.
    pub facts: Vec<(&'static str, Fact)>,
    /// Its stages.
    pub stages: Vec<Stage>,
}

/// A name for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// What is done.
    pub name: &'static str,
    /// Its beginning.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
}

/// What is known of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A count.
    Count(u64),
    /// A word.
    Word(String),
}

/// Traces are sent for as long as this lives; dropping it sends what is left.
#[derive(Debug)]
pub struct Traces(#[allow(dead_code, reason = "it is kept to be dropped")] otlp::Sending);

impl Traces {
    /// Sends traces of that service and its instance from now on. Once in a process.
    pub fn start(
        settings: &Settings,
        service: &'static str,
        instance: &str,
    ) -> Result<Self, StartError> {
        otlp::start(settings, service, instance).map(Self)
    }
}

/// Sends a trace, if traces are sent and this is one of those that are.
pub fn record(trace: impl FnOnce() -> Trace) {
    otlp::record(trace);
}

#[cfg(all(test, not(feature = "otlp")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_traces_are_refused_and_none_is_made() {
        let settings = Settings::new(Some("http://127.0.0.1:1"), None).unwrap().unwrap();
        let refused = Traces::start(&settings, "a", "b").map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(refused, Err("--otlp: this program was built without the feature otlp".into()));
        record(|| unreachable!("nothing sends traces"));
    }
}
