//! Tests of plug-ins in files: libraries that are built from C as a submitter builds them, and
//! files that are not plug-ins.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use netdiv_plugin::{Plugin, PluginError, abi, preload};

/// Source of a plug-in whose table has no functions.
const TABLE: &str = r#"
#include "netdiv_engine.h"
static const netdiv_engine table = {
    NETDIV_ENGINE_ABI, sizeof(netdiv_engine), sizeof(netdiv_tensor), 0, "tiny", "tiny 1",
};
_Static_assert(sizeof(netdiv_token_settings) == SETTINGS, "netdiv_token_settings");
_Static_assert(sizeof(netdiv_token_room) == ROOM, "netdiv_token_room");
_Static_assert(sizeof(netdiv_token_event) == EVENT, "netdiv_token_event");
_Static_assert(sizeof(netdiv_token_engine) == TOKENS, "netdiv_token_engine");
const netdiv_engine *netdiv_engine_plugin(uint32_t abi) { (void)abi; return &table; }
"#;

/// Builds a shared library from C.
fn build(folder: &Path, source: &str) -> PathBuf {
    let (from, to) = (folder.join("plugin.c"), folder.join("plugin.so"));
    std::fs::write(&from, source).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-Wno-missing-field-initializers", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(format!("-DSETTINGS={}", size_of::<abi::TokenSettings>()))
        .arg(format!("-DROOM={}", size_of::<abi::TokenRoom>()))
        .arg(format!("-DEVENT={}", size_of::<abi::TokenEvent>()))
        .arg(format!("-DTOKENS={}", size_of::<abi::TokenEngine>()))
        .args([&from, Path::new("-o"), &to])
        .output()
        .expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    to
}

fn opened(source: &str) -> PluginError {
    let folder = tempfile::tempdir().unwrap();
    Plugin::open(&build(folder.path(), source)).unwrap_err()
}

/// The header's structs have the same size in C and in Rust: the first error of this plug-in is a
/// missing function.
#[test]
fn a_table_of_the_header_has_the_right_sizes() {
    let error = opened(TABLE);
    assert!(error.to_string().contains("its `devices` is null"), "{error}");
}

#[test]
fn a_library_without_the_entry_is_not_a_plugin() {
    let error = opened("int netdiv_engine_plugins = 1;");
    assert!(error.to_string().contains("does not export netdiv_engine_plugin"), "{error}");
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let missing = Plugin::open(Path::new("/nowhere/libmine.so")).unwrap_err().to_string();
    assert!(missing.contains("cannot load /nowhere/libmine.so"), "{missing}");
    assert!(missing.contains("No such file"), "{missing}");
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    for error in [Plugin::open(&text).unwrap_err(), preload(&text).unwrap_err()] {
        assert!(matches!(error, PluginError::Unloadable { .. }), "{error}");
    }
    // The system would block on a pipe for ever.
    for error in
        [Plugin::open("/dev/zero".as_ref()).unwrap_err(), preload(folder.path()).unwrap_err()]
    {
        assert!(error.to_string().contains("name a regular file"), "{error}");
    }
    // An undefined symbol is detected when the library is loaded, not in the middle of a run.
    let error = opened("extern int missing(void); int ask(void) { return missing(); }");
    assert!(error.to_string().contains("missing"), "{error}");
}
