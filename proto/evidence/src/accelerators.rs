//! Accelerators, as `nvidia-smi` tells them.

use netdiv_proto::v1::Accelerator;

use crate::System;

const FIELDS: &str = "name,memory.total,driver_version,ecc.mode.current,pci.bus_id,\
                      pcie.link.gen.current,pcie.link.width.current";

impl System {
    pub(crate) fn accelerators(&self) -> Vec<Accelerator> {
        let query = format!("--query-gpu={FIELDS}");
        let text = self.ask("nvidia-smi", &[&query, "--format=csv,noheader,nounits"]);
        text.iter().flat_map(|text| text.lines()).filter_map(accelerator).collect()
    }
}

/// One line of `nvidia-smi`.
fn accelerator(line: &str) -> Option<Accelerator> {
    let fields: Vec<_> = line.split(',').map(str::trim).collect();
    let [name, memory, driver, ecc, bus, generation, width] = fields.try_into().ok()?;
    let known = |text: &str| (!text.is_empty() && !text.starts_with('[')).then(|| text.to_owned());
    let link = known(generation).zip(known(width));
    Some(Accelerator {
        name: name.into(),
        memory_bytes: memory.parse::<u64>().ok().map(|mib| mib << 20),
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
#[allow(clippy::unwrap_used)]
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
        assert_eq!(accelerator(line).unwrap(), want);
        let line = "NVIDIA GeForce, 8192, 580.65.06, [N/A], 00000000:01:00.0, [N/A], 16";
        let unknown = accelerator(line).unwrap();
        assert_eq!((unknown.ecc, unknown.host_link), (None, None));
        assert_eq!(accelerator("No devices were found"), None);
    }
}
