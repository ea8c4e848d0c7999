//! Finds and loads libtorch. The node does not link it, because only the engine `torch` needs it.

use std::{
    env, iter,
    path::{Path, PathBuf},
    process::Command,
};

use netdiv_plugin::{Plugin, PluginError, preload};
use tracing::{debug, info, warn};

use crate::ground::error::EngineError;

/// Name of the plug-in's file, in the folder of the program or one folder up.
const PLUGIN: &str = "libnetdiv_engine_torch.so";

/// Python program that prints torch's folder without loading torch.
const ASK_PYTHON: &str = "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')";

/// Libraries of CUDA that cuDNN opens by these names, with a version, when it compiles an
/// operation. cuDNN searches no particular folder. Each library needs those before it. Python's
/// torch loads them first, too.
const COMPILERS: [&str; 3] = ["libnvrtc-builtins.so.", "libnvrtc.so.", "libnvJitLink.so."];

/// Folders with CUDA's libraries in Python packages, relative to libtorch's folder in the package
/// torch. The first folder has those of CUDA 13, the others have those of CUDA 12.
const PYTHONS_CUDA: [&str; 3] =
    ["../../nvidia/cu13/lib", "../../nvidia/cuda_nvrtc/lib", "../../nvidia/nvjitlink/lib"];

/// Beginning of the version of libtorch that the plug-in is built for. Other versions have another
/// layout in memory.
const VERSION: &str = "2.11.";

/// Loads libtorch and the plug-in that uses it. Returns the plug-in, and libtorch's folder.
/// `chosen` is the folder that the operator chose.
pub(super) fn open(chosen: Option<&Path>) -> Result<(Plugin, PathBuf), EngineError> {
    let plugin = plugin_file()?;
    let folder = find(chosen)?;
    preload_libraries(&folder)?;
    info!(libtorch = %folder.display(), "loaded");
    let plugin = Plugin::open(&plugin).map_err(|error| match error {
        PluginError::Unloadable { path, why } if why.contains("undefined symbol") => {
            let folder = folder.display();
            EngineError::Start(format!(
                "{} is incompatible with the libtorch in {folder}; it requires version {VERSION}x ({why})",
                path.display()
            ))
        }
        error => error.into(),
    })?;
    Ok((plugin, folder))
}

/// Loads libtorch and its CUDA part, if present. The CUDA part must be loaded before its first use,
/// because libtorch remembers whether it was there.
fn preload_libraries(folder: &Path) -> Result<(), EngineError> {
    preload(&folder.join("libtorch_cpu.so"))?;
    let cuda = folder.join("libtorch_cuda.so");
    if !cuda.is_file() {
        return Ok(());
    }
    let packages = PYTHONS_CUDA.map(|packages| folder.join(packages));
    for name in COMPILERS {
        let found = iter::once(folder).chain(packages.iter().map(PathBuf::as_path));
        let Some(file) = found.filter_map(|folder| first_named(folder, name)).next() else {
            debug!(name, "not found beside libtorch; using the system's, if any");
            continue;
        };
        match preload(&file) {
            Ok(()) => debug!(library = %file.display(), "loaded"),
            Err(error) => warn!(%error, "operations that cuDNN compiles may fail"),
        }
    }
    if let Err(error) = preload(&cuda) {
        warn!(%error, "cannot load the CUDA part of libtorch; CUDA devices are unavailable");
    }
    Ok(())
}

/// Returns the file of a folder whose name begins with `start`. If there are several, returns the
/// alphabetically first.
fn first_named(folder: &Path, start: &str) -> Option<PathBuf> {
    let files = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    files.filter(is_named).min()
}

/// Fails if libtorch has another version than [`VERSION`]. A release states its version in
/// `build-version`, Python's package in `version.py`.
fn check_version(folder: &Path) -> Result<(), EngineError> {
    let root = folder.parent().unwrap_or(folder);
    let read = |file| netdiv_node_common::resources::files::read_text(&root.join(file)).ok();
    let version =
        read("build-version").or_else(|| read("version.py").and_then(|text| python_version(&text)));
    match version {
        Some(version) if version.starts_with(VERSION) => Ok(()),
        Some(version) => Err(EngineError::Start(format!(
            "the libtorch in {} is version {}, but the plug-in requires {VERSION}x",
            folder.display(),
            version.trim()
        ))),
        None => {
            warn!(libtorch = %folder.display(), "the version of libtorch is unknown; it must be {VERSION}x");
            Ok(())
        }
    }
}

