//! Resident memory over time, and detection of growth.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use e2e::process::memory_bytes;

/// Interval between readings of memory.
const EVERY: Duration = Duration::from_secs(1);

/// Number of parts of the time. The slope is computed from each part's minimum: memory in use
/// varies during a run, but memory that is never released shows between runs. Single seconds depend
/// on the seconds before them, so they would understate the error.
const PARTS: usize = 20;

/// Growth that is indistinguishable from noise, in MiB: the heaps of a few more threads.
const NOISE_MIB: f64 = 1.0;

/// Number of standard errors within which a slope counts as zero.
const ERRORS: f64 = 3.0;

/// Memory over time, of a process or of all runs of a kind.
#[derive(Debug, Clone)]
pub struct Series {
    pub label: String,
    /// Seconds since the soak began, and MiB.
    pub points: Vec<(f64, f64)>,
}

/// Growth of a process over the second half of its time.
#[derive(Debug, Clone, Copy)]
pub struct Slope {
    /// MiB per minute.
    per_minute: f64,
    /// Lower bound, in MiB per minute.
    low: f64,
    /// Minutes that were observed.
    minutes: f64,
}

impl Slope {
    /// Returns the median of the slopes between all pairs of parts, and the lower end of its
    /// interval (Sen, J. Am. Stat. Assoc. 63, 1968). A single step does not move it. `None` if
    /// there are too few points.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        let middle = (first + last) / 2.0;
        let half: Vec<_> = points.iter().filter(|(at, _)| *at >= middle).copied().collect();
        let part = half.len().div_ceil(PARTS).max(1);
        let least: Vec<_> = half.chunks(part).map(part_minimum).collect();
        let n = least.len() as f64;
        if n < 10.0 {
            return None;
        }
        let slope =
            |(one, other): (&(f64, f64), &(f64, f64))| (other.1 - one.1) / (other.0 - one.0);
        let pairs = |(place, one)| least[place + 1..].iter().map(move |other| slope((one, other)));
        let mut slopes: Vec<f64> = least.iter().enumerate().flat_map(pairs).collect();
        slopes.sort_unstable_by(f64::total_cmp);
        // Spread of Kendall's statistic, without ties.
        let spread = ERRORS * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        let reach = (spread / 2.0).ceil() as usize;
        let middle_place = slopes.len() / 2;
        Some(Self {
            per_minute: slopes[middle_place] * 60.0,
            low: slopes[middle_place.saturating_sub(reach)] * 60.0,
            minutes: (last - middle) / 60.0,
        })
    }

    /// Returns the growth over the observed time, in MiB.
    pub fn growth(&self) -> f64 {
        self.per_minute * self.minutes
    }

    /// Returns the growth that could be noise, in MiB.
    pub fn noise(&self) -> f64 {
        NOISE_MIB.max((self.per_minute - self.low) * self.minutes)
    }

    /// Returns true if the memory grows, beyond noise.
    pub fn grows(&self) -> bool {
        self.growth() > self.noise()
    }
}

/// Returns the middle time of a part, in seconds, and its minimum memory, in MiB.
fn part_minimum(part: &[(f64, f64)]) -> (f64, f64) {
    let middle = part.iter().map(|(at, _)| at).sum::<f64>() / part.len() as f64;
    (middle, part.iter().map(|(_, mib)| *mib).fold(f64::MAX, f64::min))
}

/// Reads the memory of processes in the background.
pub struct MemoryWatch {
    begin: Instant,
    watched: Arc<Mutex<Vec<(u32, Series)>>>,
    ended: Arc<AtomicBool>,
}

impl MemoryWatch {
    /// Starts a watch without processes.
    pub fn start() -> Self {
        let watch = Self { begin: Instant::now(), watched: Arc::default(), ended: Arc::default() };
        let (begin, watched, ended) = (watch.begin, watch.watched.clone(), watch.ended.clone());
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let at = begin.elapsed().as_secs_f64();
                for (process, series) in watched.lock().expect("no holder panics").iter_mut() {
                    series.points.extend(resident_mib(*process).map(|mib| (at, mib)));
                }
                thread::sleep(EVERY);
            }
        });
        watch
    }

    /// Returns the seconds since the soak began.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Adds a process, which is watched until it exits.
    pub fn add(&self, process: u32, label: String) {
        let series = Series { label, points: Vec::new() };
        self.watched.lock().expect("no holder panics").push((process, series));
    }

    /// Stops the watch and returns the readings, a series for each process.
    pub fn end(self) -> Vec<Series> {
        self.ended.store(true, Ordering::Relaxed);
        self.watched.lock().expect("no holder panics").drain(..).map(|(_, series)| series).collect()
    }
}

fn resident_mib(process: u32) -> Option<f64> {
    memory_bytes(process, "VmRSS").map(|bytes| bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_from_noise() {
        let noise = |at: usize| f64::from((at as u32).wrapping_mul(2_654_435_761) >> 24) / 64.0;
        let series = |per_second: f64| -> Vec<_> {
            (0..600).map(|at| (at as f64, 50.0 + noise(at) + per_second * at as f64)).collect()
        };
        assert!(!Slope::of(&series(0.0)).expect("enough").grows());
        assert!(Slope::of(&series(0.01)).expect("enough").grows(), "3 MiB in five minutes");
        // A single step is not growth; repeated steps are.
        let steps = |every: usize| -> Vec<_> {
            (0..600).map(|at| (at as f64, 10.0 + (at / every * 8) as f64)).collect()
        };
        for once in [200, 400, 450, 480, 520] {
            assert!(!Slope::of(&steps(once)).expect("enough").grows(), "one step at {once} s");
        }
        assert!(Slope::of(&steps(60)).expect("enough").grows(), "a step each minute");
        assert!(Slope::of(&series(0.0)[..4]).is_none());
    }
}
