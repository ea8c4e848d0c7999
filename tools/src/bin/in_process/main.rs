//! `netdiv-in-process`: `loadgen-node` with the engines of a SUT node in the same process.
//! `loadgen-node run --in-process` and `loadgen-node tax` start it. Such a run shows the cost of
//! the network, and is not a run of the Network division.

mod samples;
mod system;

use std::process::ExitCode;

use loadgen_node::InProcessEngines;

fn main() -> ExitCode {
    let in_process = InProcessEngines { check: system::check, start: system::start };
    let code = match loadgen_node::main(Some(in_process)) {
        Ok(code) => code,
        Err(refused) => return refused,
    };
    if netdiv_plugin::is_device_lost() {
        netdiv_plugin::end_without_destructors(code);
    }
    ExitCode::from(code)
}
