//! Command line of both programs: common properties of all commands and options.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process,
};

use clap::{
    Arg, ArgAction, Command, Parser,
    error::{ContextKind, ContextValue},
};

use crate::{process::log_format::LogFormat, words::nearest};

const MORE_OPTIONS: &str = "--help-all shows all options and details. Each option can also be set in the environment: --tls-key is \
     NETDIV_TLS_KEY.";

/// Prefix of the environment variables that set options.
const PREFIX: &str = "NETDIV_";

/// Variables with the prefix that are not options, but have a meaning for a build, a test,
/// libtorch, or the evidence.
pub const OTHER_VARIABLES: [&str; 14] = [
    "NETDIV_CONTAINER_IMAGE",
    "NETDIV_DIAGRAM_OUT",
    "NETDIV_FAULT",
    "NETDIV_KEEP_TREE",
    "NETDIV_LOADGEN_DIR",
    "NETDIV_LOADGEN_ORIGIN",
    "NETDIV_LOADGEN_RELEASE",
    "NETDIV_REVISION",
    "NETDIV_RULES_TEXT",
    "NETDIV_SEED",
    "NETDIV_TEST_TRANSPORT",
    "NETDIV_TORCH_CUDNN_ATTENTION",
    "NETDIV_TORCH_FUSER",
    "NETDIV_TREE_OUT",
];

/// Options that request a single action, and have no environment variable.
const ASKED_ONCE: [&str; 6] = ["check", "help", "help-all", "version", "print-config", "json"];

/// Returns the environment variable of an option or a key.
pub(crate) fn variable(option: &str) -> String {
    format!("{PREFIX}{}", option.to_uppercase().replace('-', "_"))
}

/// Returns a command that runs one of the two programs, without the settings in this process's
/// environment. The program logs in the same format as this process.
pub fn program(path: &Path) -> process::Command {
    let mut program = process::Command::new(path);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && !OTHER_VARIABLES.contains(&&*name) {
            program.env_remove(&*name);
        }
    }
    let (variable, format) = LogFormat::asked().unwrap_or_default().variable();
    program.env(variable, format);
    program
}

/// Returns the command with an environment variable for each option, and with `--help` and
/// `--help-all`. Changes all subcommands likewise.
pub fn command(command: Command) -> Command {
    let help = |name: &'static str| Arg::new(name).long(name).help_heading(None::<&str>);
    let command = command
        .mut_subcommands(self::command)
        .mut_args(from_environment)
        .disable_help_flag(true)
        .arg(help("help").short('h').action(ArgAction::HelpShort).help("Print help"));
    let is_shortened = |arg: &Arg| arg.is_hide_short_help_set() || arg.get_long_help().is_some();
    let has_more = command.get_long_about().is_some() || command.get_arguments().any(is_shortened);
    let all = help("help-all").action(ArgAction::HelpLong).hide(!has_more);
    let command = command.arg(all.help("Print help with all options and details"));
    if !has_more {
        return command;
    }
    let own = command.get_after_help().map(|help| format!("{help}\n\n")).unwrap_or_default();
    command.after_help(format!("{own}{MORE_OPTIONS}"))
}

/// Lets the option's environment variable set it. An empty variable does not count.
fn from_environment(option: Arg) -> Arg {
    let Some(long) = option.get_long().filter(|long| !ASKED_ONCE.contains(long)) else {
        return option;
    };
    let name = variable(long);
    let is_empty = env::var_os(&name).is_some_and(|value| value.is_empty());
    if is_empty { option } else { option.env(name).hide_env(true) }
}

/// Parses the arguments and the environment. `program` is the command of `C`.
pub fn parse<C: Parser>(
    program: Command,
    args: impl IntoIterator<Item = OsString>,
) -> Result<C, clap::Error> {
    let mut command = command(program);
    let args: Vec<_> = args.into_iter().collect();
    let matches = command.try_get_matches_from_mut(&args);
    let mut matches = matches.map_err(|error| with_tip(error, &command, &args))?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Adds a tip to an error: the command that resembles an unknown one, or the variable that set an
/// option which is not on the command line.
fn with_tip(mut error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let commands = command.get_subcommands().map(Command::get_name);
        let nearest: Vec<_> = nearest(word, commands).into_iter().map(str::to_owned).collect();
        if !nearest.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(nearest));
        }
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let option = option.split([' ', '=']).next().unwrap_or_default();
    let is_it = |arg: &OsString| arg.to_string_lossy().split('=').next() == Some(option);
    let name = variable(option.trim_start_matches('-'));
    if args.iter().any(is_it) || env::var_os(&name).is_none_or(|value| value == OsStr::new("")) {
        return error;
    }
    let tip = format!("it comes from the environment variable {name}");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}
