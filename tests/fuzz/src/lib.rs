//! Every reader of data from others, as a function of hostile bytes, from the network or from files. Each must return, and its
//! result must be true; a panic is a finding.
//!
//! `make test` runs each on its corpus and on mutations of it; `make fuzz MINUTES=n` runs each under libFuzzer, which
//! follows the branches that are taken.

mod answers;
mod arrays;
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

/// All of them.
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
    ("arrays", arrays::arrays),
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

/// Runs the target of that name; libFuzzer's programs have no more than this in them.
pub fn run(name: &str, data: &[u8]) {
    TARGETS.iter().filter(|(known, _)| *known == name).for_each(|(_, target)| target(data));
}
