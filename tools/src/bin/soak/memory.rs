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

/// A slope of which so many standard errors reach down to zero is zero.
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
    per_minute: f64,
    /// The least that it may be.
    low: f64,
    /// Minutes that were looked at.
    minutes: f64,
}

impl Slope {
    /// The median of the slopes between all pairs of parts, and the lower end of its interval (Sen, J. Am. Stat. Assoc. 63,
    /// 1968), which one step up does not move; `None` where there is too little to tell.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let (first, last) = (points.first()?.0, points.last()?.0);
        let middle = (first + last) / 2.0;
        let half: Vec<_> = points.iter().filter(|(at, _)| *at >= middle).copied().collect();
        let part = half.len().div_ceil(PARTS).max(1);
        let least: Vec<_> = half.chunks(part).map(least).collect();
        let n = least.len() as f64;
        if n < 10.0 {
            return None;
        }
        let slope =
            |(one, other): (&(f64, f64), &(f64, f64))| (other.1 - one.1) / (other.0 - one.0);
        let pairs = |(place, one)| least[place + 1..].iter().map(move |other| slope((one, other)));
        let mut slopes: Vec<f64> = least.iter().enumerate().flat_map(pairs).collect();
        slopes.sort_unstable_by(f64::total_cmp);
        // The spread of Kendall's statistic, without ties.
        let spread = ERRORS * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        let reach = (spread / 2.0).ceil() as usize;
        let middle_place = slopes.len() / 2;
        Some(Self {
            per_minute: slopes[middle_place] * 60.0,
            low: slopes[middle_place.saturating_sub(reach)] * 60.0,
            minutes: (last - middle) / 60.0,
        })
    }

    /// Growth over the time that was looked at, in MiB.
    pub fn growth(&self) -> f64 {
        self.per_minute * self.minutes
    }

    /// Growth that could be noise.
    pub fn noise(&self) -> f64 {
        NOISE_MIB.max((self.per_minute - self.low) * self.minutes)
    }

    /// Whether the memory grows, as far as can be told.
    pub fn grows(&self) -> bool {
        self.growth() > self.noise()
    }
}

/// The least memory of a part, in its middle.
fn least(part: &[(f64, f64)]) -> (f64, f64) {
    let middle = part.iter().map(|(at, _)| at).sum::<f64>() / part.len() as f64;
    (middle, part.iter().map(|(_, mib)| *mib).fold(f64::MAX, f64::min))
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
        // What was taken once and kept is no growth; what is taken again and again is.
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
