//! What a process has used, from Linux's `/proc`.

use std::fs;

use netdiv_rules::result::Process;
use rustix::param::clock_ticks_per_second;

/// What this process has used so far.
pub fn process() -> Process {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let status = read("/proc/self/status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    Process {
        peak_resident_bytes: kibibytes.unwrap_or(0) * 1024,
        cpu_seconds: cpu_seconds(&read("/proc/self/stat")),
    }
}

/// User and system time in the text of `/proc/PID/stat`, in seconds.
pub fn cpu_seconds(stat: &str) -> f64 {
    // After the name in brackets, which may hold anything, the 12th and 13th fields, in ticks.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let ticks = fields.into_iter().flatten().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok());
    ticks.sum::<u64>() as f64 / clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_process_are_in_ticks() {
        let per_second = clock_ticks_per_second();
        let stat = format!("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 {per_second} {per_second} 0 0");
        assert_eq!(cpu_seconds(&stat), 2.0);
        assert_eq!(cpu_seconds(""), 0.0);
        assert!(process().peak_resident_bytes > 0);
    }
}
