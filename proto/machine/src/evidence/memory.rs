//! Main memory, from `/proc/meminfo` and the kernel's EDAC drivers.

use crate::evidence::System;

/// Modes of the EDAC drivers that correct errors. EC and PARITY only detect them.
const CORRECTING: [&str; 5] = ["SECDED", "S2ECD2ED", "S4ECD4ED", "S8ECD8ED", "S16ECD16ED"];

impl System {
    /// Returns the memory that the kernel manages, in bytes.
    pub(crate) fn memory_bytes(&self) -> Option<u64> {
        self.meminfo("MemTotal:")
    }

    /// Returns the value of a key in `/proc/meminfo`, in bytes.
    pub(crate) fn meminfo(&self, key: &str) -> Option<u64> {
        let text = self.read("proc/meminfo")?;
        let figure = text.lines().find_map(|line| line.strip_prefix(key))?;
        figure.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }

    /// Returns true if all memory controllers correct errors, or `None` without a driver for them.
    pub(crate) fn memory_ecc(&self) -> Option<bool> {
        let folder = "sys/devices/system/edac/mc";
        let mut modes = Vec::new();
        for controller in self.names(folder).iter().filter(|name| is_numbered(name, "mc")) {
            let controller = format!("{folder}/{controller}");
            for module in self.names(&controller) {
                let file = match () {
                    () if is_numbered(&module, "dimm") || is_numbered(&module, "rank") => {
                        "dimm_edac_mode"
                    }
                    () if is_numbered(&module, "csrow") => "edac_mode",
                    () => continue,
                };
                modes.extend(self.read(&format!("{controller}/{module}/{file}")));
            }
        }
        if modes.iter().any(|mode| mode == "None") {
            return Some(false);
        }
        let correct = modes.iter().all(|mode| CORRECTING.contains(&mode.as_str()));
        (correct && !modes.is_empty()).then_some(true)
    }
}

/// Returns true if a name is the prefix followed by a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_corrects_errors_when_every_module_does() {
        for (modes, want) in [
            (vec![], None),
            (vec!["S4ECD4ED", "S4ECD4ED"], Some(true)),
            (vec!["SECDED", "None"], Some(false)),
            (vec!["SECDED", "S16ECD16ED"], Some(true)),
            (vec!["SECDED", "Unknown"], None),
            (vec!["EC"], None),
            (vec!["PARITY", "SECDED"], None),
            (vec!["PARITY", "None"], Some(false)),
        ] {
            let path = |n: usize| format!("sys/devices/system/edac/mc/mc0/dimm{n}/dimm_edac_mode");
            let (_root, system) = System::of_files((0..).map(path).zip(&modes));
            assert_eq!(system.memory_ecc(), want, "{modes:?}");
        }
    }
}
