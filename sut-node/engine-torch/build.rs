//! Compiles the shim against the libtorch that torch-sys has found.

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=shim");
    // torch-sys exports libtorch's folder `lib`.
    let lib = PathBuf::from(env::var("DEP_TCH_LIBTORCH_LIB")?);
    // The unit tests link libtorch. A node loads it before the plug-in: a release needs no path.
    let rpath = env::var("LIBTORCH_RPATH").unwrap_or_else(|_| lib.display().to_string());
    println!("cargo:rustc-link-arg=-Wl,-rpath,{rpath}");
    let include = lib.parent().ok_or("libtorch's lib has no parent folder")?.join("include");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // libtorch's headers cause warnings.
        .warnings(false)
        .include(&include)
        .files(["shim/shim.cc", "shim/package.cc"])
        .compile("netdiv_torch_shim");
    Ok(())
}
