//! `loadgen-node`: the LoadGen node.

use std::process::ExitCode;

use tracing::error;

fn main() -> ExitCode {
    netdiv_process::start_logging("info", netdiv_process::Lines::All);
    let cli: loadgen_node::Cli = match netdiv_process::parse() {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    match cli.execute() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
