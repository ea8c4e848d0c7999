//! Resident memory over time, and whether it grows.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use e2e::process::memory_bytes;

/// How often memory is read.
const EVERY: Duration = Duration::from_secs(1);

/// A slope is judged from the least of so many parts of the time. What a process needs while a run is under way goes up
/// and down; what it never gives back shows between runs. Single seconds depend on the seconds before them, and would make
/// the error look smaller than it is.
const PARTS: usize = 20;

/// Growth that is not told from noise, in MiB: what a few more threads' heaps are.
const NOISE_MIB: f64 = 1.0;

/// A slope smaller than this many of its standard errors is zero.
const ERRORS: f64 = 3.0;

/// The memory of one process.
#[derive(Debug, Clone)]
pub struct Series {
    /// What it is.
    pub label: String,
    /// Seconds since the soak began, and MiB.
    pub points: Vec<(f64, f64)>,
}

/// The growth of a process over the second half of its time.
#[derive(Debug, Clone, Copy)]
pub struct Slope {
    /// MiB in a minute.
    pub per_minute: f64,
    /// Its standard error.
    pub error: f64,
    /// Minutes that were looked at.
    pub minutes: f64,
}

impl Slope {
    /// Least squares over the second half; `None` where there is too little to tell.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        let middle = (first + last) / 2.0;
        let half: Vec<_> = points.iter().filter(|(at, _)| *at >= middle).copied().collect();
        let part = half.len().div_ceil(PARTS).max(1);
        let least: Vec<_> = half.chunks(part).map(least).collect();
        let n = least.len() as f64;
        if n < 5.0 {
            return None;
        }
        let (x0, y0) = mean(&least);
        let sum =
            |of: fn(f64, f64) -> f64| least.iter().map(|(x, y)| of(x - x0, y - y0)).sum::<f64>();
        let xx = sum(|x, _| x * x);
        let slope = sum(|x, y| x * y) / xx;
        let residuals: f64 = least.iter().map(|(x, y)| (y - y0 - slope * (x - x0)).powi(2)).sum();
        let error = (residuals / (n - 2.0) / xx).sqrt();
        Some(Self {
            per_minute: slope * 60.0,
            error: error * 60.0,
            minutes: (last - middle) / 60.0,
        })
    }

    /// Growth over the time that was looked at, in MiB.
    pub fn growth(&self) -> f64 {
        self.per_minute * self.minutes
    }

    /// Growth that could be noise.
    pub fn noise(&self) -> f64 {
        NOISE_MIB.max(ERRORS * self.error * self.minutes)
    }

    /// Whether the memory grows, as far as can be told.
    pub fn grows(&self) -> bool {
        self.growth() > self.noise()
    }
}

/// The least memory of a part, in its middle.
fn least(part: &[(f64, f64)]) -> (f64, f64) {
    (mean(part).0, part.iter().map(|(_, mib)| *mib).fold(f64::MAX, f64::min))
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    (x / n, y / n)
}

/// Reads the memory of processes in the background.
pub struct Watch {
    begin: Instant,
    watched: Arc<Mutex<Vec<(u32, Series)>>>,
    ended: Arc<AtomicBool>,
}

impl Watch {
    /// Begins with no process.
    pub fn start() -> Self {
        let watch = Self { begin: Instant::now(), watched: Arc::default(), ended: Arc::default() };
        let (begin, watched, ended) = (watch.begin, watch.watched.clone(), watch.ended.clone());
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let at = begin.elapsed().as_secs_f64();
                for (process, series) in watched.lock().expect("nobody panics").iter_mut() {
                    series.points.extend(resident_mib(*process).map(|mib| (at, mib)));
                }
                thread::sleep(EVERY);
            }
        });
        watch
    }

    /// Seconds since the soak began.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Watches one more process, until it ends.
    pub fn add(&self, process: u32, label: String) {
        let series = Series { label, points: Vec::new() };
        self.watched.lock().expect("nobody panics").push((process, series));
    }

    /// What was read.
    pub fn end(self) -> Vec<Series> {
        self.ended.store(true, Ordering::Relaxed);
        self.watched.lock().expect("nobody panics").drain(..).map(|(_, series)| series).collect()
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
        // What was taken at the beginning and kept is no growth.
        let early: Vec<_> =
            (0..600).map(|at| (at as f64, if at < 200 { 10.0 } else { 90.0 })).collect();
        assert!(!Slope::of(&early).expect("enough").grows());
        assert!(Slope::of(&series(0.0)[..4]).is_none());
    }
}
