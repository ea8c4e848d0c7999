//! Processors, from `/proc/cpuinfo` and `/sys/devices/system/cpu`.

use std::collections::BTreeSet;

use netdiv_contract::v1::Machine;

use crate::evidence::System;

impl System {
    pub(crate) fn add_processors(&self, machine: &mut Machine) {
        let Some(text) = self.read("proc/cpuinfo") else { return };
        let values = |key| values(&text, key);
        let number = |n: usize| u32::try_from(n).ok();
        let sockets: BTreeSet<_> = values("physical id").collect();
        machine.cpu_model = values("model name").next().map(Into::into);
        machine.cpu_sockets = number(sockets.len()).filter(|sockets| *sockets > 0);
        machine.cpu_cores_per_socket = values("cpu cores").next().and_then(|n| n.parse().ok());
        machine.cpu_threads = number(values("processor").count()).filter(|threads| *threads > 0);
        let khz = self.read("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
        machine.cpu_max_mhz = khz.and_then(|khz| khz.parse::<u32>().ok()).map(|khz| khz / 1000);
        machine.cpu_caches = self.caches();
    }

    /// Returns the caches of the first core: `L1d 32K, L1i 32K, L2 1024K, L3 32768K`.
    fn caches(&self) -> Option<String> {
        let folder = "sys/devices/system/cpu/cpu0/cache";
        let caches = self.names(folder).into_iter().filter_map(|index| {
            let read = |file| self.read(&format!("{folder}/{index}/{file}"));
            let kind = match read("type")?.as_str() {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            Some(format!("L{}{kind} {}", read("level")?, read("size")?))
        });
        let caches: Vec<_> = caches.collect();
        (!caches.is_empty()).then(|| caches.join(", "))
    }
}

/// Returns the values of a key in `/proc/cpuinfo`, processor by processor.
pub(crate) fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn two_sockets_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let cache = root.path().join("sys/devices/system/cpu/cpu0/cache/index0");
        fs::create_dir_all(&cache).unwrap();
        for (file, text) in [("level", "1\n"), ("type", "Data\n"), ("size", "32K\n")] {
            fs::write(cache.join(file), text).unwrap();
        }
        fs::create_dir_all(root.path().join("proc")).unwrap();
        let core = |n: usize| {
            let socket = n / 2;
            format!(
                "processor\t: {n}\nmodel name\t: Fast: 9000\nphysical id\t: {socket}\ncpu cores\t: 2\n\n"
            )
        };
        let text: String = (0..4).map(core).collect();
        fs::write(root.path().join("proc/cpuinfo"), text).unwrap();
        let machine = System::under(root.path()).machine();
        assert_eq!(machine.cpu_model.as_deref(), Some("Fast: 9000"));
        assert_eq!((machine.cpu_sockets, machine.cpu_cores_per_socket), (Some(2), Some(2)));
        assert_eq!((machine.cpu_threads, machine.cpu_max_mhz), (Some(4), None));
        assert_eq!(machine.cpu_caches.as_deref(), Some("L1d 32K"));
    }
}
