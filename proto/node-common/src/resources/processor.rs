//! Processor time of this process and of its threads, and the time that they lacked a processor.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

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

/// Processor times of a program, from its start; zero where they are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// Time for which its threads ran.
    pub ran: Duration,
    /// Time for which its threads were ready to run and waited for a processor: the sum of all
    /// living threads.
    pub waited: Duration,
    /// Time for which the quotas of its control groups have stopped it: the sum of all processors.
    pub throttled: Duration,
    /// Time for which a hypervisor has given the machine's processors to others, from the machine's
    /// start: the mean of all processors.
    pub stolen: Duration,
    /// Time by which a sleeping thread woke up late. Only a program that keeps watch knows it.
    pub late: Duration,
}

impl ProcessorTimes {
    /// Reads the times of this process.
    pub fn now() -> Self {
        Self { ran: time(), ..Self::lacked_under(Path::new("/")) }
    }

    /// Returns the times since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            // The time of a thread that has ended is not known any more.
            waited: self.waited.saturating_sub(earlier.waited),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            late: self.late.saturating_sub(earlier.late),
        }
    }

    /// Reads the times without a processor. `root` contains `proc` and `sys`.
    fn lacked_under(root: &Path) -> Self {
        let tasks = fs::read_dir(root.join("proc/self/task")).into_iter().flatten().flatten();
        let waited = tasks.filter_map(|task| {
            // Time on a processor, time in wait for one, in nanoseconds, and number of slices.
            kernel::read(task.path().join("schedstat")).split_whitespace().nth(1)?.parse().ok()
        });
        let groups = kernel::control_groups(root, "cpu");
        let throttled = groups.iter().filter_map(|(_, folder)| {
            let stat = kernel::read(folder.join("cpu.stat"));
            // Microseconds in groups of version 2, nanoseconds in those of version 1.
            let micros = field(&stat, "throttled_usec").map(Duration::from_micros);
            micros.or_else(|| field(&stat, "throttled_time").map(Duration::from_nanos))
        });
        Self {
            ran: Duration::ZERO,
            waited: Duration::from_nanos(waited.fold(0, u64::saturating_add)),
            throttled: throttled.fold(Duration::ZERO, Duration::saturating_add),
            stolen: stolen(&kernel::read(root.join("proc/stat"))),
            late: Duration::ZERO,
        }
    }
}

/// Returns the number after a name, in a text of one name and number for each line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    rest.trim().parse().ok()
}

/// Returns the mean of the processors' stolen times, the eighth number of each line `cpuN` of
/// `/proc/stat`.
fn stolen(stat: &str) -> Duration {
    let of_processor = |line: &str| {
        let numbers = line.strip_prefix("cpu")?.strip_prefix(|c: char| c.is_ascii_digit())?;
        numbers.split_whitespace().filter_map(|number| number.parse::<u64>().ok()).nth(7)
    };
    let ticks: Vec<_> = stat.lines().filter_map(of_processor).collect();
    let sum = ticks.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    let seconds = sum as f64 / ticks.len().max(1) as f64 / clock_ticks_per_second() as f64;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
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
    fn times_without_a_processor_are_read_from_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let lacked = || ProcessorTimes::lacked_under(root.path());
        assert_eq!(lacked(), ProcessorTimes::default());
        write("proc/self/task/7/schedstat", "5000 3000 9\n".into());
        write("proc/self/task/8/schedstat", "5000 4000 9\n".into());
        write("proc/self/task/9/schedstat", "damaged".into());
        write("proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/b/c\n".into());
        let v1 = "nr_periods 170\nnr_throttled 78\nthrottled_time 2000000\n";
        write("sys/fs/cgroup/cpu/a/cpu.stat", v1.into());
        let v2 = "usage_usec 9\nnr_throttled 1\nthrottled_usec 500\n";
        write("sys/fs/cgroup/b/c/cpu.stat", v2.into());
        write("sys/fs/cgroup/b/cpu.stat", v2.into());
        let second = clock_ticks_per_second();
        let of = |n, stolen| format!("cpu{n} 1 2 3 4 5 6 7 {stolen} 9 10\n");
        let all = format!("cpu 1 2 3 4 5 6 7 8 9 10\n{}{}", of(0, second), of(1, 3 * second));
        write("proc/stat", all + "intr 1 2 3 4 5 6 7 8 9\n");
        let want = ProcessorTimes {
            ran: Duration::ZERO,
            waited: Duration::from_nanos(7000),
            throttled: Duration::from_millis(3),
            stolen: Duration::from_secs(2),
            ..ProcessorTimes::default()
        };
        assert_eq!(lacked(), want);
        assert_eq!(want.since(&want), ProcessorTimes::default());
        assert_eq!(ProcessorTimes::default().since(&want), ProcessorTimes::default());
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
