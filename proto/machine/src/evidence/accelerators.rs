//! Accelerators, from `nvidia-smi`. The PCI bus can prove that the machine has no accelerator.

use netdiv_contract::v1::Accelerator;

use crate::evidence::System;

/// Fields that `nvidia-smi` prints for each accelerator. The fields of the PCIe link are its
/// maximums, because an idle link may run at a lower generation.
const FIELDS: &str = "name,memory.total,driver_version,ecc.mode.current,pci.bus_id,\
                      pcie.link.gen.max,pcie.link.width.max";

/// Folder with an entry for each device on the PCI bus.
pub(crate) const PCI: &str = "sys/bus/pci/devices";

/// Classes of PCI devices that may be accelerators: 3D controllers, other display controllers, and
/// processing accelerators.
const CLASSES: [&str; 3] = ["0x0302", "0x0380", "0x1200"];

impl System {
    /// Returns the accelerators, and their number if it is known.
    pub(crate) fn accelerators(&self) -> (Vec<Accelerator>, Option<u32>) {
        let query = format!("--query-gpu={FIELDS}");
        let text = self.run_program("nvidia-smi", &[&query, "--format=csv,noheader,nounits"]);
        match parse_accelerators(&text.unwrap_or_default()) {
            (none, _) if none.is_empty() => (none, self.has_no_accelerator().then_some(0)),
            some => some,
        }
    }

    /// Returns true if every device of the PCI bus is known not to be an accelerator. False without
    /// a bus.
    fn has_no_accelerator(&self) -> bool {
        let devices = self.names(PCI);
        !devices.is_empty() && devices.iter().all(|device| self.computes(device) == Some(false))
    }

    /// Returns the addresses of devices on the PCI bus that may be accelerators.
    pub(crate) fn accelerator_addresses(&self) -> Vec<String> {
        let devices = self.names(PCI).into_iter();
        devices.filter(|device| self.computes(device) == Some(true)).collect()
    }

    /// Returns true if a device of the PCI bus may be an accelerator, or `None` if its class is
    /// unknown.
    fn computes(&self, device: &str) -> Option<bool> {
        let read = |file| self.read(&format!("{PCI}/{device}/{file}"));
        let class = read("class")?;
        // Graphics devices of other vendors are usually a server's console.
        let is_nvidia = || read("vendor").is_none_or(|vendor| vendor == "0x10de");
        let computes = CLASSES.iter().any(|prefix| class.starts_with(prefix));
        Some(computes || class.starts_with("0x0300") && is_nvidia())
    }
}

/// Parses the accelerators that `nvidia-smi` lists. Returns their number unless a line is invalid.
fn parse_accelerators(text: &str) -> (Vec<Accelerator>, Option<u32>) {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let accelerators: Vec<_> = text.lines().filter_map(accelerator).collect();
    let count = u32::try_from(lines).ok().filter(|_| accelerators.len() == lines);
    (accelerators, count)
}

/// Parses a line of `nvidia-smi`.
fn accelerator(line: &str) -> Option<Accelerator> {
    let fields: Vec<_> = line.split(',').map(str::trim).collect();
    let [name, memory, driver, ecc, bus, generation, width] = fields.try_into().ok()?;
    let known = |text: &str| (!text.is_empty() && !text.starts_with('[')).then(|| text.to_owned());
    let link = known(generation).zip(known(width));
    Some(Accelerator {
        name: name.into(),
        memory_bytes: memory.parse::<u64>().ok().and_then(|mib| mib.checked_mul(1 << 20)),
        driver: known(driver),
        ecc: match ecc {
            "Enabled" => Some(true),
            "Disabled" => Some(false),
            _ => None,
        },
        bus_address: known(bus),
        host_link: link.map(|(generation, width)| format!("PCIe {generation}.0 x{width}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_nvidia_smi_are_read() {
        let line = "NVIDIA H200, 143771, 580.65.06, Enabled, 00000000:19:00.0, 5, 16";
        let want = Accelerator {
            name: "NVIDIA H200".into(),
            memory_bytes: Some(143_771 << 20),
            driver: Some("580.65.06".into()),
            ecc: Some(true),
            bus_address: Some("00000000:19:00.0".into()),
            host_link: Some("PCIe 5.0 x16".into()),
        };
        assert_eq!(
            parse_accelerators(&format!("{line}\n{line}\n")),
            (vec![want.clone(), want.clone()], Some(2))
        );
        assert_eq!(parse_accelerators(&format!("{line}\nwhat is this\n")), (vec![want], None));
        let line = "NVIDIA GeForce, 8192, 580.65.06, [N/A], 00000000:01:00.0, [N/A], 16";
        let unknown = accelerator(line).unwrap();
        assert_eq!((unknown.ecc, unknown.host_link), (None, None));
        assert_eq!(accelerator("No devices were found"), None);
    }

    #[test]
    fn the_pci_bus_says_that_there_are_none() {
        let (console, network) = (("0x030000", "0x1a03"), ("0x020000", "0x15b3"));
        for (devices, want) in [
            (vec![console, network], Some(0)),
            (vec![], None),
            (vec![network, ("0x030200", "0x10de")], None),
            (vec![("0x120000", "0x1da3")], None),
            (vec![("0x038000", "0x1002")], None),
            (vec![("0x030000", "0x10de")], None),
            (vec![network, ("", "0x8086")], None),
        ] {
            let files = devices.iter().enumerate().flat_map(|(number, (class, vendor))| {
                let file = |name| format!("{PCI}/0000:{number:02x}:00.0/{name}");
                [(file("class"), class), (file("vendor"), vendor)]
            });
            let (_root, system) = System::of_files(files);
            assert_eq!(system.accelerators(), (vec![], want), "{devices:?}");
        }
    }
}
