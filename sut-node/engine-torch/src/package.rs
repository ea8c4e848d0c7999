//! A package: a network that AOTInductor compiled ahead of time for one kind of machine. Its file
//! is an archive with a library, and with metadata.

use std::{
    ffi::{CString, c_char, c_void},
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _},
    ptr::{self, NonNull},
};

use tch::{Device, Tensor};
use torch_sys::C_tensor;

use crate::{
    device,
    failure::Failure,
    metadata::{self, EXPORT, Metadata},
    shim::{owned_text, shim_result},
};

enum RawPackage {}

unsafe extern "C" {
    fn netdiv_package_find(
        path: *const c_char,
        offset: *mut i64,
        size: *mut u64,
        metadata: *mut *mut c_char,
    ) -> *mut c_char;
    fn netdiv_package_script_id(path: *const c_char, id: *mut *mut c_char) -> *mut c_char;
    fn netdiv_package_load(
        library: *const c_char,
        kind: *const c_char,
        device: *const c_char,
        package: *mut *mut RawPackage,
    ) -> *mut c_char;
    fn netdiv_package_free(package: *mut RawPackage);
    fn netdiv_package_share(
        package: *mut RawPackage,
        names: *const *const c_char,
        tensors: *const *const C_tensor,
        count: usize,
    ) -> *mut c_char;
    fn netdiv_package_run(
        package: *mut RawPackage,
        inputs: *const *const C_tensor,
        count: usize,
        outputs: *mut c_void,
        take: unsafe extern "C" fn(*mut c_void, *mut C_tensor),
    ) -> *mut c_char;
}

/// Ending of a package's file.
const ENDING: &str = ".pt2";

/// Returns true if the path is that of a package.
pub(crate) fn is_package(path: &str) -> bool {
    path.ends_with(ENDING)
}

/// Returns the path of the model file that a package belongs to, beside it; `None` if the path is
/// not that of a package.
pub(crate) fn script_of(path: &str) -> Option<String> {
    path.strip_suffix(ENDING).map(|stem| format!("{stem}.pt"))
}

/// A package on a device.
pub(crate) struct Package(NonNull<RawPackage>);

// SAFETY: a library's functions are bound to no thread.
unsafe impl Send for Package {}
// SAFETY: a run changes only its own tensors; the shim lets the first run, which prepares the
// others, run alone.
unsafe impl Sync for Package {}

