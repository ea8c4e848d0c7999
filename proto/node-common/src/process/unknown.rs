//! Unknown keys, with suggestions, and removed keys, with their successors.

use std::any::TypeId;

use crate::{process::units::TimeSpan, words::did_you_mean};
use clap::{Arg, Command};

/// Units that once ended the names of durations: `keepalive_timeout_ms = 3000` is now
/// `keepalive_timeout = "3000ms"`.
const UNITS: [&str; 2] = ["ms", "us"];

/// Replacement for a key that earlier releases had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// Key of a duration, and the unit with which the removed key's name ended.
    Time(String, &'static str),
    /// Advice to use another feature.
    Feature(&'static str),
}

/// Returns the options of a command and of its subcommands.
pub(crate) fn all_options(command: &Command) -> Vec<&Arg> {
    let own = command.get_arguments();
    own.chain(command.get_subcommands().flat_map(all_options)).collect()
}

/// Returns the successor of a removed key, or `None` for a key that never existed.
pub(crate) fn successor<'a>(
    mut options: impl Iterator<Item = &'a Arg>,
    key: &str,
) -> Option<Successor> {
    if ["otlp", "otlp_ratio"].contains(&key) {
        return Some(Successor::Feature("traces are no longer sent; use --metrics"));
    }
    let (time, unit) = key.rsplit_once('_')?;
    let unit = UNITS.into_iter().find(|known| *known == unit)?;
    let is_time = |option: &Arg| option.get_value_parser().type_id() == TypeId::of::<TimeSpan>();
    options
        .any(|option| option.get_id() == time && is_time(option))
        .then(|| Successor::Time(time.into(), unit))
}

/// Returns the reason why `key` is not allowed in a settings table, and the remedy. Returns `None` if
/// `T` has an option of that name.
pub fn unknown_key<T: clap::Args>(key: &str) -> Option<String> {
    let known = T::augment_args(Command::new(""));
    if known.get_arguments().any(|option| option.get_id() == key) {
        return None;
    }
    Some(match successor(known.get_arguments(), key) {
        Some(Successor::Time(time, unit)) => format!("it was removed; write {time} = \"10{unit}\""),
        Some(Successor::Feature(instead)) => format!("it was removed: {instead}"),
        None => {
            let keys = known.get_arguments().map(|option| option.get_id().as_str());
            format!("there is no such setting{}", did_you_mean(key, keys))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Args)]
    struct KnownTestKeys {
        #[arg(long)]
        wait: Option<TimeSpan>,
        #[arg(long)]
        rate: Option<u64>,
    }

    #[test]
    fn a_known_key_is_fine() {
        assert_eq!(unknown_key::<KnownTestKeys>("wait"), None);
    }

    #[test]
    fn a_removed_key_names_its_successor() {
        for (key, words) in [
            ("wait_ms", "it was removed; write wait = \"10ms\""),
            ("wait_us", "it was removed; write wait = \"10us\""),
            ("otlp", "it was removed: traces are no longer sent; use --metrics"),
            ("otlp_ratio", "traces are no longer sent"),
            ("rate_ms", "there is no such setting"),
            ("wait_s", "there is no such setting"),
            ("hold_ms", "there is no such setting"),
            ("wayt", "(did you mean wait?)"),
        ] {
            let why = unknown_key::<KnownTestKeys>(key).unwrap();
            assert!(why.contains(words), "{key}: {why}");
        }
    }
}
