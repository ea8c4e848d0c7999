//! Detection of a hypervisor from the processors' flags, the kernel and the firmware's tables.

use std::fs;

use crate::evidence::{System, processors::values};

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

#[cfg(test)]
mod tests {
    use super::*;

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
            let root = tempfile::tempdir().unwrap();
            for (path, bytes) in files {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            assert_eq!(System::under(root.path()).machine().virtual_machine, want, "{files:?}");
        }
    }
}
