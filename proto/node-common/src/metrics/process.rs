//! Metrics of the process and labels of its build, in the form that is usual in Prometheus.

use std::fs;

use rustix::param::{clock_ticks_per_second, page_size};

use crate::{
    metrics::{
        page::Page,
        registry::both_programs::{
            CPU_TIME, MAX_FDS, OPEN_FDS, RESIDENT_BYTES, START_TIME, THREADS, VIRTUAL_BYTES,
        },
    },
    resources::{descriptors, kernel, processor},
};

/// Splits the text that `--version` prints, such as `0.2.0 (2f1e9c0ab3)`, into the version and the
/// git revision.
pub fn version_labels(text: &str) -> [&str; 2] {
    let (version, revision) = text.split_once(" (").unwrap_or((text, ""));
    [version, revision.trim_end_matches(')')]
}

/// Returns the metrics of this process as the text of a page. Omits those that the kernel does not
/// show.
pub fn process_page() -> String {
    let stat = kernel::read("/proc/self/stat");
    // Fields have the numbers of proc_pid_stat(5). The program's name, field 2, may contain spaces
    // and brackets.
    let field = |number: usize| -> Option<f64> {
        stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.parse().ok()
    };
    let boot = kernel::read("/proc/stat")
        .lines()
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok());
    let after_boot = field(22).map(|ticks| ticks / clock_ticks_per_second() as f64);
    // The reading itself opens a descriptor.
    let open = fs::read_dir("/proc/self/fd").ok().map(|all| all.count().saturating_sub(1) as f64);
    let mut page = Page::default();
    for (metric, value) in [
        (&START_TIME, boot.zip(after_boot).map(|(boot, after)| boot + after)),
        (&CPU_TIME, Some(processor::time().as_secs_f64())),
        (&RESIDENT_BYTES, field(24).map(|pages| pages * page_size() as f64)),
        (&VIRTUAL_BYTES, field(23)),
        (&OPEN_FDS, open),
        (&MAX_FDS, Some(descriptors::limit() as f64)),
        (&THREADS, field(20)),
    ] {
        page.values(metric, value.map(|value| (vec![], value)));
    }
    page.text()
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;
    use crate::metrics::registry::{Metric, both_programs::ALL};

    #[test]
    fn a_process_has_all_metrics_with_plausible_values() {
        let _open: Vec<_> = (0..20).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let page = process_page();
        let value = |metric: &Metric| -> f64 {
            let line = page.lines().find_map(|line| line.strip_prefix(metric.name)).unwrap();
            line.trim().parse().unwrap()
        };
        assert!(ALL.iter().map(value).all(|value| value > 0.0), "{page}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        assert!((now - 86_400.0..now + 5.0).contains(&value(&START_TIME)), "{page}");
        assert!(value(&VIRTUAL_BYTES) > value(&RESIDENT_BYTES), "{page}");
        assert!((100_000.0..1e10).contains(&value(&RESIDENT_BYTES)), "{page}");
        assert!((20.0..=value(&MAX_FDS)).contains(&value(&OPEN_FDS)), "{page}");
    }

    #[test]
    fn a_version_has_a_revision() {
        for (text, labels) in [
            ("0.2.0", ["0.2.0", ""]),
            ("0.2.0 (2f1e9c0ab3)", ["0.2.0", "2f1e9c0ab3"]),
            ("0.2.0 (2f1e9c0ab3 with changes)", ["0.2.0", "2f1e9c0ab3 with changes"]),
            ("0.2.0 (unknown revision)", ["0.2.0", "unknown revision"]),
        ] {
            assert_eq!(version_labels(text), labels);
        }
    }
}
