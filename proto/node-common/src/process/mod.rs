//! Process of both programs: settings from a file and the command line, logging, signals, cores.

mod command_line;
mod documents;
mod kept_log;
mod log_format;
mod logging;
mod rate_limit;
mod sanitising_writer;
mod settings;
mod settings_file;
mod shell;
mod signals;
mod terminal;
mod units;

use std::io::{self, Write as _};

use crate::sanitise::printable;
pub use command_line::{OTHER_VARIABLES, command, parse, program};
pub use documents::with_page_paths;
pub use kept_log::{keep_log, last_of_log, release_log, show_below_log};
pub use log_format::{LogArgs, LogFormat};
pub use logging::{Lines, LogGuard, report_usage_error, start_logging};
pub use settings::{CommandSettings, parse_keys, read_settings, with_absolute_paths};
pub use settings_file::{Keys, Replace, SettingsError, absolute, unknown_key};
pub use shell::ShellCommand;
pub use signals::{Signal, Signals, on_hangup, wait_for_stop_signal};
pub use terminal::{columns, fold_tables};
pub use units::{ByteCount, TimeSpan};

/// Prints lines to standard output, with the paths of pages, and with unprintable characters such as
/// a peer's control characters escaped. A closed pipe is not an error, because the reader may have
/// ended.
pub fn say(text: impl std::fmt::Display) -> io::Result<()> {
    match writeln!(io::stdout(), "{}", printable(&with_page_paths(&text.to_string()))) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Binds the calling thread to a core: thread `number` to the core with that index, modulo the
/// number of cores. Without cores the thread may run on any core.
pub fn pin(cores: &[usize], number: usize) {
    if let Some(core) = cores.get(number % cores.len().max(1)) {
        core_affinity::set_for_current(core_affinity::CoreId { id: *core });
    }
}

/// Checks that this process may run on these cores.
pub fn check_cores(cores: &[usize]) -> Result<(), String> {
    let allowed = core_affinity::get_core_ids().unwrap_or_default();
    match cores.iter().find(|core| !allowed.iter().any(|allowed| allowed.id == **core)) {
        None => Ok(()),
        Some(core) => {
            let ids: Vec<_> = allowed.iter().map(|core| core.id.to_string()).collect();
            Err(format!("this process may not use core {core}, only: {}", ids.join(", ")))
        }
    }
}
