//! `loadgen-node`: the LoadGen node.

use std::process::ExitCode;

fn main() -> ExitCode {
    loadgen_node::main(None).map_or_else(|refused| refused, ExitCode::from)
}