/// Returns the version that a `version.py` sets: `__version__ = '2.11.0+cu130'`.
fn python_version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("__version__"))?;
    line.split(['\'', '"']).nth(1).map(ToOwned::to_owned)
}

/// Returns the folder that holds `libtorch_cpu.so`. The operator's folder (`chosen`, or else the
/// variable LIBTORCH) has precedence; without one, returns the first usable folder.
fn find(chosen: Option<&Path>) -> Result<PathBuf, EngineError> {
    let named =
        chosen.map(Path::to_path_buf).or_else(|| env::var_os("LIBTORCH").map(PathBuf::from));
    if let Some(folder) = named {
        return usable(&folder);
    }
    let mut why_not = Vec::new();
    for folder in python_torch_folder().into_iter().chain(find_beside_program("libtorch")) {
        match usable(&folder) {
            Ok(found) => {
                for why in &why_not {
                    warn!(libtorch = %found.display(), "using this libtorch; skipped another one: {why}");
                }
                return Ok(found);
            }
            Err(error) => why_not.push(error.to_string()),
        }
    }
    if why_not.is_empty() {
        why_not.push("python3 has no torch".into());
    }
    Err(EngineError::Start(format!(
        "there is no libtorch: {}; pass --libtorch DIR, set LIBTORCH, or run `pip install torch==2.11.0`",
        why_not.join("; ")
    )))
}

/// Returns the subfolder `lib` if it holds libtorch, or else the folder itself. Fails if neither
/// holds libtorch, or if its version is not the required one.
pub(super) fn usable(folder: &Path) -> Result<PathBuf, EngineError> {
    let found = [folder.join("lib"), folder.to_path_buf()]
        .into_iter()
        .find(|folder| folder.join("libtorch_cpu.so").is_file());
    let found = found.ok_or_else(|| {
        EngineError::Start(format!("{} has no libtorch_cpu.so", folder.display()))
    })?;
    check_version(&found)?;
    Ok(found)
}

fn python_torch_folder() -> Option<PathBuf> {
    let answer = Command::new("python3").args(["-c", ASK_PYTHON]).output().ok()?;
    let folder = String::from_utf8(answer.stdout).ok()?;
    Some(folder.trim()).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Returns the path of a file beside the program, or one folder up. Tests run one folder below the
/// plug-in, and `make` links libtorch one folder above.
fn find_beside_program(name: &str) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let mut folders = program.ancestors().skip(1).take(2);
    folders.find_map(|folder| Some(folder.join(name)).filter(|found| found.exists()))
}

