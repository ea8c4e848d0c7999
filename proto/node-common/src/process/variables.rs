//! Names of environment variables.

/// Prefix of the environment variables that set options.
pub(crate) const PREFIX: &str = "NETDIV_";

/// Returns the environment variable of an option or a key.
pub(crate) fn variable(option: &str) -> String {
    format!("{PREFIX}{}", option.to_uppercase().replace('-', "_"))
}

/// Variables with the prefix that are not options, but have a meaning for a build, a test,
/// libtorch, or the evidence.
pub(crate) const OTHER_VARIABLES: [&str; 12] = [
    "NETDIV_CONTAINER_IMAGE",
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

/// Options that request a single action, and have no environment variable.
pub(crate) const ASKED_ONCE: [&str; 6] =
    ["check", "help", "help-all", "version", "print-config", "json"];

/// Variables of one program that resemble a misspelt option of the other program. They are not
/// refused.
pub(crate) const SIMILAR_VARIABLES: [&str; 2] = ["NETDIV_MODE", "NETDIV_MODEL"];
