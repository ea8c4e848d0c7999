//! `sut-node`: the program of a SUT node.

use std::process::ExitCode;

fn main() -> ExitCode {
    sut_node::main_with(std::env::args_os(), env!("NETDIV_VERSION"))
}
