//! Network interfaces, from `/sys/class/net`, `ethtool` and `lspci`.

use std::fs;

use netdiv_contract::v1::Interface;

use crate::evidence::System;

/// Folder with an entry for each network interface.
pub(crate) const NET: &str = "sys/class/net";

/// Maximum nesting depth of interfaces, such as a VLAN on a bridge on a bond. A deeper tree is a
/// loop.
pub(crate) const MAX_NESTING: usize = 4;

/// Values of `/sys/class/net/IF/type` (`ARPHRD_*` of Linux's `if_arp.h`).
const ETHERNET: &str = "1";
const INFINIBAND: &str = "32";
const LOOPBACK: &str = "772";

impl System {
    /// Returns all interfaces except loopback, in the order of their names.
    pub fn interfaces(&self) -> Vec<Interface> {
        self.names(NET).iter().filter_map(|name| self.interface(name)).collect()
    }

    /// Returns the number of bytes that an interface has sent, and the number that it has received.
    pub fn bytes_carried(&self, interface: &str) -> Option<(u64, u64)> {
        let count = |file| {
            let path = format!("{NET}/{interface}/statistics/{file}");
            self.read(&path)?.parse().ok()
        };
        Some((count("tx_bytes")?, count("rx_bytes")?))
    }

    fn interface(&self, name: &str) -> Option<Interface> {
        let read = |file: &str| self.read(&format!("{NET}/{name}/{file}"));
        let kind = read("type")?;
        if kind == LOOPBACK {
            return None;
        }
        // Some drivers report -1 for unknown.
        let number = |file| read(file)?.parse::<u64>().ok();
        let (driver, firmware) = self.driver(name);
        let bus_address = self.link_target(&format!("{NET}/{name}/device"));
        Some(Interface {
            name: name.into(),
            kind: self.kind(name, &kind, MAX_NESTING),
            mac: read("address"),
            model: self.model(name, bus_address.as_deref()),
            driver,
            firmware,
            bus_address,
            speed_mbit_per_second: number("speed").filter(|speed| *speed > 0),
            mtu_bytes: number("mtu"),
            up: read("operstate").is_some_and(|state| state == "up"),
            numa_node: read("device/numa_node").and_then(|node| node.parse().ok()),
            over: self.underlying(name),
        })
    }

    /// Returns the kind of an interface as text, such as `ethernet`. `number` is the type in
    /// `/sys/class/net/IF/type`; `storeys` is the maximum number of levels of interfaces below this
    /// one. A bond, bridge or VLAN has the kind of its underlying interfaces.
    fn kind(&self, name: &str, number: &str, storeys: usize) -> String {
        let is_virtual = fs::canonicalize(self.path(&format!("{NET}/{name}")))
            .is_ok_and(|path| path.components().any(|part| part.as_os_str() == "virtual"));
        if is_virtual {
            let Some(storeys) = storeys.checked_sub(1) else { return "virtual".into() };
            let mut below = self.underlying(name).into_iter().filter_map(|lower| {
                let number = self.read(&format!("{NET}/{lower}/type"))?;
                Some(self.kind(&lower, &number, storeys)).filter(|kind| kind != "virtual")
            });
            return below.next().unwrap_or_else(|| "virtual".into());
        }
        let exists = |file: &str| self.path(&format!("{NET}/{name}/{file}")).exists();
        match number {
            ETHERNET if exists("wireless") || exists("phy80211") => "wifi".into(),
            ETHERNET => "ethernet".into(),
            INFINIBAND => "infiniband".into(),
            other => format!("type {other}"),
        }
    }

    /// Returns the names of the interfaces directly below a bond, bridge or VLAN.
    fn underlying(&self, name: &str) -> Vec<String> {
        let names = self.names(&format!("{NET}/{name}"));
        names.iter().filter_map(|file| file.strip_prefix("lower_").map(Into::into)).collect()
    }

    /// Returns driver and firmware. `ethtool` reports more than the files contain.
    fn driver(&self, name: &str) -> (Option<String>, Option<String>) {
        let text = self.run_program("ethtool", &["-i", name]).unwrap_or_default();
        let value = |key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(key))?.trim();
            (!value.is_empty() && value != "N/A").then(|| value.to_owned())
        };
        let driver =
            value("driver:").or_else(|| self.link_target(&format!("{NET}/{name}/device/driver")));
        (driver, value("firmware-version:"))
    }

    /// Returns the name of the interface's adapter, or else its vendor id and product id.
    fn model(&self, name: &str, bus_address: Option<&str>) -> Option<String> {
        let line = bus_address.and_then(|address| self.run_program("lspci", &["-s", address]));
        // Example: 01:00.0 Ethernet controller: Maker Model (rev 01)
        let named = line.as_deref().and_then(|line| line.trim().split_once(": "));
        if let Some((_, model)) = named {
            return Some(model.to_owned());
        }
        let device = format!("{NET}/{name}/device");
        let id = |file| {
            let id = self.read(&format!("{device}/{file}"))?;
            Some(id.trim_start_matches("0x").to_owned())
        };
        let bus = self.link_target(&format!("{device}/subsystem"))?;
        let (bus, vendor, product) = match bus.as_str() {
            "pci" => ("PCI", id("vendor"), id("device")),
            // The device itself is the parent of its functions.
            "usb" => ("USB", id("../idVendor"), id("../idProduct")),
            other => (other, id("vendor"), id("device")),
        };
        vendor.zip(product).map(|(vendor, product)| format!("{bus} {vendor}:{product}"))
    }

    fn link_target(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        target.file_name()?.to_str().map(Into::into)
    }
}

