//! What sending takes, from the first sample to the last answer: connecting comes before.

use std::{fs, time::Instant};

/// Reads the processor time of processes.
pub struct Meter {
    processes: Vec<String>,
}

/// A measurement under way.
pub struct Started<'a> {
    meter: &'a Meter,
    cpu_seconds: f64,
    at: Instant,
}

/// What it took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub seconds: f64,
    /// Processor time of all processes, in seconds.
    pub cpu_seconds: f64,
}

impl Meter {
    /// A meter of these.
    pub fn of(processes: impl IntoIterator<Item = u32>) -> Self {
        Self { processes: processes.into_iter().map(|process| process.to_string()).collect() }
    }

    /// A meter of this process and of those that it talks to.
    pub fn with(others: impl IntoIterator<Item = u32>) -> Self {
        let mut meter = Self::of(others);
        meter.processes.push("self".into());
        meter
    }

    pub fn start(&self) -> Started<'_> {
        let cpu_seconds = self.cpu_seconds();
        Started { meter: self, cpu_seconds, at: Instant::now() }
    }

    fn cpu_seconds(&self) -> f64 {
        let of = |process| fs::read_to_string(format!("/proc/{process}/stat"));
        let seconds = |process| loadgen_node::cpu_seconds(&of(process).unwrap_or_default());
        self.processes.iter().map(seconds).sum()
    }
}

impl Started<'_> {
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
