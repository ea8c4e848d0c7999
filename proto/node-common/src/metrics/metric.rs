//! Description of a metric.

/// Metric of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name of the metric.
    pub name: &'static str,
    /// Prometheus type of the metric.
    pub kind: Kind,
    /// Unit of the value.
    pub unit: Unit,
    /// Names of the metric's labels.
    pub labels: &'static [&'static str],
    /// Short description, without a full stop.
    pub help: &'static str,
}

/// Prometheus type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Value that only grows while the process lives.
    Counter,
    /// Value that rises and falls.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
}

/// Unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Number of the things in the metric's name.
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
    /// Returns the names of the time series that Prometheus stores for the metric: three for a
    /// histogram, else one.
    pub fn series(&self) -> Vec<String> {
        match self.kind {
            Kind::Counter | Kind::Gauge => vec![self.name.into()],
            Kind::Histogram => {
                ["_bucket", "_sum", "_count"].map(|part| format!("{}{part}", self.name)).into()
            }
        }
    }
}
