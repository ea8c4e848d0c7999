//! Runs the target that the variable `FUZZ_TARGET` names under libFuzzer.

#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fuzz_targets::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz_targets::find(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name}: no such target"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.1)(data));
