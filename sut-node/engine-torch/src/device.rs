//! Devices that libtorch can compute on.

use std::{
    ffi::{c_int, c_void},
    fs, mem,
    path::Path,
    thread,
};

use netdiv_node_common::resources::kernel;
use netdiv_plugin::{abi, write_text};
use tch::{Cuda, Device, Kind, Tensor};

use crate::failure::Failure;

/// Minimum major version of the driver for CUDA 13 (NVIDIA, CUDA Toolkit 13.0 Release Notes).
const CUDA_13_DRIVER: u32 = 580;

/// A usable device, or the entry that states why there is no CUDA device.
pub(crate) struct DeviceEntry {
    name: String,
    description: String,
    usable: bool,
}

/// Returns all devices, the preferred one first.
pub(crate) fn entries() -> Vec<DeviceEntry> {
    let proc = Path::new("/proc");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cpu = format!("{}, {cores} threads", cpu_make(proc));
    let missing = || {
        // There is no CUDA device. The allocation fails with the reason, and creates no context.
        let error = Tensor::f_empty([1], (Kind::Uint8, Device::Cuda(0))).err();
        let said = error.map_or_else(String::new, |error| Failure::from(error).text);
        missing(tch::utils::has_cudart(), driver(proc).as_deref(), &said)
    };
    listed(Cuda::device_count(), &nvidia_makes(proc), missing, cpu)
}

/// Returns the reason why there is no CUDA device. `driver` is the version of the NVIDIA driver,
/// and `said` is libtorch's error for an allocation on a CUDA device.
fn missing(has_cudart: bool, driver: Option<&str>, said: &str) -> String {
    let major = driver.and_then(|driver| driver.split('.').next()?.parse::<u32>().ok());
    match (driver, major) {
        _ if !has_cudart => "this libtorch has no CUDA (no libtorch_cuda.so was found beside libtorch_cpu.so, or it could \
                             not be loaded)"
            .into(),
        (Some(driver), Some(major)) if said.contains("too old") => {
            let least = if major < CUDA_13_DRIVER { " (CUDA 13 needs 580 or later)" } else { "" };
            format!("the NVIDIA driver {driver} is too old for this libtorch{least}: install a newer one")
        }
        (None, _) if said.contains("Found no NVIDIA driver") => {
            "there is no NVIDIA driver; install one, 580 or later for CUDA 13, or pass the GPUs to the container".into()
        }
        (Some(driver), _) if said.contains("Found no NVIDIA driver") => format!(
            "the NVIDIA driver {driver} is installed, but its library libcuda.so.1 or the devices /dev/nvidia* cannot be used; \
             check that nvidia-smi works"
        ),
        _ => format!("libtorch finds no GPU: {}", said.lines().next().unwrap_or_default()),
    }
}

/// Lists the devices. `count` is the number of GPUs that libtorch finds, `makes` holds the models
/// that the driver reports, `missing` returns the reason why there is no GPU, and `cpu` describes
/// the CPU.
fn listed(
    count: i64,
    makes: &[String],
    missing: impl FnOnce() -> String,
    cpu: String,
) -> Vec<DeviceEntry> {
    let mut found: Vec<_> = (0..count)
        .map(|number| {
            // CUDA and the driver number devices differently, so a device's model is only known if
            // all devices have the same model.
            let make = makes.first().filter(|first| makes.iter().all(|make| make == *first));
            let description = make.cloned().unwrap_or_else(|| "a CUDA device".into());
            DeviceEntry { name: format!("cuda:{number}"), description, usable: true }
        })
        .collect();
    if found.is_empty() {
        found.push(DeviceEntry { name: "cuda".into(), description: missing(), usable: false });
    }
    found.push(DeviceEntry { name: "cpu".into(), description: cpu, usable: true });
    found
}

/// Returns the device with this name. Fails if it is missing or not usable.
pub(crate) fn find(name: &str) -> Result<Device, Failure> {
    find_among(name, &entries())
}

