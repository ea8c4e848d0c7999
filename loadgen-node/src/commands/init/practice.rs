//! Settings files for a benchmark of the demo, to practise on it.

use std::path::Path;

use netdiv_node_common::sanitise::shell_word;
use netdiv_rules::{
    Scenario,
    template::{NODE, RUN, USER_CONF},
};

/// A benchmark of the demo, and the engine whose embedded model runs it.
pub(super) struct Practice {
    benchmark: &'static str,
    engine: &'static str,
    /// LoadGen's settings; empty: those that `run` has for the benchmark.
    user_conf: &'static str,
}

const BENCHMARKS: [Practice; 2] = [
    Practice {
        benchmark: netdiv_dataset::DIGITS,
        engine: "onnx",
        user_conf: include_str!("../../../../deploy/digits/user.conf"),
    },
    Practice { benchmark: netdiv_dataset::SORTING, engine: "decoder", user_conf: "" },
];

/// Returns the names and texts of the settings files. `nodes` is a list in TOML, `listen` an
/// address.
pub(super) fn files(
    practice: &Practice,
    scenario: Scenario,
    nodes: &str,
    listen: &str,
) -> Vec<(&'static str, String)> {
    let Practice { benchmark, engine, user_conf } = practice;
    let has_conf = !user_conf.is_empty();
    let conf = if has_conf { format!("user_conf = \"{USER_CONF}\"\n") } else { String::new() };
    let run = format!(
        "# Settings of loadgen-node run --config {RUN}, for practice on the demo's benchmark.\n\
         benchmark = \"{benchmark}\"\nscenario = \"{scenario}\"\nnodes = {nodes}\n{conf}"
    );
    let node = format!(
        "# Settings of sut-node --config {NODE}. The model is part of the program.\n\
         listen = \"{listen}\"\nengine = \"{engine}\"\nmodel = \"{benchmark}\"\n"
    );
    let mut files = vec![(RUN, run), (NODE, node)];
    files.extend(has_conf.then(|| (USER_CONF, (*user_conf).to_owned())));
    files
}

/// Returns the next commands.
pub(super) fn next_steps(folder: &Path, scenario: Scenario) -> String {
    let run = format!("loadgen-node run --config {RUN}");
    [
        format!("{RUN} and {NODE} are in {}. Next steps:", folder.display()),
        String::new(),
        format!("cd {}", shell_word(&folder.to_string_lossy())),
        format!("sut-node --config {NODE}    # on each node"),
        format!("loadgen-node probe --config {RUN}    # one sample to every node"),
        format!("{run} --mode accuracy --output runs/{scenario}/accuracy"),
        format!("{run} --output runs/{scenario}/performance"),
        format!("loadgen-node report runs/{scenario}/performance"),
        format!("loadgen-node check runs/{scenario}/performance    # what a submission would lack"),
    ]
    .join("\n")
}

/// Returns the benchmark of the demo with this name; `None` if there is no such benchmark.
pub(super) fn find(benchmark: &str) -> Option<&'static Practice> {
    BENCHMARKS.iter().find(|practice| practice.benchmark == benchmark)
}
