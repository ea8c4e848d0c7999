//! The log of a process, on standard error.

use std::{
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
    limited::{Limited, Places},
    log_format::LogFormat,
    minimum,
    shown::{Form, Shown},
};

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

/// Returns false where the user or the terminal wants no colours (no-color.org).
fn wants_colour() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Starts logging to standard error, in the form that `--log-format` or its variable asks for: sentences with key-values.
/// `RUST_LOG` overrides the level. Call it first: it may start the program anew, and it refuses to go on below the minimum that a
/// program needs.
///
/// # Errors
///
/// The exit code; the reason has been logged.
pub fn start_logging(default_level: &str, lines: Lines) -> Result<Logging, ExitCode> {
    minimum::share_a_heap();
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let asked = LogFormat::asked();
    let form = match asked {
        Ok(LogFormat::Json) => Form::Json,
        _ if io::stderr().is_terminal() && wants_colour() => Form::Coloured,
        _ => Form::Plain,
    };
    let places = (lines == Lines::FewASecond).then(Places::default);
    let logging = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Shown { to: Sink, form })
        .with_ansi(form == Form::Coloured)
        // It would panic if standard error is closed.
        .log_internal_errors(false);
    if form == Form::Json {
        let format = Format::default().json().with_current_span(false).with_span_list(false);
        let format = Limited::new(format, places.clone());
        logging.fmt_fields(JsonFields::new()).event_format(format).init();
        // The line of a panic is one like the others.
        panic::set_hook(Box::new(|panic| error!("{panic}")));
    } else {
        logging.event_format(Limited::new(Format::default(), places.clone())).init();
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
        places.count_aloud();
    }
    Ok(Logging(places))
}

/// The exit code of a command line that cannot be read; clap's own.
const USAGE: u8 = 2;

/// Says why a command line cannot be read, or shows the help that was asked for; returns the code to end with.
pub fn refused(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && LogFormat::asked() == Ok(LogFormat::Json) {
        error!("{}", error.render().to_string().trim_end());
    } else {
        // Nobody is left to be told that this failed.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}
