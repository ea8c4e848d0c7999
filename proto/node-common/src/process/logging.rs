//! Log of a process, on standard error.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    panic,
    process::ExitCode,
};

use tracing::error;
use tracing_subscriber::{
    EnvFilter,
    fmt::format::{Format, JsonFields},
};

use crate::process::{
    kept_log::Sink,
    log_format::LogFormat,
    minimum,
    rate_limit::{CallSites, RateLimitedFormat},
    sanitising_writer::{Form, SanitisingWriter},
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
    minimum::share_a_heap();
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let asked = LogFormat::asked();
    let form = match asked {
        Ok(LogFormat::Json) => Form::Json,
        _ if is_coloured(io::stderr().is_terminal(), |name| env::var_os(name)) => Form::Coloured,
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
    if let Err(why) = asked {
        error!("{why}");
        return Err(ExitCode::from(USAGE));
    }
    if let Err(why) = minimum::check() {
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
    if error.use_stderr() && LogFormat::asked() == Ok(LogFormat::Json) {
        error!("{}", error.render().to_string().trim_end());
    } else {
        // A failure to print cannot be reported.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
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
