//! The command line of both programs: what every command and every option has, by one rule.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use clap::{
    Arg, ArgAction, Command, Parser,
    error::{ContextKind, ContextValue},
};

use crate::old_keys::arguments_in_new_form;

/// The environment variable of an option or a key.
pub fn variable(option: &str) -> String {
    format!("NETDIV_{}", option.to_uppercase().replace('-', "_"))
}

/// The environment variables of the options of `T`.
pub fn variables<T: clap::Args>() -> Vec<String> {
    let options = T::augment_args(Command::new(""));
    options.get_arguments().filter_map(|option| option.get_long().map(variable)).collect()
}

/// A command whose options can be given in the environment, and whose help is short unless all of it is asked for; so are its
/// subcommands.
pub fn command(command: Command) -> Command {
    let help = |name: &'static str| Arg::new(name).long(name).help_heading(None::<&str>);
    let command = command
        .mut_subcommands(self::command)
        .mut_args(from_environment)
        .disable_help_flag(true)
        .arg(help("help").short('h').action(ArgAction::HelpShort).help("Print help"));
    let has_more = command.get_arguments().any(Arg::is_hide_short_help_set);
    let all = help("help-all").action(ArgAction::HelpLong).hide(!has_more);
    let command = command.arg(all.help("Print help with all options"));
    if !has_more {
        return command;
    }
    command.after_help(
            "--help-all shows more options. Each can also be given in the environment: --tls-ca is NETDIV_TLS_CA.",
        )
}

/// An option that holds what its variable says, unless it is given. A variable without a value is none.
fn from_environment(option: Arg) -> Arg {
    let Some(name) = option.get_long().map(variable) else { return option };
    let is_empty = env::var_os(&name).is_some_and(|value| value.is_empty());
    if is_empty { option } else { option.env(name).hide_env(true) }
}

/// What the process was asked to do. Old options of times count as new ones.
pub fn parse<C: Parser>() -> Result<C, clap::Error> {
    let mut command = command(C::command());
    let args = arguments_in_new_form(&mut command, env::args_os())?;
    let matches = command.try_get_matches_from_mut(&args);
    let mut matches = matches.map_err(|error| with_variable(error, &args))?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// An error about an option that the command line does not have names the variable that it comes from.
fn with_variable(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let option = option.split(' ').next().unwrap_or_default();
    let is_it = |arg: &OsString| arg.to_string_lossy().split('=').next() == Some(option);
    let name = variable(option.trim_start_matches('-'));
    if args.iter().any(is_it) || env::var_os(&name).is_none_or(|value| value == OsStr::new("")) {
        return error;
    }
    let tip = format!("it comes from the environment variable {name}");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}
