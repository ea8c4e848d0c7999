//! Governors and quota of the processors, from `/sys/devices/system/cpu` and the control groups.

use std::collections::BTreeMap;

use netdiv_node_common::resources::kernel::{self, GroupVersion};

use crate::evidence::System;

const CPU: &str = "sys/devices/system/cpu";

/// Limit on the processor time of this process in a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quota {
    /// No limit.
    None,
    /// Time of this number of processors.
    Processors(f64),
}

/// Governors and quota of the processors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Processors {
    /// Frequency governor of each processor, by number. Empty if the kernel does not control the
    /// frequency.
    pub governors: BTreeMap<usize, String>,
    /// Quota that the control groups of this process impose.
    pub quota: Option<Quota>,
}

impl System {
    pub(super) fn processors(&self) -> Processors {
        Processors { governors: self.governors(), quota: self.quota() }
    }

    fn governors(&self) -> BTreeMap<usize, String> {
        let governor = |name: String| {
            let number = name.strip_prefix("cpu")?.parse().ok()?;
            Some((number, self.read(&format!("{CPU}/{name}/cpufreq/scaling_governor"))?))
        };
        self.names(CPU).into_iter().filter_map(governor).collect()
    }

    /// Returns the minimum quota of all groups, or `None` without groups or if a group has an
    /// invalid quota.
    fn quota(&self) -> Option<Quota> {
        let groups = kernel::control_groups(self.root(), "cpu");
        if groups.is_empty() {
            return None;
        }
        let mut least = Quota::None;
        for (version, folder) in groups {
            let read = |file: &str| kernel::try_read(folder.join(file));
            let quota = match version {
                // `max 100000`, or 200000 of 100000 µs. The root group does not have this file.
                GroupVersion::V2 => {
                    let Some(text) = read("cpu.max") else { continue };
                    let (quota, period) = text.trim().split_once(' ')?;
                    share(quota, period, "max")?
                }
                GroupVersion::V1 => {
                    let Some(quota) = read("cpu.cfs_quota_us") else { continue };
                    share(quota.trim(), read("cpu.cfs_period_us")?.trim(), "-1")?
                }
            };
            least = match (least, quota) {
                (Quota::Processors(a), Quota::Processors(b)) => Quota::Processors(a.min(b)),
                (Quota::None, other) | (other, Quota::None) => other,
            };
        }
        Some(least)
    }
}

/// Returns the quota that a control group states, as a number of processors: `quota` divided by
/// `period`. The text `none` means no limit. Returns `None` if a number is invalid.
fn share(quota: &str, period: &str, none: &str) -> Option<Quota> {
    let period = period.parse::<u64>().ok().filter(|period| *period > 0)?;
    if quota == none {
        return Some(Quota::None);
    }
    let quota = quota.parse::<u64>().ok().filter(|quota| *quota > 0)?;
    Some(Quota::Processors(quota as f64 / period as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_quota_of_all_groups_counts_in_both_versions() {
        let quota = |files: &[(&str, &str)]| {
            let (_root, system) = System::of_files(files.iter().copied());
            system.quota()
        };
        let v2 = ("proc/self/cgroup", "0::/a/b\n");
        let (inner, outer) = ("sys/fs/cgroup/a/b/cpu.max", "sys/fs/cgroup/a/cpu.max");
        let all = [v2, (inner, "400000 100000\n"), (outer, "150000 100000\n")];
        assert_eq!(quota(&all), Some(Quota::Processors(1.5)));
        assert_eq!(quota(&[v2, (inner, "max 100000\n")]), Some(Quota::None));
        let v1 = ("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:pids:/x\n");
        let (share, period) =
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us");
        let limited = quota(&[v1, (share, "50000\n"), (period, "100000\n")]);
        assert_eq!(limited, Some(Quota::Processors(0.5)));
        assert_eq!(quota(&[v1, (share, "-1\n"), (period, "100000\n")]), Some(Quota::None));
        assert_eq!(quota(&[]), None);
        for absurd in ["", "x y", "1", "1 0", "0 1", "-1 -1", "max x", "1 99999999999999999999"] {
            assert_eq!(quota(&[v2, (inner, absurd)]), None, "{absurd}");
        }
    }
}
