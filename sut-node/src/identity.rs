//! Which machine this is.

/// The machine's id, or nothing where it cannot be read.
pub(crate) fn machine_id() -> String {
    read("/etc/machine-id")
}

/// The host name, or nothing where it cannot be read.
pub(crate) fn host_name() -> String {
    read("/proc/sys/kernel/hostname")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}
