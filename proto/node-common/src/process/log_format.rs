//! Option `--log-format`. It applies from the first line on: the process looks it up before it
//! reads the settings, so that their errors have the format too.

use std::{env, ffi::OsString};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Environment variable that sets the option.
const VARIABLE: &str = "NETDIV_LOG_FORMAT";
const OPTION: &str = "--log-format";

/// Format of the log.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LogFormat {
    /// Sentences with key-values
    #[default]
    Text,
    /// A JSON object on each line
    Json,
}

/// Option of every command. [`start_logging`](crate::process::start_logging) reads it before the
/// command line is parsed.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct LogArgs {
    /// Format of the log on standard error [default: text]
    #[arg(long, global = true, help_heading = "Observability")]
    pub log_format: Option<LogFormat>,
}

impl LogFormat {
    /// Returns the format that the command line, or else the environment, requests. Fails if the
    /// variable is invalid. An invalid command line is reported later, when it is parsed.
    pub fn asked() -> Result<Self, String> {
        Self::of(env::args_os().skip(1), env::var_os(VARIABLE))
    }

    /// Returns the environment variable that makes a child process log in this format.
    pub fn variable(self) -> (&'static str, String) {
        (VARIABLE, self.to_string())
    }

    fn of(
        args: impl Iterator<Item = OsString>,
        variable: Option<OsString>,
    ) -> Result<Self, String> {
        let mut args =
            args.map(|arg| arg.to_string_lossy().into_owned()).take_while(|arg| arg != "--");
        while let Some(arg) = args.next() {
            let value = match arg.strip_prefix(OPTION) {
                Some("") => args.next(),
                Some(rest) => rest.strip_prefix('=').map(Into::into),
                None => None,
            };
            if let Some(value) = value {
                return Ok(Self::from_str(&value, false).unwrap_or_default());
            }
        }
        let Some(variable) = variable.filter(|value| !value.is_empty()) else {
            return Ok(Self::default());
        };
        let word = variable.to_string_lossy();
        Self::from_str(&word, false)
            .map_err(|_| format!("{VARIABLE}=`{word}`: expected text or json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let of = |args: &[&str], variable: Option<&str>| {
            LogFormat::of(args.iter().map(OsString::from), variable.map(Into::into))
        };
        use LogFormat::{Json, Text};
        for (args, variable, want) in [
            (&[][..], None, Text),
            (&[], Some("json"), Json),
            (&[], Some(""), Text),
            (&["run", "--log-format", "json"], None, Json),
            (&["--log-format=json", "run"], Some("text"), Json),
            (&["run", "--log-format", "text"], Some("json"), Text),
            (&["tax", "--", "--log-format", "json"], None, Text),
            // clap reports the errors of these.
            (&["--log-format"], None, Text),
            (&["--log-format", "xml"], None, Text),
            (&["--log-formats", "json"], None, Text),
        ] {
            assert_eq!(of(args, variable), Ok(want), "{args:?} {variable:?}");
        }
        assert_eq!(
            of(&[], Some("xml")),
            Err("NETDIV_LOG_FORMAT=`xml`: expected text or json".into())
        );
    }
}
