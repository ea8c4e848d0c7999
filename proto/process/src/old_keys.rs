//! Keys of times as they were before times had units: `keepalive_timeout_ms = 3000` is `keepalive_timeout = "3000ms"`.

use std::{any::TypeId, collections::BTreeSet, ffi::OsString};

use clap::{Arg, Command, error::ErrorKind};

use crate::units::{TimeSpan, is_number};

/// What stood at the end of a key, and is now a unit.
pub(crate) const UNITS: [&str; 2] = ["ms", "us"];

/// Whether an option takes a time.
pub(crate) fn is_time(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<TimeSpan>()
}

/// Puts the old keys of a table into the new form. `T` has the new ones. The error names the key.
pub fn renew<T: clap::Args>(table: toml::Table) -> Result<toml::Table, String> {
    let known = T::augment_args(Command::new(""));
    let mut renewed = toml::Table::new();
    for (key, value) in table {
        let (key, value) = match in_new_form(&known, &key, &value) {
            Some(new) => new.map_err(|why| format!("`{key}`: {why}"))?,
            None => (key, value),
        };
        if renewed.contains_key(&key) {
            return Err(both(&key));
        }
        renewed.insert(key, value);
    }
    Ok(renewed)
}

/// A key was given in its old and in its new form.
pub(crate) fn both(key: &str) -> String {
    let old: Vec<_> = UNITS.iter().map(|unit| format!("`{key}_{unit}`")).collect();
    format!("`{key}` stands there twice, also as {}; leave one out", old.join(" or "))
}

/// The new form of a key and its value; `None` if it is no old one.
pub(crate) fn in_new_form(
    known: &Command,
    key: &str,
    value: &toml::Value,
) -> Option<Result<(String, toml::Value), String>> {
    let (new, unit) = key.rsplit_once('_').filter(|(_, unit)| UNITS.contains(unit))?;
    known.get_arguments().find(|arg| arg.get_id() == new).filter(|arg| is_time(arg))?;
    Some(match value.as_integer() {
        Some(number @ 0..) => Ok((new.into(), format!("{number}{unit}").into())),
        _ => Err(format!("it takes a whole number; or write {new} = \"10{unit}\"")),
    })
}

/// The same for a command line. The error shows the usage of the subcommand.
pub(crate) fn arguments_in_new_form(
    command: &Command,
    given: impl IntoIterator<Item = OsString>,
) -> Result<Vec<OsString>, clap::Error> {
    let given: Vec<_> = given.into_iter().collect();
    in_new_form_or_why(command, given.iter().cloned())
        .map_err(|(kind, why)| asked(command, &given).error(kind, why))
}

/// The subcommand that a command line names, or the command itself.
fn asked(command: &Command, given: &[OsString]) -> Command {
    let mut command = command.clone();
    // A subcommand learns the name of the command from it.
    command.build();
    let options = given.iter().skip(1).take_while(|arg| *arg != "--");
    options.fold(&command, |command, arg| command.find_subcommand(arg).unwrap_or(command)).clone()
}

/// The arguments in their new form, or what is wrong with one.
fn in_new_form_or_why(
    command: &Command,
    mut given: impl Iterator<Item = OsString>,
) -> Result<Vec<OsString>, (ErrorKind, String)> {
    let mut times = BTreeSet::new();
    options_of_times(command, &mut times);
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    let mut renewed = Vec::new();
    while let Some(arg) = given.next() {
        if arg == "--" {
            renewed.push(arg);
            renewed.extend(given);
            break;
        }
        let text = arg.to_string_lossy();
        let (option, value) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (&*text, None),
        };
        if times.contains(option) {
            new.insert(option.to_owned());
        }
        let Some((option, unit)) = option
            .rsplit_once('-')
            .filter(|(option, unit)| UNITS.contains(unit) && times.contains(*option))
        else {
            renewed.push(arg);
            continue;
        };
        let next = || given.next().map(|next| next.to_string_lossy().into_owned());
        let value = value.or_else(next).unwrap_or_default();
        if !is_number(&value) {
            let why = format!(
                "{option}-{unit} takes a whole number, not `{value}`; or write {option} 10{unit}\n"
            );
            return Err((ErrorKind::InvalidValue, why));
        }
        renewed.push(format!("{option}={value}{unit}").into());
        old.insert((option.to_owned(), format!("{option}-{unit}")));
    }
    match old.iter().find(|(option, _)| new.contains(option)) {
        Some((option, old)) => {
            let why = format!("{option} and {old} are one setting; leave {old} out\n");
            Err((ErrorKind::ArgumentConflict, why))
        }
        None => Ok(renewed),
    }
}

