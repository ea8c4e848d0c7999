//! What is known of a metric.

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What Prometheus does with it.
    pub kind: Kind,
    /// What it counts.
    pub unit: Unit,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// A sentence about it.
    pub help: &'static str,
}

/// What Prometheus does with a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
}

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Things, which its name says.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// 1 for yes and 0 for no.
    #[strum(serialize = "0 or 1")]
    Flag,
}

impl Metric {
    /// The names under which Prometheus stores it.
    pub fn series(&self) -> Vec<String> {
        match self.kind {
            Kind::Counter | Kind::Gauge => vec![self.name.into()],
            Kind::Histogram => {
                ["_bucket", "_sum", "_count"].map(|part| format!("{}{part}", self.name)).into()
            }
        }
    }
}
