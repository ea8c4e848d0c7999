//! Processor time of this process and of its threads.

use std::{collections::BTreeMap, fs, time::Duration};

use rustix::{
    param::clock_ticks_per_second,
    time::{ClockId, clock_gettime},
};

use crate::resources::kernel;

/// Returns the processor time of all threads of this process so far, in user and in kernel code.
pub fn time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(whole) + Duration::from_nanos(nanos)
}

/// Returns the processor seconds of this process's threads whose names `is_wanted` accepts, by
/// thread id. Ignores unreadable threads.
pub fn threads(is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let seconds = |task: fs::DirEntry| {
        let stat = kernel::try_read(task.path().join("stat"))?;
        let name = stat.split_once('(')?.1.rsplit_once(')')?.0;
        let id = task.file_name().into_string().ok()?;
        is_wanted(name).then_some((id, in_stat(&stat)?))
    };
    tasks.filter_map(seconds).collect()
}

/// Returns the share of `time` for which the busiest thread was busy, from 0 to 1. `before` and
/// `after` are results of [`threads`] at the beginning and the end of that time. Threads that
/// started in between do not count.
pub fn busiest(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
    time: Duration,
) -> Option<f64> {
    let seconds = time.as_secs_f64();
    let busy = after.iter().filter_map(|(thread, now)| {
        let before = before.get(thread)?;
        Some(((now - before) / seconds).clamp(0.0, 1.0))
    });
    busy.reduce(f64::max)
}

/// Returns the processor seconds in the text of `/proc/PID/stat`, in user and in kernel code, or
/// `None` if it is invalid.
pub fn in_stat(stat: &str) -> Option<f64> {
    Some(ticks(stat)? as f64 / clock_ticks_per_second() as f64)
}

/// Returns the sum of the clock ticks in user and in kernel code, fields 14 and 15 of `stat`. The
/// program's name, field 2, may contain spaces and brackets.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    user.checked_add(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_read_by_name() {
        assert_eq!(ticks("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20"), Some(42));
        assert_eq!(ticks("7 (a) S 1"), None);
        assert!(!threads(|_| true).is_empty());
        assert!(threads(|name| name == "no such thread").is_empty());
    }

    #[test]
    fn the_busiest_thread_counts() {
        let of = |pairs: &[(&str, f64)]| -> BTreeMap<String, f64> {
            pairs.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect()
        };
        let (before, after) =
            (of(&[("1", 5.0), ("2", 1.0)]), of(&[("1", 5.5), ("2", 2.5), ("3", 9.0)]));
        assert_eq!(busiest(&before, &after, Duration::from_secs(2)), Some(0.75));
        assert_eq!(busiest(&before, &of(&[]), Duration::from_secs(2)), None);
    }
}