fn find_among(name: &str, devices: &[DeviceEntry]) -> Result<Device, Failure> {
    if devices.iter().any(|device| device.usable && device.name == name) {
        let number = name.strip_prefix("cuda:").and_then(|number| number.parse().ok());
        return Ok(number.map_or(Device::Cpu, Device::Cuda));
    }
    let there: Vec<_> =
        devices
            .iter()
            .map(|DeviceEntry { name, description, usable }| {
                if *usable { name.clone() } else { format!("{name} (unavailable: {description})") }
            })
            .collect();
    Err(Failure::refused(format!("there is no device {name}; devices: {}", there.join(", "))))
}

/// Returns the rest of the line that begins with `key`.
fn line(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(|rest| rest.trim().to_owned())
}

/// Returns the version of the NVIDIA driver. `proc` is the path of `/proc`.
fn driver(proc: &Path) -> Option<String> {
    let version = kernel::try_read(proc.join("driver/nvidia/version"))?;
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line(&version, "NVRM version:")?.split_whitespace().find(is_version).map(ToOwned::to_owned)
}

/// Returns the model and driver of each GPU of this machine, as the driver reports them.
fn nvidia_makes(proc: &Path) -> Vec<String> {
    let nvidia = proc.join("driver/nvidia");
    let driver = driver(proc).map_or(String::new(), |driver| format!(", driver {driver}"));
    let mut gpus: Vec<_> = fs::read_dir(nvidia.join("gpus"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("information"))
        .collect();
    gpus.sort();
    let make = |path| line(&kernel::try_read(path)?, "Model:");
    gpus.into_iter().filter_map(make).map(|make| format!("{make}{driver}")).collect()
}

/// Returns what compiled code may need: the CPU's instruction sets, by Linux's names, and the
/// architecture of the device, if it is a GPU, such as `sm_90`.
pub(crate) fn abilities(device: Device) -> Vec<String> {
    let cpu = kernel::read("/proc/cpuinfo");
    // Arm's are the features.
    let flags = line(&cpu, "flags").or_else(|| line(&cpu, "Features")).unwrap_or_default();
    let gpu = match device {
        Device::Cuda(index) => architecture(index as c_int),
        _ => None,
    };
    flags.split_whitespace().map(ToOwned::to_owned).chain(gpu).collect()
}

/// Asks CUDA's runtime, which libtorch has loaded, for the architecture of a GPU.
fn architecture(index: c_int) -> Option<String> {
    type GetAttribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    // SAFETY: the type is that of cuda_runtime_api.h; a missing function is null, which is `None`.
    let get = unsafe {
        let name = c"cudaDeviceGetAttribute".as_ptr();
        mem::transmute::<*mut c_void, Option<GetAttribute>>(libc::dlsym(libc::RTLD_DEFAULT, name))
    }?;
    let attribute = |number| {
        let mut value = 0;
        // SAFETY: the function writes a number there when it returns 0.
        (unsafe { get(&mut value, number, index) } == 0).then_some(value)
    };
    // The numbers of cudaDevAttrComputeCapabilityMajor and cudaDevAttrComputeCapabilityMinor.
    Some(format!("sm_{}{}", attribute(75)?, attribute(76)?))
}

fn cpu_make(proc: &Path) -> String {
    let info = kernel::read(proc.join("cpuinfo"));
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("CPU".into(), |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
}

impl DeviceEntry {
    pub(crate) fn raw(&self) -> abi::Device {
        let is_cuda = self.name.starts_with("cuda:");
        let usable = match (self.usable, is_cuda) {
            (false, _) => 0,
            (true, false) => abi::USABLE | abi::PARALLEL_LOADS,
            // For each new batch size, cuDNN searches for the fastest algorithm.
            (true, true) => abi::USABLE | abi::PARALLEL_LOADS | abi::NEW_SIZES_STALL,
        };
        let mut device = abi::Device { name: [0; 32], description: [0; 256], usable };
        write_text(&mut device.name, &self.name);
        write_text(&mut device.description, &self.description);
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(count: i64) -> Vec<DeviceEntry> {
        listed(count, &[], || "no driver".into(), "CPU, 2 threads".into())
    }

    #[test]
    fn devices_are_found_by_name() {
        assert!(matches!(find_among("cuda:1", &gpus(2)), Ok(Device::Cuda(1))));
        assert!(matches!(find_among("cpu", &gpus(2)), Ok(Device::Cpu)));
        assert!(matches!(find_among("cpu", &gpus(0)), Ok(Device::Cpu)));
        for name in ["cuda:2", "cuda", "cuda:", "cuda:-1", "cuda:01", "CPU", "tpu:0", ""] {
            let refused = find_among(name, &gpus(2)).expect_err("no such device");
            assert_eq!(refused.status, abi::REFUSED);
            let want = format!("there is no device {name}; devices: cuda:0, cuda:1, cpu");
            assert_eq!(refused.text, want);
        }
    }

    #[test]
    fn what_is_missing_for_a_gpu_is_said() {
        // Texts of libtorch 2.11.0+cu130.
        let none = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver";
        let old = "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver";
        for (has_cudart, driver, said, want) in [
            (false, None, "Could not run 'aten::empty.memory_format'", "this libtorch has no CUDA"),
            (false, Some("580.65.06"), "", "this libtorch has no CUDA"),
            (true, None, none, "there is no NVIDIA driver; install one, 580 or later"),
            (
                true,
                Some("580.65.06"),
                none,
                "libcuda.so.1 or the devices /dev/nvidia* cannot be used",
            ),
            (
                true,
                Some("550.54.15"),
                old,
                "550.54.15 is too old for this libtorch (CUDA 13 needs 580",
            ),
            (true, Some("580.65.06"), old, "580.65.06 is too old for this libtorch: install"),
            (
                true,
                Some("580.65.06"),
                "no CUDA GPUs are available\nand more",
                "no CUDA GPUs are available",
            ),
        ] {
            let why = missing(has_cudart, driver, said);
            assert!(why.contains(want) && !why.contains("and more"), "{why}");
            let devices = listed(0, &[], || why.clone(), "CPU".into());
            assert_eq!((devices.len(), devices[0].usable, devices[1].usable), (2, false, true));
            let refused = find_among("cuda:0", &devices).expect_err("no such device").text;
            assert!(refused.contains(&format!("devices: cuda (unavailable: {why})")), "{refused}");
            // The description has room for the whole text.
            assert!(why.len() < devices[0].raw().description.len(), "{}: {why}", why.len());
        }
    }

    #[test]
    fn a_make_is_said_where_all_gpus_have_the_same() {
        let (a, b) = ("H200, driver 580.1".to_owned(), "L4, driver 580.1".to_owned());
        for (makes, want) in [
            (vec![a.clone(), a.clone()], "H200, driver 580.1"),
            (vec![a, b], "a CUDA device"),
            (vec![], "a CUDA device"),
        ] {
            assert_eq!(listed(2, &makes, String::new, String::new())[1].description, want);
        }
    }

    #[test]
    fn makes_are_read_from_the_system() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!((nvidia_makes(proc.path()), cpu_make(proc.path())), (vec![], "CPU".into()));
        let write = |path: &str, text: &str| {
            let path = proc.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cpuinfo", "processor\t: 0\nmodel name\t: EPYC 9654\n");
        write(
            "driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64  580.65.06  Release Build\n",
        );
        write("driver/nvidia/gpus/0000:19:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 7\n");
        assert_eq!(cpu_make(proc.path()), "EPYC 9654");
        assert_eq!(nvidia_makes(proc.path()), ["NVIDIA H200, driver 580.65.06"]);
    }

    #[test]
    fn a_machine_has_the_instruction_sets_that_linux_names() {
        // The code around a GPU's kernels needs them too.
        for device in [Device::Cpu, Device::Cuda(99)] {
            let abilities = abilities(device);
            assert!(cfg!(not(target_arch = "x86_64")) || abilities.iter().any(|it| it == "sse2"));
        }
    }

    #[test]
    fn new_batch_sizes_stall_on_gpus_alone() {
        let usable = abi::USABLE | abi::PARALLEL_LOADS;
        let flags: Vec<_> = gpus(1).iter().map(|device| device.raw().usable).collect();
        assert_eq!(flags, [usable | abi::NEW_SIZES_STALL, usable]);
        let missing: Vec<_> = gpus(0).iter().map(|device| device.raw().usable).collect();
        assert_eq!(missing, [0, usable]);
    }
}
