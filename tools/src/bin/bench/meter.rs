//! Measures the cost of sending samples, from the first sample to the last response. Opening
//! connections does not count. Medians and spreads over the rounds.

use std::{fs, time::Instant};

use netdiv_node_common::resources::processor::in_stat;

/// Reads the processor time of processes.
pub struct Meter {
    processes: Vec<String>,
}

/// A measurement in progress.
pub struct Measurement<'a> {
    meter: &'a Meter,
    cpu_seconds: f64,
    at: Instant,
}

/// Elapsed time and processor time of a measurement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub seconds: f64,
    /// Processor time of all processes, in seconds.
    pub cpu_seconds: f64,
}

impl Meter {
    /// Creates a meter of these processes.
    pub fn of(processes: impl IntoIterator<Item = u32>) -> Self {
        Self { processes: processes.into_iter().map(|process| process.to_string()).collect() }
    }

    /// Creates a meter of this process and of the processes `others`.
    pub fn with(others: impl IntoIterator<Item = u32>) -> Self {
        let mut meter = Self::of(others);
        meter.processes.push("self".into());
        meter
    }

    pub fn start(&self) -> Measurement<'_> {
        let cpu_seconds = self.cpu_seconds();
        Measurement { meter: self, cpu_seconds, at: Instant::now() }
    }

    fn cpu_seconds(&self) -> f64 {
        let of = |process| fs::read_to_string(format!("/proc/{process}/stat"));
        let seconds = |process| in_stat(&of(process).unwrap_or_default()).unwrap_or(0.0);
        self.processes.iter().map(seconds).sum()
    }
}

impl Measurement<'_> {
    pub fn stop(self) -> Cost {
        let seconds = self.at.elapsed().as_secs_f64();
        Cost { seconds, cpu_seconds: self.meter.cpu_seconds() - self.cpu_seconds }
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.cpu_seconds += other.cpu_seconds;
    }
}

/// Converts bytes to MiB.
pub fn mib(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// Returns the median.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Formats the median, minimum and maximum.
pub fn spread(values: impl IntoIterator<Item = f64> + Clone, digits: usize) -> String {
    let least = values.clone().into_iter().fold(f64::MAX, f64::min);
    let most = values.clone().into_iter().fold(f64::MIN, f64::max);
    format!("{:.digits$} ({least:.digits$} – {most:.digits$})", median(values))
}
