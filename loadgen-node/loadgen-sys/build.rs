//! Compiles the official LoadGen sources, unaltered, together with our shim.
//!
//! Origin of the sources:
//! - `NETDIV_LOADGEN_DIR`: the `loadgen` folder of a checkout of mlcommons/inference, or
//! - `NETDIV_LOADGEN_RELEASE`: one of the pinned releases of the Python package
//!   `mlcommons-loadgen`. Each file of its source distribution was compared with a commit of that
//!   repository. The default is the newest release of the latest round.
//!
//! Nothing is written into the source tree, because LoadGen logs the SHA-1 of its own files.

#![allow(clippy::disallowed_methods, reason = "sources are not a user's text")]

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

const DIR_VARIABLE: &str = "NETDIV_LOADGEN_DIR";
const RELEASE_VARIABLE: &str = "NETDIV_LOADGEN_RELEASE";

/// Release whose source distribution equals a commit of mlcommons/inference in every file.
struct Release {
    version: &'static str,
    commit: &'static str,
    sha256: &'static str,
}

/// Pinned releases, the oldest first.
const RELEASES: [Release; 6] = [
    Release {
        version: "5.0.11",
        commit: "ef1bd3b95e",
        sha256: "fd8d47e89f4da18587b2ee269fc7c35bf37257ad017a86f94519a914d4c6ff45",
    },
    Release {
        version: "5.0.13",
        commit: "be4314b08f",
        sha256: "c58c0877d3d13908aa746f568063746120e7575dae0e05feadee627b712f6ea3",
    },
    Release {
        version: "5.0.22",
        commit: "5c282545dc",
        sha256: "debcae3d1f45d774e76d557805d4dbac5ebc4ff7e0fa91a13a8b4d1a5b537d87",
    },
    Release {
        version: "5.1.1",
        commit: "0e556f1cfc",
        sha256: "4059adc2c3cf3655d605f90c510aaf49bf5017fba7c0d85501bc22a90794e4f9",
    },
    Release {
        version: "6.0.10",
        commit: "0b4aa6f62e",
        sha256: "dab6b573b1177f8a8931a763635761380cac6a9ec1f79a703c98315c1901a3ee",
    },
    Release {
        version: "6.0.17",
        commit: "d6147c7eb7",
        sha256: "a2e85d09e3cc0c606f89bfe1fbf97537c8b5b238ae0afbd923ad9c710fcf2ca8",
    },
];

const SOURCES: [&str; 8] = [
    "early_stopping.cc",
    "issue_query_controller.cc",
    "loadgen.cc",
    "logging.cc",
    "results.cc",
    "test_settings_internal.cc",
    "utils.cc",
    "version.cc",
];

