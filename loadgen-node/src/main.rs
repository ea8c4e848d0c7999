//! `loadgen-node`: the LoadGen node.

use std::process::ExitCode;

use tracing::error;

fn main() -> ExitCode {
    let logging = match netdiv_process::start_logging("info", netdiv_process::Lines::All) {
        Ok(logging) => logging,
        Err(code) => return code,
    };
    let cli: loadgen_node::Cli = match netdiv_process::parse() {
        Ok(cli) => cli,
        Err(error) => return netdiv_process::refused(&error),
    };
    let code = cli.execute().unwrap_or_else(|error| {
        error!("{error}");
        error.exit_code()
    });
    drop(logging);
    #[cfg(feature = "in-process")]
    if sut_node::is_device_lost() {
        sut_node::end_without_destructors(code);
    }
    ExitCode::from(code)
}