fn plugin_file() -> Result<PathBuf, EngineError> {
    find_beside_program(PLUGIN).ok_or_else(|| {
        let program = env::current_exe().unwrap_or_default();
        let beside = program.parent().unwrap_or(Path::new("")).display();
        EngineError::Start(format!(
            "{PLUGIN} is not in {beside}; copy it there from a release's tarball or from a build"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `version.py` of torch 2.11.0+cu130 from the Python package index.
    const VERSION_PY: &str =
        "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
";

    /// Creates a folder like Python's torch, or like a release, with a version file.
    fn torch(file: &str, text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        std::fs::write(folder.path().join("lib/libtorch_cpu.so"), "").unwrap();
        std::fs::write(folder.path().join(file), text).unwrap();
        folder
    }

    /// Creates a folder of Python packages with stub libraries. Each stub appends its name to a
    /// file when it is loaded.
    fn packages(stubs: &[&str]) -> tempfile::TempDir {
        let packages = tempfile::tempdir().unwrap();
        let trace = packages.path().join("trace");
        std::fs::write(&trace, "").unwrap();
        let source = packages.path().join("stub.c");
        let code = "#include <stdio.h>
            __attribute__((constructor)) static void note(void) {
                FILE *trace = fopen(TRACE, \"a\");
                fprintf(trace, \"%s\\n\", NAME);
                fclose(trace);
            }";
        std::fs::write(&source, code).unwrap();
        for stub in stubs {
            let file = packages.path().join(stub);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            let built = Command::new("cc")
                .args(["-shared", "-fPIC", &format!("-DNAME=\"{name}\"")])
                .arg(format!("-DTRACE=\"{}\"", trace.display()))
                .args([source.as_os_str(), "-o".as_ref(), file.as_os_str()])
                .status();
            assert!(built.unwrap().success(), "there is a C compiler");
        }
        packages
    }

    /// Returns the loaded libraries, in order.
    fn loaded(packages: &tempfile::TempDir) -> Vec<String> {
        preload_libraries(&packages.path().join("torch/lib")).unwrap();
        let trace = std::fs::read_to_string(packages.path().join("trace")).unwrap();
        trace.lines().map(ToOwned::to_owned).collect()
    }

    const LIBTORCH: [&str; 2] = ["torch/lib/libtorch_cpu.so", "torch/lib/libtorch_cuda.so"];

    /// Names in PyPI's packages of CUDA 13 and of CUDA 12.8.
    const CUDA_13: [&str; 3] =
        ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13", "libnvJitLink.so.13"];
    const CUDA_12: [&str; 3] =
        ["libnvrtc-builtins.so.12.8", "libnvrtc.so.12", "libnvJitLink.so.12"];

    #[test]
    fn compilers_are_loaded_between_libtorch_and_its_cuda_part() {
        for (names, folders) in [
            (CUDA_13, ["torch/lib"; 3]),
            (CUDA_13, ["nvidia/cu13/lib"; 3]),
            (CUDA_12, ["nvidia/cuda_nvrtc/lib", "nvidia/cuda_nvrtc/lib", "nvidia/nvjitlink/lib"]),
        ] {
            let expected = [&["libtorch_cpu.so"][..], &names, &["libtorch_cuda.so"]].concat();
            let stubs: Vec<_> = names
                .iter()
                .zip(folders)
                .map(|(name, folder)| format!("{folder}/{name}"))
                .collect();
            let stubs = stubs.iter().map(String::as_str).chain(LIBTORCH).collect::<Vec<_>>();
            assert_eq!(loaded(&packages(&stubs)), expected, "{folders:?}");
        }
    }

    #[test]
    fn compilers_that_are_missing_or_broken_are_passed_over() {
        let names = |paths: &[&str]| {
            paths.iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(loaded(&packages(&LIBTORCH)), names(&LIBTORCH));
        let some = [LIBTORCH[0], "nvidia/cu13/lib/libnvJitLink.so.13", LIBTORCH[1]];
        let packages = packages(&some);
        std::fs::write(packages.path().join("torch/lib/libnvrtc.so.13"), "no library").unwrap();
        assert_eq!(loaded(&packages), names(&some));
    }

    #[test]
    fn a_libtorch_without_cuda_needs_no_compiler() {
        let stubs = [LIBTORCH[0], "torch/lib/libnvrtc.so.13"];
        assert_eq!(loaded(&packages(&stubs)), ["libtorch_cpu.so"]);
    }

    #[test]
    fn a_version_is_read_as_python_would() {
        for (text, want) in [
            (VERSION_PY, Some("2.11.0+cu130")),
            ("__version__ = \"2.9.1\"\ndebug = False\n", Some("2.9.1")),
            ("__version__: str = '2.11.0'\n", Some("2.11.0")),
            ("__all__ = ['__version__']\ngit_version = 'x'\n", None),
            ("__version__ = version()", None),
            ("", None),
        ] {
            assert_eq!(python_version(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn pythons_torch_is_taken_in_its_version_and_refused_in_another() {
        let same = torch("version.py", VERSION_PY);
        assert_eq!(usable(same.path()).unwrap(), same.path().join("lib"));
        let release = torch("build-version", "2.11.0+cpu\n");
        assert!(usable(release.path()).is_ok());
        for other in [
            torch("version.py", &VERSION_PY.replace("2.11.0+cu130", "2.12.0+cu130")),
            torch("build-version", "2.12.0+cu130\n"),
        ] {
            let error = usable(other.path()).unwrap_err().to_string();
            assert!(
                error.contains("is version 2.12.0+cu130, but the plug-in requires 2.11.x"),
                "{error}"
            );
        }
    }
}
