//! Memory whose size a user, a file or a peer chooses. Requesting more than is available would end
//! the process without a message: the system kills it, or the allocator aborts it.

use std::{io, path::Path};

use rustix::process::{Resource, getrlimit};

use crate::resources::kernel::{self, GroupVersion};

/// Memory reserved for everything else, in bytes: threads' stacks, buffers, logs.
const RESERVE_BYTES: u64 = 32 << 20;

/// Size below which requests are not compared with the available memory, in bytes, because the
/// comparison takes too long.
const SMALL_BYTES: u64 = 1 << 20;

/// Memory that this process can still use, and the limit that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AvailableMemory {
    /// Available memory, in bytes.
    pub bytes: u64,
    /// Name of the limit, as text.
    pub limit: &'static str,
}

/// Failure because more memory is needed than is available.
#[derive(Debug, thiserror::Error)]
#[error("{needed} bytes of memory are needed, but this process can use {} ({})", available.bytes, available.limit)]
pub struct TooLittleMemory {
    /// Needed memory, in bytes.
    pub needed: u64,
    /// Available memory.
    pub available: AvailableMemory,
}

impl From<TooLittleMemory> for io::Error {
    fn from(error: TooLittleMemory) -> Self {
        Self::new(io::ErrorKind::OutOfMemory, error)
    }
}

/// Checks that `bytes` bytes of memory are available to this process.
pub fn check(bytes: u64) -> Result<(), TooLittleMemory> {
    if bytes < SMALL_BYTES {
        return Ok(());
    }
    within(bytes, available())
}

/// Checks that the limits of this process (`ulimit -v`, `-d`) leave `bytes` bytes, in addition to a
/// reserve. Beyond the limits the allocator fails, even if the machine has memory.
pub fn check_limits(bytes: u64) -> Result<(), TooLittleMemory> {
    within(bytes, without_reserve(least(of_process(Path::new("/")))))
}

/// Returns true if this process has a limit on its address space (`ulimit -v`).
pub fn is_address_space_limited() -> bool {
    getrlimit(Resource::As).current.is_some()
}

fn within(needed: u64, available: AvailableMemory) -> Result<(), TooLittleMemory> {
    if needed <= available.bytes { Ok(()) } else { Err(TooLittleMemory { needed, available }) }
}

/// Allocates `bytes` zeros.
pub fn zeros(bytes: u64) -> Result<Vec<u8>, TooLittleMemory> {
    filled(usize::try_from(bytes).unwrap_or(usize::MAX), 0)
}

/// Allocates a list of `count` equal values.
pub fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>, TooLittleMemory> {
    let mut list = list(count)?;
    list.resize(count, value);
    Ok(list)
}

/// Allocates an empty list with room for `count` values.
pub fn list<T>(count: usize) -> Result<Vec<T>, TooLittleMemory> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    check(bytes)?;
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(TooLittleMemory { needed: bytes, available: available() }),
    }
}

/// Returns the minimum of what the machine, the control group and the limits of this process leave,
/// after a reserve.
pub fn available() -> AvailableMemory {
    without_reserve(of_system(Path::new("/")))
}

/// Like [`available`], but for a system whose `proc` and `sys` are in the folder `root`. Returns
/// `None` if no limit is known.
pub fn available_under(root: &Path) -> Option<AvailableMemory> {
    Some(of_system(root)).filter(|available| available.bytes < u64::MAX).map(without_reserve)
}

fn without_reserve(all: AvailableMemory) -> AvailableMemory {
    AvailableMemory { bytes: all.bytes.saturating_sub(RESERVE_BYTES), ..all }
}

fn of_system(root: &Path) -> AvailableMemory {
    let meminfo = kernel::read(root.join("proc/meminfo"));
    let machine = kib(&meminfo, "MemAvailable:").map_or(UNLIMITED, |kib| kib.saturating_mul(1024));
    let of_others = [
        AvailableMemory { bytes: machine, limit: "MemAvailable of this machine" },
        AvailableMemory { bytes: of_control_groups(root), limit: "the limit of its control group" },
    ];
    least(of_others.into_iter().chain(of_process(root)))
}

/// Returns the memory that the process's own limits leave.
fn of_process(root: &Path) -> [AvailableMemory; 2] {
    let read = |path: &str| kernel::read(root.join(path));
    let (status, limits) = (read("proc/self/status"), read("proc/self/limits"));
    let left = |name, key, limit| {
        let used = kib(&status, key).unwrap_or(0).saturating_mul(1024);
        let bytes = limit_of(&limits, name).map_or(UNLIMITED, |bytes| bytes.saturating_sub(used));
        AvailableMemory { bytes, limit }
    };
    [
        left("Max address space", "VmSize:", "the limit of its address space, ulimit -v"),
        left("Max data size", "VmData:", "the limit of its data, ulimit -d"),
    ]
}

