//! The process side of both programs: settings from a file and the command line, logging, signals, cores.

mod command_line;
mod given;
mod limited;
mod old_keys;
mod settings;
mod shell;
mod shown;
mod signals;
mod units;

use std::io::{self, IsTerminal as _, Write as _};

pub use command_line::{command, parse, variable, variables};
pub use given::SettingsFile;
use netdiv_contract::said::printable;
pub use old_keys::renew;
pub use settings::{SettingsError, layered};
pub use shell::ShellCommand;
pub use signals::{Signal, Signals};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::{EnvFilter, fmt::format::Format};
pub use units::{ByteCount, TimeSpan};

use limited::{Limited, Places};
use shown::Shown;

/// How much a process may log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Everything: the lines are what the program has to say, and it ends after them.
    All,
    /// A few lines a second from each place in the code: others decide what happens, for as long as the process lives.
    FewASecond,
}

/// The log, until the process ends: what it still has to say, it says when this is dropped.
#[derive(Debug)]
pub struct Logging(Option<Places>);

impl Drop for Logging {
    fn drop(&mut self) {
        if let Some(places) = &self.0 {
            places.say_left_out();
        }
    }
}

/// Starts logging to standard error: sentences with key-values. `RUST_LOG` overrides the level.
pub fn start_logging(default_level: &str, lines: Lines) -> Logging {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = io::stderr().is_terminal();
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Shown { to: io::stderr(), colours })
        .with_ansi(colours)
        // It would panic if standard error is closed.
        .log_internal_errors(false);
    match lines {
        Lines::All => {
            logging.init();
            Logging(None)
        }
        Lines::FewASecond => {
            let limited = Limited::new(Format::default());
            let places = limited.places();
            logging.event_format(limited).init();
            places.count_aloud();
            Logging(Some(places))
        }
    }
}

/// Prints lines to standard output; what is not shown, such as a peer's control characters, is escaped. A closed pipe
/// is not an error: the reader may have ended.
pub fn say(text: impl std::fmt::Display) -> io::Result<()> {
    match writeln!(io::stdout(), "{}", printable(&text.to_string())) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Waits until the process is asked to end; returns the name of the signal.
pub async fn asked_to_end() -> io::Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    })
}

/// Calls `reload` on each SIGHUP, which tells the process to reload its files.
pub async fn on_hangup(mut reload: impl FnMut()) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        reload();
    }
    Ok(())
}

/// Binds the calling thread to one of these cores: thread `number` to the core at that place, modulo their count.
/// Without cores it may run anywhere.
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