fn main() {
    if let Err(error) = build() {
        // Cargo shows this line first; the panic of an unwrap would bury it.
        println!("cargo::error={}", error.to_string().replace('\n', " "));
        std::process::exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-env-changed={DIR_VARIABLE}");
    println!("cargo::rerun-if-env-changed={RELEASE_VARIABLE}");

    let out = PathBuf::from(env::var("OUT_DIR")?);
    let (sources, origin) = match env::var_os(DIR_VARIABLE) {
        Some(dir) => (checkout(Path::new(&dir))?, "a checkout of the user's".to_owned()),
        None => release(&out)?,
    };
    let generated = generated_files(&sources, &out, env::var_os(DIR_VARIABLE).is_some())?;
    compile(&sources, &generated)?;
    println!("cargo::rustc-env=NETDIV_LOADGEN_ORIGIN={origin}");
    println!("cargo::rustc-env=NETDIV_LOADGEN_RELEASES={}", RELEASES.map(|r| r.version).join(" "));
    Ok(())
}

/// Returns the sources in the user's checkout.
fn checkout(dir: &Path) -> Result<PathBuf, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", dir.display());
    for file in ["HEAD", "index"].map(|name| dir.join("../.git").join(name)) {
        // A commit changes what LoadGen logs about its sources.
        if file.is_file() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    if dir.join("loadgen.cc").is_file() {
        return Ok(dir.canonicalize()?);
    }
    Err(format!(
        "{DIR_VARIABLE}={} holds no loadgen.cc; name the `loadgen` folder of a checkout of \
         mlcommons/inference",
        dir.display()
    )
    .into())
}

/// Returns the sources of a pinned release, from the cache or from the Python package index, and
/// their origin.
fn release(out: &Path) -> Result<(PathBuf, String), Box<dyn Error>> {
    let wanted =
        env::var(RELEASE_VARIABLE).unwrap_or_else(|_| RELEASES[RELEASES.len() - 1].version.into());
    let release = RELEASES.iter().find(|r| r.version == wanted).ok_or_else(|| {
        let known: Vec<_> = RELEASES.iter().map(|r| r.version).collect();
        format!("{RELEASE_VARIABLE}={wanted} is not pinned; choose one of {}", known.join(", "))
    })?;
    let archive = cached_archive(release)?;
    let unpacked = out.join("source");
    let _ = fs::remove_dir_all(&unpacked);
    fs::create_dir_all(&unpacked)?;
    let mut tar = Command::new("tar");
    run(tar.arg("-xzf").arg(&archive).arg("-C").arg(&unpacked))?;
    let sources = unpacked.join(format!("mlcommons_loadgen-{}", release.version));
    let Release { version, commit, .. } = release;
    let origin = format!("mlcommons-loadgen {version} (equals commit {commit})");
    Ok((sources, origin))
}

/// Returns the verified source distribution, which is downloaded on first use.
fn cached_archive(release: &Release) -> Result<PathBuf, Box<dyn Error>> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("netdiv");
    fs::create_dir_all(&cache)?;
    let archive = cache.join(format!("mlcommons_loadgen-{}.tar.gz", release.version));
    if archive.is_file() && verify(&archive, release).is_ok() {
        return Ok(archive);
    }
    let package = format!("mlcommons-loadgen=={}", release.version);
    // pip runs the package's build script for its metadata; the hash is checked before that.
    let requirement = cache.join(format!("{package}.txt"));
    fs::write(&requirement, format!("{package} --hash=sha256:{}\n", release.sha256))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"])
        .args(["--require-hashes", "--no-binary", ":all:", "--requirement"])
        .arg(&requirement)
        .arg("--dest")
        .arg(&cache);
    run(&mut pip).map_err(|error| {
        format!(
            "the LoadGen sources are missing. Either connect to a Python package index, so that \
             `pip download {package}` works, or set {DIR_VARIABLE} to the `loadgen` folder of a \
             checkout of mlcommons/inference at commit {}. ({error})",
            release.commit
        )
    })?;
    verify(&archive, release)?;
    Ok(archive)
}

fn verify(archive: &Path, release: &Release) -> Result<(), Box<dyn Error>> {
    let digest = Sha256::digest(fs::read(archive)?);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    if digest == release.sha256 {
        return Ok(());
    }
    let (archive, want) = (archive.display(), release.sha256);
    Err(format!("{archive} has SHA-256 {digest}, expected {want}; delete it and build again")
        .into())
}

/// Creates the two files that LoadGen's own build generates, unless the source tree contains them.
/// Returns the folder to include and the version file to compile.
fn generated_files(
    sources: &Path,
    out: &Path,
    is_checkout: bool,
) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let folder = out.join("generated");
    fs::create_dir_all(&folder)?;
    if !sources.join("mlperf_conf.h").is_file() {
        let conf = fs::read_to_string(sources.join("mlperf.conf"))?;
        let escaped = conf.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n\"\n\"");
        let header = format!("const char* mlperf_conf =\n\"{escaped}\";\n");
        fs::write(folder.join("mlperf_conf.h"), header)?;
    }
    let shipped = sources.join("generated/version_generated.cc");
    // In a checkout, this file is left over from another build, possibly of other sources.
    if shipped.is_file() && !is_checkout {
        return Ok((folder, shipped));
    }
    let version = folder.join("version_generated.cc");
    let mut python = Command::new("python3");
    let generator = sources.join("version_generator.py");
    // The generator asks git about its working folder.
    run(python.arg("-B").arg(generator).arg(&version).arg(sources).current_dir(sources))?;
    Ok((folder, version))
}

fn compile(sources: &Path, generated: &(PathBuf, PathBuf)) -> Result<(), Box<dyn Error>> {
    let version = fs::read_to_string(sources.join("VERSION.txt"))?;
    let mut numbers = version.trim().split('.');
    let shim = Path::new("shim").canonicalize()?;
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // LoadGen's own build asks for -O3, whatever the profile.
        .opt_level(3)
        .debug(false)
        .warnings(false)
        .include(sources)
        .include(&generated.0)
        .define("MAJOR_VERSION", numbers.next().unwrap_or("0"))
        .define("MINOR_VERSION", numbers.next().unwrap_or("0"))
        // Every line of LoadGen's log names its source file: keep the build machine's paths out.
        .flag(format!("-ffile-prefix-map={}=loadgen", sources.display()))
        .flag(format!("-ffile-prefix-map={}=loadgen-sys", shim.display()))
        .files(SOURCES.iter().map(|name| sources.join(name)))
        .file(&generated.1)
        .file(shim.join("shim.cc"));
    build.try_compile("netdiv_loadgen")?;
    Ok(())
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot start {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("{program}: {last}"))
}
