//! What libtorch can compute on.

use std::{ffi::c_char, fs, thread};

use netdiv_plugin::abi;
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
    let count = Cuda::device_count();
    let makes = nvidia_makes();
    let mut found: Vec<_> = (0..count)
        .map(|number| {
            // CUDA has an order of its own, so a make is only known when there is but one.
            let make = makes.first().filter(|first| makes.iter().all(|make| make == *first));
            let description = make.cloned().unwrap_or_else(|| "a CUDA device".into());
            Found { name: format!("cuda:{number}"), description, usable: true }
        })
        .collect();
    if count == 0 {
        let description = match tch::utils::has_cuda() {
            true => "libtorch has CUDA, but there is no NVIDIA driver or no GPU",
            false => {
                "this libtorch has no CUDA (no libtorch_cuda.so was found beside libtorch_cpu.so, or it could not \
                      be loaded)"
            }
        };
        found.push(Found { name: "cuda".into(), description: description.into(), usable: false });
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let description = format!("{}, {cores} threads", cpu_make());
    found.push(Found { name: "cpu".into(), description, usable: true });
    found
}

/// The device of that name.
pub(crate) fn find(name: &str) -> Result<Device, Failure> {
    let count = Cuda::device_count().max(0) as usize;
    let number = name.strip_prefix("cuda:").and_then(|number| number.parse::<usize>().ok());
    match (name, number) {
        ("cpu", _) => Ok(Device::Cpu),
        (_, Some(number)) if number < count => Ok(Device::Cuda(number)),
        _ => {
            let found = all().into_iter().map(|device| match device.usable {
                true => device.name,
                false => format!("no {}: {}", device.name, device.description),
            });
            let found = found.collect::<Vec<_>>().join(", ");
            Err(Failure::refused(format!("there is no device {name}; there is {found}")))
        }
    }
}

/// Make and driver of each GPU of this machine, as the driver says.
fn nvidia_makes() -> Vec<String> {
    let line = |text: &str, key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)).map(|rest| rest.trim().to_owned())
    };
    let version = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let driver = line(&version, "NVRM version:").unwrap_or_default();
    let driver = driver
        .split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'));
    let driver = driver.map_or(String::new(), |driver| format!(", driver {driver}"));
    let mut gpus: Vec<_> = fs::read_dir("/proc/driver/nvidia/gpus")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("information"))
        .collect();
    gpus.sort();
    let make = |path| line(&fs::read_to_string(path).ok()?, "Model:");
    gpus.into_iter().filter_map(make).map(|make| format!("{make}{driver}")).collect()
}

fn cpu_make() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("CPU".into(), |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
}

impl Found {
    pub(crate) fn raw(&self) -> abi::Device {
        let mut device = abi::Device { name: [0; 32], description: [0; 256], usable: 0 };
        write(&mut device.name, &self.name);
        write(&mut device.description, &self.description);
        device.usable = self.usable.into();
        device
    }
}

/// Writes a text that ends with a zero.
fn write(room: &mut [c_char], text: &str) {
    let length = text.floor_char_boundary(room.len() - 1);
    for (place, byte) in room.iter_mut().zip(&text.as_bytes()[..length]) {
        *place = *byte as c_char;
    }
}
