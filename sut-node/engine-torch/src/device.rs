//! The devices that libtorch can compute on.

use std::{fs, path::Path, thread};

use netdiv_plugin::{abi, write_text};
use tch::{Cuda, Device};

use crate::failure::Failure;

/// A device, or the kind of device that is missing.
pub(crate) struct Found {
    name: String,
    description: String,
    usable: bool,
}

/// All devices, the preferred one first.
pub(crate) fn all() -> Vec<Found> {
    let proc = Path::new("/proc");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cpu = format!("{}, {cores} threads", cpu_make(proc));
    listed(Cuda::device_count(), &nvidia_makes(proc), tch::utils::has_cuda(), cpu)
}

/// The devices, where libtorch has found that many GPUs and the driver lists these models.
fn listed(count: i64, makes: &[String], has_cuda: bool, cpu: String) -> Vec<Found> {
    let mut found: Vec<_> = (0..count)
        .map(|number| {
            // CUDA numbers devices in its own order, so a model is only known if all have the same.
            let make = makes.first().filter(|first| makes.iter().all(|make| make == *first));
            let description = make.cloned().unwrap_or_else(|| "a CUDA device".into());
            Found { name: format!("cuda:{number}"), description, usable: true }
        })
        .collect();
    if found.is_empty() {
        let description = if has_cuda {
            "libtorch has CUDA, but there is no NVIDIA driver or no GPU"
        } else {
            "this libtorch has no CUDA (no libtorch_cuda.so was found beside libtorch_cpu.so, or it could not be loaded)"
        };
        found.push(Found { name: "cuda".into(), description: description.into(), usable: false });
    }
    found.push(Found { name: "cpu".into(), description: cpu, usable: true });
    found
}

/// The device of that name.
pub(crate) fn find(name: &str) -> Result<Device, Failure> {
    find_among(name, &all())
}

fn find_among(name: &str, devices: &[Found]) -> Result<Device, Failure> {
    if devices.iter().any(|device| device.usable && device.name == name) {
        let number = name.strip_prefix("cuda:").and_then(|number| number.parse().ok());
        return Ok(number.map_or(Device::Cpu, Device::Cuda));
    }
    let there: Vec<_> = devices
        .iter()
        .map(
            |Found { name, description, usable }| {
                if *usable { name.clone() } else { format!("no {name}: {description}") }
            },
        )
        .collect();
    Err(Failure::refused(format!("there is no device {name}; there is {}", there.join(", "))))
}

/// Model and driver of each GPU of this machine, from the driver.
fn nvidia_makes(proc: &Path) -> Vec<String> {
    let line = |text: &str, key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)).map(|rest| rest.trim().to_owned())
    };
    let nvidia = proc.join("driver/nvidia");
    let version = fs::read_to_string(nvidia.join("version")).unwrap_or_default();
    let driver = line(&version, "NVRM version:").unwrap_or_default();
    let driver = driver
        .split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'));
    let driver = driver.map_or(String::new(), |driver| format!(", driver {driver}"));
    let mut gpus: Vec<_> = fs::read_dir(nvidia.join("gpus"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("information"))
        .collect();
    gpus.sort();
    let make = |path| line(&fs::read_to_string(path).ok()?, "Model:");
    gpus.into_iter().filter_map(make).map(|make| format!("{make}{driver}")).collect()
}

fn cpu_make(proc: &Path) -> String {
    let info = fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("CPU".into(), |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
}

impl Found {
    pub(crate) fn raw(&self) -> abi::Device {
        let usable = self.usable.into();
        let mut device = abi::Device { name: [0; 32], description: [0; 256], usable };
        write_text(&mut device.name, &self.name);
        write_text(&mut device.description, &self.description);
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(count: i64) -> Vec<Found> {
        listed(count, &[], true, "CPU, 2 threads".into())
    }

    #[test]
    fn devices_are_found_by_name() {
        assert!(matches!(find_among("cuda:1", &gpus(2)), Ok(Device::Cuda(1))));
        assert!(matches!(find_among("cpu", &gpus(2)), Ok(Device::Cpu)));
        assert!(matches!(find_among("cpu", &gpus(0)), Ok(Device::Cpu)));
        for name in ["cuda:2", "cuda", "cuda:", "cuda:-1", "cuda:01", "CPU", "tpu:0", ""] {
            let refused = find_among(name, &gpus(2)).expect_err("no such device");
            assert_eq!(refused.status, abi::REFUSED);
            let want = format!("there is no device {name}; there is cuda:0, cuda:1, cpu");
            assert_eq!(refused.text, want);
        }
    }

    #[test]
    fn what_is_missing_for_a_gpu_is_said() {
        for (has_cuda, why) in [(true, "no NVIDIA driver or no GPU"), (false, "has no CUDA")] {
            let devices = listed(0, &[], has_cuda, "CPU".into());
            assert_eq!((devices.len(), devices[0].usable, devices[1].usable), (2, false, true));
            let refused = find_among("cuda:0", &devices).expect_err("no such device").text;
            assert!(refused.contains("there is no cuda: ") && refused.contains(why), "{refused}");
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
            assert_eq!(listed(2, &makes, true, String::new())[1].description, want);
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
    fn long_names_are_cut_and_end_with_zero() {
        let device =
            Found { name: "x".repeat(99), description: "y".repeat(999), usable: true }.raw();
        assert_eq!((device.name[30], device.name[31]), (b'x' as _, 0));
        assert_eq!((device.description[254], device.description[255]), (b'y' as _, 0));
    }
}
