//! Names of variables of the environment.

/// What the names begin with.
pub(crate) const PREFIX: &str = "NETDIV_";

/// The environment variable of an option or a key.
pub(crate) fn variable(option: &str) -> String {
    format!("{PREFIX}{}", option.to_uppercase().replace('-', "_"))
}

/// Variables of that kind of name that are no options, but mean something to a build, a test, libtorch, or the evidence.
pub(crate) const OTHER_VARIABLES: [&str; 13] = [
    "NETDIV_CONTAINER_IMAGE",
    "NETDIV_DIAGRAM_OUT",
    "NETDIV_FAULT",
    "NETDIV_KEEP_TREE",
    "NETDIV_LOADGEN_DIR",
    "NETDIV_LOADGEN_ORIGIN",
    "NETDIV_LOADGEN_RELEASE",
    "NETDIV_RULES_TEXT",
    "NETDIV_SEED",
    "NETDIV_TEST_TRANSPORT",
    "NETDIV_TORCH_CUDNN_ATTENTION",
    "NETDIV_TORCH_FUSER",
    "NETDIV_TREE_OUT",
];

/// What is asked of a program once, and never by its environment.
pub(crate) const ASKED_ONCE: [&str; 5] = ["help", "help-all", "version", "print-config", "json"];

/// Options of one program that look like a slip in one of the other's.
pub(crate) const ALIKE: [&str; 2] = ["NETDIV_MODE", "NETDIV_MODEL"];
