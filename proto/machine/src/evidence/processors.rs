//! Processors, from `/proc/cpuinfo` and `/sys/devices/system/cpu`. Detection of a hypervisor from
//! their flags, the kernel and the firmware's tables.

use std::{collections::BTreeSet, fs};

use netdiv_contract::v1::Machine;

use crate::evidence::System;

/// Method by which an Arm kernel calls the firmware (PSCI). `smc` calls the machine's own firmware,
/// `hvc` a hypervisor.
const PSCI_METHOD: &str = "proc/device-tree/psci/method";

/// ACPI's table FADT, which only root can read. Bit 1 of `ARM_BOOT_ARCH` is set if the kernel calls
/// a hypervisor.
const FADT: &str = "sys/firmware/acpi/tables/FACP";
const ARM_BOOT_ARCH: usize = 129;
const PSCI_COMPLIANT: u8 = 1;
const PSCI_USES_HVC: u8 = 2;

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

    /// Returns true if the machine runs under a hypervisor, or `None` if that is unknown. The
    /// source depends on the architecture: x86 processors have a flag, Arm processors have none.
    pub(crate) fn virtual_machine(&self) -> Option<bool> {
        let shows = |path: &str| self.path(path).exists();
        if shows("sys/hypervisor/type") || shows("proc/device-tree/hypervisor") {
            return Some(true);
        }
        let processors = self.read("proc/cpuinfo").unwrap_or_default();
        let mut flags = values(&processors, "flags").peekable();
        if flags.peek().is_some() {
            return Some(flags.any(|flags| flags.split_whitespace().any(|f| f == "hypervisor")));
        }
        self.calls_a_hypervisor()
    }

    /// Returns true if the kernel calls a hypervisor instead of the firmware.
    fn calls_a_hypervisor(&self) -> Option<bool> {
        if let Some(method) = self.read(PSCI_METHOD) {
            return match method.trim_end_matches('\0') {
                "smc" => Some(false),
                "hvc" => Some(true),
                _ => None,
            };
        }
        let flags = *fs::read(self.path(FADT)).ok()?.get(ARM_BOOT_ARCH)?;
        (flags & PSCI_COMPLIANT != 0).then_some(flags & PSCI_USES_HVC != 0)
    }
}

/// Returns the values of a key in `/proc/cpuinfo`, processor by processor.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sockets_are_counted() {
        let core = |n: usize| {
            let socket = n / 2;
            format!(
                "processor\t: {n}\nmodel name\t: Fast: 9000\nphysical id\t: {socket}\ncpu cores\t: 2\n\n"
            )
        };
        let cores: String = (0..4).map(core).collect();
        let (_root, system) = System::of_files([
            ("proc/cpuinfo", &*cores),
            ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ]);
        let machine = system.machine();
        assert_eq!(machine.cpu_model.as_deref(), Some("Fast: 9000"));
        assert_eq!((machine.cpu_sockets, machine.cpu_cores_per_socket), (Some(2), Some(2)));
        assert_eq!((machine.cpu_threads, machine.cpu_max_mhz), (Some(4), None));
        assert_eq!(machine.cpu_caches.as_deref(), Some("L1d 32K"));
    }

    type File<'a> = (&'a str, &'a [u8]);

    const CPUINFO: &str = "proc/cpuinfo";
    const X86: &[u8] = b"processor\t: 0\nflags\t\t: fpu vme avx2\n";
    const X86_GUEST: &[u8] = b"processor\t: 0\nflags\t\t: fpu vme hypervisor avx2\n";
    const ARM: &[u8] = b"processor\t: 0\nFeatures\t: fp asimd\n";

    fn fadt(flags: u8) -> Vec<u8> {
        [vec![0; ARM_BOOT_ARCH], vec![flags, 0]].concat()
    }

    #[test]
    fn a_hypervisor_is_seen_and_its_absence_is() {
        let cases: [(&[File], Option<bool>); 13] = [
            (&[], None),
            (&[(CPUINFO, X86)], Some(false)),
            (&[(CPUINFO, X86_GUEST)], Some(true)),
            // Xen's own machines: the processors have no flag.
            (&[(CPUINFO, X86), ("sys/hypervisor/type", b"xen\n")], Some(true)),
            (&[(CPUINFO, ARM)], None),
            (&[(CPUINFO, ARM), (PSCI_METHOD, b"smc\0")], Some(false)),
            (&[(CPUINFO, ARM), (PSCI_METHOD, b"hvc\0")], Some(true)),
            (&[(CPUINFO, ARM), (PSCI_METHOD, b"?")], None),
            (&[(CPUINFO, ARM), ("proc/device-tree/hypervisor/compatible", b"xen")], Some(true)),
            (&[(CPUINFO, ARM), (FADT, &fadt(1))], Some(false)),
            (&[(CPUINFO, ARM), (FADT, &fadt(3))], Some(true)),
            (&[(CPUINFO, ARM), (FADT, &fadt(0))], None),
            (&[(CPUINFO, ARM), (FADT, b"FACP")], None),
        ];
        for (files, want) in cases {
            let (_root, system) = System::of_files(files.iter().copied());
            assert_eq!(system.machine().virtual_machine, want, "{files:?}");
        }
    }
}
