//! `loadgen-node`: the LoadGen node.

use std::process::ExitCode;

use tracing::error;

fn main() -> ExitCode {
    let _logging = match netdiv_process::start_logging("info", netdiv_process::Lines::All) {
        Ok(logging) => logging,
        Err(code) => return code,
    };
    let cli: loadgen_node::Cli = match netdiv_process::parse() {
        Ok(cli) => cli,
        Err(error) => return netdiv_process::refused(&error),
    };
    match cli.execute() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
