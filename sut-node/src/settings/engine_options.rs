//! Checks that the chosen engine supports the options that are set. The engines of an option are
//! stated only in the heading under which the help lists it.

use clap::{Args, Command};
use serde::Serialize;

use crate::settings::{engine_choice::EngineName, error::ConfigError};

/// Separator before the engines in a heading: `Plug-ins (engines: torch, a plug-in)`.
const ENGINES: &str = " (engines: ";

/// Fails if `args` set an option that applies only to other engines than `engine`.
pub(super) fn check<A: Args + Serialize>(args: &A, engine: EngineName) -> Result<(), ConfigError> {
    let given = serde_json::to_value(args)
        .map_err(|error| ConfigError::UnreadableOptions(error.to_string()))?;
    let command = A::augment_args(Command::new(""));
    for option in command.get_arguments() {
        let (key, heading) = (option.get_id().as_str(), option.get_help_heading());
        let Some(engines) = heading.and_then(heading_engines).filter(|_| !given[key].is_null())
        else {
            continue;
        };
        if !engines.split(", ").any(|name| name == engine.to_string()) {
            let (key, engine) = (key.replace('_', "-"), engines.to_owned());
            return Err(ConfigError::OtherEngine { key, engine });
        }
    }
    Ok(())
}

/// Returns the engines that a heading names, separated by commas; `None` if its options apply to
/// all engines.
fn heading_engines(heading: &str) -> Option<&str> {
    Some(heading.split_once(ENGINES)?.1.trim_end_matches(')'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::ValueEnum as _;

    use super::*;
    use crate::settings::args::Args as AllArgs;

    #[test]
    fn a_number_of_any_size_is_compared_with_its_engines() {
        let most = u64::MAX.to_string();
        let args = |option: &str| {
            let command = AllArgs::augment_args(Command::new("").no_binary_name(true));
            let matches = command.try_get_matches_from([option, &most]).unwrap();
            <AllArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap()
        };
        assert!(check(&args("--max-batch"), EngineName::Echo).is_ok());
        let refused = check(&args("--max-batch-tokens"), EngineName::Echo).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--max-batch-tokens belongs to the engine torch, a plug-in"
        );
    }

    #[test]
    fn headings_name_engines_that_there_are() {
        let command = AllArgs::augment_args(Command::new(""));
        let headings: BTreeSet<_> =
            command.get_arguments().filter_map(|option| option.get_help_heading()).collect();
        let words: Vec<_> = EngineName::value_variants().iter().map(ToString::to_string).collect();
        let named: Vec<_> = headings.iter().copied().filter_map(heading_engines).collect();
        for engine in named.iter().flat_map(|engines| engines.split(", ")) {
            let plug_in = EngineName::PlugIn.to_string();
            assert!(engine == plug_in || words.iter().any(|word| word == engine), "{engine}");
        }
        assert!(named.len() > 7, "{headings:?}");
    }
}