/// Returns true if a model consists only of ids: `PCI 15b3:101d`, or `Device 15b3:101d (rev 01)` of
/// an `lspci` without names.
pub(crate) fn is_bare_id(model: &str) -> bool {
    let is_id = |id: &str| id.len() == 4 && id.bytes().all(|b| b.is_ascii_hexdigit());
    let Some((_, text)) = model.split_once(' ') else { return false };
    let (ids, rest) = text.split_once(' ').unwrap_or((text, ""));
    let is_ids = ids.split_once(':').is_some_and(|(vendor, device)| is_id(vendor) && is_id(device));
    is_ids && (rest.is_empty() || rest.starts_with('('))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, path::Path};

    use super::*;

    fn device(root: &Path, folder: &str, name: &str, files: &[(&str, &str)]) {
        let device = root.join(folder).join(name);
        fs::create_dir_all(device.join("statistics")).unwrap();
        for (file, text) in files {
            fs::write(device.join(file), text).unwrap();
        }
        fs::create_dir_all(root.join(NET)).unwrap();
        symlink(&device, root.join(NET).join(name)).unwrap();
    }

    #[test]
    fn interfaces_are_what_the_files_say() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let nic =
            [("type", "1\n"), ("speed", "100000\n"), ("mtu", "9000\n"), ("operstate", "up\n")];
        device(root, "sys/devices/pci0000:00/net", "eth0", &nic);
        device(root, "sys/devices/pci0000:01/net", "ib0", &[("type", "32\n"), ("speed", "-1\n")]);
        device(root, "sys/devices/virtual/net", "lo", &[("type", "772\n")]);
        device(root, "sys/devices/virtual/net", "veth1", &[("type", "1\n")]);
        device(root, "sys/devices/virtual/net", "bond0", &[("type", "1\n"), ("lower_eth0", "")]);
        for (file, count) in [("tx_bytes", "12\n"), ("rx_bytes", "34\n")] {
            fs::write(root.join(NET).join("eth0/statistics").join(file), count).unwrap();
        }

        let system = System::under(root);
        let found = system.interfaces();
        let kinds: Vec<_> = found.iter().map(|i| (i.name.as_str(), i.kind.as_str())).collect();
        let want = [
            ("bond0", "ethernet"),
            ("eth0", "ethernet"),
            ("ib0", "infiniband"),
            ("veth1", "virtual"),
        ];
        assert_eq!(kinds, want);
        assert_eq!(
            (found[1].speed_mbit_per_second, found[1].mtu_bytes),
            (Some(100_000), Some(9000))
        );
        assert!(found[1].up && !found[2].up);
        assert_eq!((found[2].speed_mbit_per_second, &found[0].over), (None, &vec!["eth0".into()]));
        assert_eq!(system.bytes_carried("eth0"), Some((12, 34)));
        assert_eq!(system.bytes_carried("eth9"), None);
    }

    #[test]
    fn ids_are_of_the_bus_of_the_device() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let ids = [("vendor", "0x15b3\n"), ("device", "0x101d\n")];
        let usb = [("idVendor", "0bda\n"), ("idProduct", "8153\n")];
        for (name, bus, place, files) in [
            ("eth0", "pci", "pci0/01:00.0", &ids[..]),
            ("eth1", "virtio", "pci0/virtio0", &ids[..]),
            ("eth2", "usb", "usb1/1-1/1-1:1.0", &[][..]),
            ("eth3", "pci", "pci0/02:00.0", &[][..]),
        ] {
            let hardware = root.join("sys/devices").join(place);
            device(root, &format!("sys/devices/{place}/net"), name, &[("type", "1\n")]);
            for (file, text) in files {
                fs::write(hardware.join(file), text).unwrap();
            }
            symlink(root.join("sys/bus").join(bus), hardware.join("subsystem")).unwrap();
            symlink(&hardware, root.join(NET).join(name).join("device")).unwrap();
        }
        for (file, text) in usb {
            fs::write(root.join("sys/devices/usb1/1-1").join(file), text).unwrap();
        }
        let found = System::under(root).interfaces();
        let models: Vec<_> = found.iter().map(|interface| interface.model.as_deref()).collect();
        let want = [Some("PCI 15b3:101d"), Some("virtio 15b3:101d"), Some("USB 0bda:8153"), None];
        assert_eq!(models, want);
        assert!(models.iter().flatten().all(|model| is_bare_id(model)));
        assert!(is_bare_id("Device 15b3:101d (rev 01)"));
        for name in ["ConnectX-6", "Mellanox Device 101d", "Acme 15b3:101d Ultra", ""] {
            assert!(!is_bare_id(name), "{name}");
        }
    }
}
