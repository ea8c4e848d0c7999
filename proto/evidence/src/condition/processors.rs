//! Frequencies and shares of the processors, from `/sys/devices/system/cpu` and the control groups.

use std::{collections::BTreeMap, fs};

use netdiv_resources::control_groups::{self, Version};

use crate::System;

const CPU: &str = "sys/devices/system/cpu";

/// How much of the processors this process may use in a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quota {
    /// All of it.
    None,
    /// So many processors' time.
    Processors(f64),
}

/// Frequencies and shares of the processors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Processors {
    /// The governor of the frequency of each processor, by its number. Empty where the kernel does not choose it.
    pub governors: BTreeMap<usize, String>,
    /// What the control groups of this process leave it.
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

    /// The least quota of all groups; unknown where there are no groups.
    fn quota(&self) -> Option<Quota> {
        let groups = control_groups::folders(self.root(), "cpu");
        if groups.is_empty() {
            return None;
        }
        let quotas = groups.into_iter().filter_map(|(version, folder)| {
            let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
            let (quota, period) = match version {
                // `max 100000`, or 200000 of 100000 µs.
                Version::V2 => {
                    let text = read("cpu.max")?;
                    let (quota, period) = text.trim().split_once(' ')?;
                    (quota.to_owned(), period.to_owned())
                }
                // A quota of -1 is none.
                Version::V1 => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
            };
            let (quota, period): (u64, u64) =
                (quota.trim().parse().ok()?, period.trim().parse().ok()?);
            (period > 0).then(|| quota as f64 / period as f64)
        });
        let least = quotas.min_by(f64::total_cmp);
        Some(least.map_or(Quota::None, Quota::Processors))
    }
}
