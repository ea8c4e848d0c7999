//! Estimate of the time to the end of a sweep.

use std::time::Duration;

use super::{loads::Loads, settings::SweepSettings};
use crate::recording::sweep::Load;

/// Time of a step besides its test: connecting, loading samples, writing records.
const BESIDES_SECONDS: f64 = 1.0;

/// Number of steps that the search usually takes.
const SEARCHED: usize = 4;

/// Estimate of the steps that are left, and their times.
pub(super) struct Estimate {
    step_seconds: f64,
    /// Number of samples that a step has at the minimum.
    min_samples: f64,
    is_rate: bool,
    searched: usize,
    /// Sets of nodes after the current one.
    sets_after: usize,
    /// Seconds of each step of the current set that is left, the next one last.
    ahead: Vec<f64>,
    /// Seconds of a whole set.
    set_seconds: f64,
}

impl Estimate {
    pub(super) fn new(settings: &SweepSettings) -> Self {
        Self {
            step_seconds: settings.step_time.as_secs_f64(),
            min_samples: settings.whole_passes(0.0) as f64,
            is_rate: settings.load == Load::Rate,
            searched: if settings.is_searched { SEARCHED } else { 0 },
            sets_after: settings.node_sets.len(),
            ahead: Vec::new(),
            set_seconds: 0.0,
        }
    }

    /// Notes that the steps of a set of nodes begin.
    pub(super) fn begin_set(&mut self, loads: &Loads) {
        self.sets_after -= 1;
        let highest = loads.0.last().map_or(self.step_seconds, |load| self.seconds(*load));
        let requested = loads.0.iter().rev().map(|load| self.seconds(*load));
        self.ahead = [highest].repeat(self.searched).into_iter().chain(requested).collect();
        self.set_seconds = self.ahead.iter().sum();
    }

    /// Notes that a step begins whose load the search chose.
    pub(super) fn begin_search(&mut self, load: f64) {
        let seconds = self.seconds(load);
        self.ahead.pop();
        self.ahead.push(seconds);
    }

    fn seconds(&self, load: f64) -> f64 {
        let seconds = if self.is_rate { self.min_samples / load } else { 0.0 };
        seconds.max(self.step_seconds) + BESIDES_SECONDS
    }

    pub(super) fn end_step(&mut self) {
        self.ahead.pop();
    }

    pub(super) fn end_set(&mut self) {
        self.ahead.clear();
    }

    /// Describes the time that is left while a step has been running for `running`.
    pub(super) fn text(&self, running: Duration) -> String {
        let step = self.ahead.last().copied().unwrap_or(self.step_seconds);
        let left = (step - running.as_secs_f64()).max(0.0);
        let before: f64 = self.ahead.iter().rev().skip(1).sum();
        let all = left + before + self.sets_after as f64 * self.set_seconds.max(self.step_seconds);
        let steps = self.ahead.len().saturating_sub(1);
        let clock = |seconds: f64| format!("{}:{:02}", seconds as u64 / 60, seconds as u64 % 60);
        format!(
            "about {} to the end, {} now, then {}",
            clock(all),
            clock(left),
            crate::units::count(steps, "step")
        )
    }
}