fn options_of_times(command: &Command, times: &mut BTreeSet<String>) {
    let options = command.get_arguments().filter(|arg| is_time(arg));
    times.extend(options.filter_map(|arg| Some(format!("--{}", arg.get_long()?))));
    command.get_subcommands().for_each(|command| options_of_times(command, times));
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    #[derive(Debug, clap::Args)]
    struct Keys {
        #[arg(long)]
        wait: Option<TimeSpan>,
        #[arg(long)]
        rate_ms: Option<u64>,
    }

    fn renewed(args: &[&str]) -> Result<Vec<String>, String> {
        let command = Command::new("x").subcommand(Keys::augment_args(Command::new("y")));
        let args = args.iter().map(OsString::from);
        let renewed = arguments_in_new_form(&command, args);
        let text = |arg: OsString| arg.to_string_lossy().into_owned();
        renewed.map(|args| args.into_iter().map(text).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn old_options_become_new_ones_and_no_others_do() {
        for (args, want) in [
            (&["x", "y", "--wait-ms", "5"][..], &["x", "y", "--wait=5ms"][..]),
            (&["--wait-us=5", "z"], &["--wait=5us", "z"]),
            (&["--wait", "5s"], &["--wait", "5s"]),
            (&["--rate-ms", "5"], &["--rate-ms", "5"]),
            (&["--hold-ms", "5"], &["--hold-ms", "5"]),
            (&["--", "--wait-ms", "5"], &["--", "--wait-ms", "5"]),
        ] {
            assert_eq!(renewed(args).unwrap(), want);
        }
    }

    #[test]
    fn old_options_with_a_wrong_value_or_beside_the_new_one_are_refused() {
        for (args, words) in [
            (
                &["--wait-ms", "5s"][..],
                "--wait-ms takes a whole number, not `5s`; or write --wait 10ms",
            ),
            (&["--wait-ms"], "not ``"),
            (&["--wait-ms=-1"], "not `-1`"),
            (&["--wait-ms", "5", "--wait", "5s"], "--wait and --wait-ms are one setting"),
            (&["--wait=5s", "--wait-us=5"], "--wait and --wait-us are one setting"),
            (&["x", "y", "--wait-ms", "5", "--wait", "5s"], "Usage: x y [OPTIONS]"),
        ] {
            let error = renewed(args).unwrap_err();
            assert!(error.contains(words), "{args:?}: {error}");
        }
    }

    #[test]
    fn old_keys_of_a_table_become_new_ones() {
        let of = |text: &str| renew::<Keys>(toml::from_str(text).unwrap());
        let text = of("wait_ms = 5\nrate_ms = 7\nhold_ms = 9").unwrap().to_string();
        assert_eq!(text, "hold_ms = 9\nrate_ms = 7\nwait = \"5ms\"\n");
        for (text, words) in [
            ("wait_ms = 5\nwait = '5s'", "`wait` stands there twice"),
            ("wait_ms = 5\nwait_us = 5", "`wait` stands there twice"),
            ("wait_ms = -5", "`wait_ms`: it takes a whole number"),
            ("wait_ms = '5s'", "write wait = \"10ms\""),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
