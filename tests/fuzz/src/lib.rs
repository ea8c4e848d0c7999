//! Readers of foreign data, as functions of hostile bytes from the network or from files. Each must
//! return, with a correct result; a panic is a finding.
//!
//! `make test` runs each on its corpus and on mutations of it; `make fuzz MINUTES=n` runs each
//! under libFuzzer, which follows code coverage.

mod answers;
mod input;
mod payloads;
mod run_folders;
mod samples;
mod served;
mod settings;
mod streams;
mod submissions;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 19] = [
    ("requests", streams::requests),
    ("responses", streams::responses),
    ("call_headers", streams::call_headers),
    ("answers", answers::answers),
    ("encodings", payloads::encodings),
    ("layouts", payloads::layouts),
    ("probes", payloads::probes),
    ("samples", samples::samples),
    ("images", samples::images),
    ("arrays", samples::arrays),
    ("settings", settings::settings),
    ("nodes", settings::nodes),
    ("manifests", settings::manifests),
    ("evidence", settings::evidence),
    ("secrets", settings::secrets),
    ("served_answers", served::answers),
    ("served_streams", served::streams),
    ("run_folders", run_folders::run_folders),
    ("submissions", submissions::submissions),
];

/// Returns the target with this name.
pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|(known, _)| *known == name)
}
