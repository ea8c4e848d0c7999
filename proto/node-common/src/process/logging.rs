//! Log of a process, on standard error; and the memory and files that a program needs to start.

use std::{
    env,
    ffi::OsString,
    io::{IsTerminal as _, Write as _, stderr, stdout},
    os::unix::process::CommandExt as _,
    panic,
    process::{Command, ExitCode},
    thread::available_parallelism,
};

use tracing::error;
use tracing_subscriber::{
    EnvFilter,
    fmt::format::{Format, JsonFields},
};

use crate::{
    process::{
        documents::with_page_paths,
        kept_log::Sink,
        log_format::LogFormat,
        rate_limit::{CallSites, RateLimitedFormat},
        sanitising_writer::{Form, SanitisingWriter},
        terminal::{columns, fold_tables},
    },
    resources::{
        descriptors,
        memory::{self, TooLittleMemory},
        remedy,
    },
};

/// Limit on the number of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// No limit, for a program whose lines are its output and that then ends.
    All,
    /// A few lines per second from each call site, for a program that runs until it is stopped and
    /// logs at the request of peers.
    FewASecond,
}

/// Guard of the log. Its drop reports the suppressed lines.
#[derive(Debug)]
pub struct LogGuard(Option<CallSites>);

impl Drop for LogGuard {
    fn drop(&mut self) {
        if let Some(places) = &self.0 {
            places.report_suppressed();
        }
    }
}

/// Returns true if the log has colours, by the rules of no-color.org and bixense.com/clicolors.
/// `variable` returns a variable of the environment.
fn is_coloured(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let value = |name: &str| variable(name).unwrap_or_default();
    match (value("NO_COLOR").is_empty(), value("CLICOLOR_FORCE")) {
        (false, _) => false,
        (true, force) if !force.is_empty() && force != "0" => true,
        _ => is_terminal && value("CLICOLOR") != "0" && value("TERM") != "dumb",
    }
}

/// Starts logging to standard error, in the format of `--log-format` or its variable. `RUST_LOG`
/// overrides the level. Call it first: it may restart the program, and it fails if the process may
/// use less memory or fewer files than a program needs to start.
///
/// # Errors
///
/// Returns the exit code after logging the reason.
pub fn start_logging(default_level: &str, lines: Lines) -> Result<LogGuard, ExitCode> {
    share_a_heap();
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let asked = LogFormat::asked();
    let form = match asked {
        Ok(LogFormat::Json) => Form::Json,
        _ if is_coloured(stderr().is_terminal(), |name| env::var_os(name)) => Form::Coloured,
        _ => Form::Plain,
    };
    let places = (lines == Lines::FewASecond).then(CallSites::default);
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || SanitisingWriter { to: Sink, form })
        .with_ansi(form == Form::Coloured)
        // Otherwise tracing would panic if standard error is closed.
        .log_internal_errors(false);
    if form == Form::Json {
        let format = Format::default().json().with_current_span(false).with_span_list(false);
        let format = RateLimitedFormat::new(format, places.clone());
        logging.fmt_fields(JsonFields::new()).event_format(format).init();
        // Logs a panic in the same format as other lines.
        panic::set_hook(Box::new(|panic| error!("{panic}")));
    } else {
        logging.event_format(RateLimitedFormat::new(Format::default(), places.clone())).init();
    }
    if let Err(why) = asked.and_then(|_| check_minimum()) {
        error!("{why}");
        return Err(ExitCode::from(USAGE));
    }
    if let Some(places) = &places {
        places.start_reporting();
    }
    Ok(LogGuard(places))
}

/// Exit code for an invalid command line, equal to clap's.
const USAGE: u8 = 2;

/// Prints an error of the command line, or the requested help. Returns the exit code.
pub fn report_usage_error(error: &clap::Error) -> ExitCode {
    let (text, is_error) = (error.render(), error.use_stderr());
    if is_error && LogFormat::asked() == Ok(LogFormat::Json) {
        error!("{}", text.to_string().trim_end());
    } else {
        let is_terminal = if is_error { stderr().is_terminal() } else { stdout().is_terminal() };
        let is_coloured = is_coloured(is_terminal, |name| env::var_os(name));
        let text = if is_coloured { text.ansi().to_string() } else { text.to_string() };
        let text = fold_tables(&with_page_paths(&text), columns()).into_bytes();
        // A failure to print cannot be reported.
        let _ = if is_error { stderr().write_all(&text) } else { stdout().write_all(&text) };
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}

/// Number of files that tokio's runtime and the signal handlers open, before the program can check
/// a limit itself.
const FILES: usize = 12;

/// Memory for settings and a runtime, in bytes, in addition to the reserve of [`memory`].
const MEMORY_BYTES: u64 = 32 << 20;

/// Memory for each core, in bytes: the stacks of two threads.
const CORE_BYTES: u64 = 4 << 20;

/// Environment variable that limits the number of heaps of glibc's allocator.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Checks that this process has the memory and the files that a program needs to start. Below that,
/// the allocator or tokio would end the process with a message that does not name the cause. The
/// error names the limit to raise.
fn check_minimum() -> Result<(), String> {
    let cores = available_parallelism().map_or(1, |cores| cores.get() as u64);
    let needed = MEMORY_BYTES.saturating_add(CORE_BYTES.saturating_mul(cores));
    memory::check_limits(needed).map_err(|TooLittleMemory { needed, available }| {
        format!(
            "{needed} bytes of memory are needed to start, but this process can use {}; raise {}",
            available.bytes, available.limit
        )
    })?;
    descriptors::check(FILES).map_err(|error| {
        format!("cannot open the {FILES} files needed to start: {error}{}", remedy(&error))
    })
}

/// Restarts this program with one heap for all threads, if its address space is limited.
///
/// glibc's allocator reserves 64 MiB of address space for each thread's heap while it can. Too
/// little would remain for stacks and later allocations.
fn share_a_heap() {
    if !memory::is_address_space_limited() || env::var_os(ARENAS).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) {
        // `exec` returns only if it fails. Then the program continues without the variable.
        let _ = Command::new(program).arg0(name).args(arguments).env(ARENAS, "1").exec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_as_the_environment_asks() {
        for (is_terminal, variables, want) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("TERM", "dumb")], false),
            (true, &[("CLICOLOR", "0")], false),
            (true, &[("CLICOLOR", "1")], true),
            (false, &[("CLICOLOR", "1")], false),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (false, &[("CLICOLOR_FORCE", "")], false),
            (true, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")], true),
            (true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_coloured(is_terminal, variable), want, "{is_terminal} {variables:?}");
        }
    }
}
