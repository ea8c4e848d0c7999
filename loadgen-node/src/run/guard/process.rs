//! Resources that a process has used, from Linux's `/proc`.

use netdiv_node_common::resources::{kernel, processor};
use netdiv_rules::record::Process;

/// Returns the resources that this process has used so far.
pub fn process() -> Process {
    let read = |file| kernel::read(file);
    let status = read("/proc/self/status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    Process {
        peak_resident_bytes: kibibytes.unwrap_or(0) * 1024,
        cpu_seconds: cpu_seconds(&read("/proc/self/stat")),
    }
}

/// Returns user and system time from the text of `/proc/PID/stat`, in seconds; 0 if they are
/// missing.
pub fn cpu_seconds(stat: &str) -> f64 {
    processor::in_stat(stat).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use rustix::param::clock_ticks_per_second;

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