impl Package {
    /// Loads the package in a file onto a device, and returns the result of `check` for its metadata
    /// too. Fails if it does not fit this machine or the precision, or if `check` fails.
    pub(crate) fn load<T>(
        path: &str,
        device: Device,
        precision: &str,
        check: impl FnOnce(&Metadata) -> Result<T, Failure>,
    ) -> Result<(Self, T), Failure> {
        let no_package = |why| format!("cannot load the package {path}: {why}; {EXPORT}");
        let file =
            File::open(path).map_err(|error| Failure::refused(no_package(error.to_string())))?;
        // Another file may get this path meanwhile.
        let opened = c_text(&format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let (mut offset, mut size, mut text) = (0, 0, ptr::null_mut());
        // SAFETY: the shim writes both numbers and a new text when it succeeds.
        shim_result(unsafe {
            netdiv_package_find(opened.as_ptr(), &mut offset, &mut size, &mut text)
        })
        .map_err(|error| error.of_file(no_package))?;
        // SAFETY: the text is new.
        let metadata = Metadata::read(&unsafe { owned_text(text) })?;
        metadata.check(precision, device, &device::abilities(device))?;
        let checked = check(&metadata)?;
        let library = in_memory(file, offset as u64, size)
            .map_err(|error| Failure::refused(no_package(error.to_string())))?;
        let place = match device {
            Device::Cuda(index) => format!("cuda:{index}"),
            _ => "cpu".into(),
        };
        let (library, kind) = (c_text(&library)?, c_text(metadata::kind(device))?);
        let (place, mut package) = (c_text(&place)?, ptr::null_mut());
        // SAFETY: the shim writes a new package there when it succeeds.
        shim_result(unsafe {
            netdiv_package_load(library.as_ptr(), kind.as_ptr(), place.as_ptr(), &mut package)
        })
        .map_err(|error| error.of_file(no_package))?;
        let package = NonNull::new(package).map(Self);
        let none = || Failure::failed("libtorch returned no package".into());
        Ok((package.ok_or_else(none)?, checked))
    }

    /// Lets the package use tensors of a model file, by their names there, as its weights. Fails if
    /// one of them is missing.
    pub(crate) fn share(&self, tensors: &[(String, Tensor)]) -> Result<(), Failure> {
        let names: Vec<_> =
            tensors.iter().map(|(name, _)| c_text(name)).collect::<Result<_, _>>()?;
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let tensors: Vec<_> = tensors.iter().map(|(_, tensor)| tensor.as_ptr()).collect();
        // SAFETY: the package is ours; it keeps what it needs of the tensors.
        shim_result(unsafe {
            netdiv_package_share(self.0.as_ptr(), names.as_ptr(), tensors.as_ptr(), names.len())
        })
    }

    /// Runs the package on this thread's current stream. It checks nothing: the inputs must have
    /// the types, shapes and strides that it was compiled for.
    pub(crate) fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, Failure> {
        let inputs: Vec<_> = inputs.iter().map(Tensor::as_ptr).collect();
        let mut outputs: Vec<Tensor> = Vec::new();
        // SAFETY: the package is ours; `take` gets the address of `outputs`.
        shim_result(unsafe {
            let (raw, to) = (self.0.as_ptr(), (&raw mut outputs).cast());
            netdiv_package_run(raw, inputs.as_ptr(), inputs.len(), to, take)
        })?;
        Ok(outputs)
    }
}

/// Adds an output of a package.
unsafe extern "C" fn take(outputs: *mut c_void, output: *mut C_tensor) {
    // SAFETY: `run` passes a vector, and the shim a new tensor.
    unsafe { (*outputs.cast::<Vec<Tensor>>()).push(Tensor::from_ptr(output)) }
}

impl Drop for Package {
    fn drop(&mut self) {
        // SAFETY: it is ours and used no more.
        unsafe { netdiv_package_free(self.0.as_ptr()) }
    }
}

/// Returns the number that identifies the contents of a TorchScript file.
pub(crate) fn script_id(path: &str) -> Result<String, Failure> {
    let (path, mut id) = (c_text(path)?, ptr::null_mut());
    // SAFETY: the shim writes a new text there when it succeeds.
    unsafe {
        shim_result(netdiv_package_script_id(path.as_ptr(), &mut id))?;
        Ok(owned_text(id))
    }
}

/// Copies the library in a package to memory, since the system loads only whole files. Returns its
/// path. No folder contains it, so that nothing is left of it, whatever ends this process.
fn in_memory(mut package: File, offset: u64, size: u64) -> io::Result<String> {
    // SAFETY: the name is a string.
    let descriptor = unsafe { libc::memfd_create(c"netdiv-package".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new.
    let mut library = unsafe { File::from_raw_fd(descriptor) };
    package.seek(SeekFrom::Start(offset))?;
    if io::copy(&mut package.take(size), &mut library)? < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let path = format!("/proc/self/fd/{}", library.as_raw_fd());
    // The descriptor stays open: the system knows libraries by their paths, and would take a later
    // library with the same path for this one.
    let _ = library.into_raw_fd();
    Ok(path)
}

fn c_text(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|error| Failure::refused(format!("{text:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_package_is_refused_with_what_to_do() {
        let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/models/");
        for (name, why) in [
            ("digits.pt", "it contains no compiled library"),
            ("digits.toml", "failed reading zip archive"),
            ("missing.pt2", "missing.pt2"),
        ] {
            let path = format!("{models}{name}");
            let refusal = Package::load(&path, Device::Cpu, "fp32", |_| Ok(())).err().unwrap();
            assert_eq!(refusal.status, netdiv_plugin::abi::REFUSED);
            assert!(refusal.text.contains(why), "{}", refusal.text);
            assert!(refusal.text.contains(EXPORT), "{}", refusal.text);
        }
    }

    #[test]
    fn a_model_file_has_an_id() {
        let id = |name| {
            let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/models/");
            script_id(&format!("{models}{name}")).map_err(|failure| failure.text).unwrap()
        };
        assert_eq!(id("tiny-llama.pt"), id("tiny-llama.pt"));
        assert_ne!(id("tiny-llama.pt"), id("tiny-gptj.pt"));
    }

    #[test]
    fn a_library_in_memory_has_the_bytes_of_the_file_and_no_name() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"before library after").unwrap();
        let package = || File::open(file.path()).unwrap();
        let copy = in_memory(package(), 7, 7).unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), b"library");
        let target = std::fs::read_link(&copy).unwrap();
        assert!(target.to_str().unwrap().starts_with("/memfd:"), "{target:?}");
        assert_ne!(in_memory(package(), 7, 7).unwrap(), copy, "a path of its own");
        assert!(in_memory(package(), 7, 99).is_err());
    }
}