/// Value for a limit that is missing in /proc.
const UNLIMITED: u64 = u64::MAX;

fn least(all: impl IntoIterator<Item = AvailableMemory>) -> AvailableMemory {
    let unlimited = AvailableMemory { bytes: UNLIMITED, limit: "nothing" };
    all.into_iter().min_by_key(|available| available.bytes).unwrap_or(unlimited)
}

/// Returns the value of a key in the text of `/proc/meminfo` or `/proc/self/status`, in KiB.
fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Returns the soft limit in `/proc/self/limits`, in bytes, or `None` without a limit.
fn limit_of(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the memory that the process's control group and its ancestors leave. They count the page
/// cache as used, but it is available.
fn of_control_groups(root: &Path) -> u64 {
    let mut least = u64::MAX;
    for (version, folder) in kernel::control_groups(root, "memory") {
        let (limit, used, prefix) = match version {
            GroupVersion::V2 => ("memory.max", "memory.current", ""),
            GroupVersion::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        };
        let number = |file: &str| kernel::try_read(folder.join(file))?.trim().parse::<u64>().ok();
        if let (Some(limit), Some(used)) = (number(limit), number(used)) {
            let stat = kernel::read(folder.join("memory.stat"));
            let cache = |kind| kib(&stat, &format!("{prefix}{kind} ")).unwrap_or(0);
            let caches = ["inactive_file", "active_file", "slab_reclaimable"].map(cache);
            let cached = caches.into_iter().fold(0, u64::saturating_add);
            least = least.min(limit.saturating_sub(used.saturating_sub(cached)));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the memory of a system with these files.
    fn system(files: &[(&str, &str)]) -> AvailableMemory {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of_system(root.path())
    }

    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  1 kB\nMemAvailable:   8000 kB\n");

    #[test]
    fn the_least_of_all_limits_counts() {
        assert_eq!(system(&[]).bytes, u64::MAX);
        let machine = system(&[MACHINE]);
        assert_eq!((machine.bytes, machine.limit), (8_192_000, "MemAvailable of this machine"));
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         5000000              unlimited            bytes     \n";
        let status = ("proc/self/status", "Name:\tx\nVmSize:\t    1000 kB\nVmData:\t     500 kB\n");
        let limited = system(&[MACHINE, status, ("proc/self/limits", limits)]);
        assert_eq!((limited.bytes, limited.limit.contains("ulimit -v")), (3_976_000, true));
        let limits = limits.replace(
            "unlimited            unlimited            bytes     \nMax a",
            "512001               1                    bytes\nMax a",
        );
        let limited = system(&[MACHINE, status, ("proc/self/limits", &limits)]);
        assert_eq!((limited.bytes, limited.limit.contains("ulimit -d")), (1, true));
    }

    #[test]
    fn control_groups_of_both_versions_and_those_above_count() {
        let stat = "anon 5\ninactive_file 100\nactive_file 50\n";
        let second = [
            MACHINE,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "300\n"),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/memory.current", "400\n"),
            ("sys/fs/cgroup/a/memory.stat", stat),
        ];
        let group = system(&second);
        assert_eq!((group.bytes, group.limit), (750, "the limit of its control group"));
        let first = [
            MACHINE,
            ("proc/self/cgroup", "5:cpu,memory:/of/the/host\n3:pids:/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "2000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1500\n"),
        ];
        assert_eq!(system(&first).bytes, 500);
    }

    #[test]
    fn what_there_is_not_is_refused_by_number() {
        let error = zeros(1 << 60).unwrap_err().to_string();
        assert!(error.starts_with("1152921504606846976 bytes of memory are needed"), "{error}");
        assert!(filled(usize::MAX, 0_u64).is_err());
        assert!(list::<[u64; 4]>(1 << 58).is_err());
        assert_eq!(zeros(3).unwrap(), [0, 0, 0]);
        assert_eq!(filled(2, 7_u64).unwrap(), [7, 7]);
        let none = AvailableMemory { bytes: 9, limit: "the test" };
        within(9, none).unwrap();
        let error = within(10, none).unwrap_err().to_string();
        assert_eq!(error, "10 bytes of memory are needed, but this process can use 9 (the test)");
        assert!(available().bytes > 0);
    }
}
