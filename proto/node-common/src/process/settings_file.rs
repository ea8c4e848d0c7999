//! Options `--config` and `--print-config`: settings of a command, and the source of each.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    process::{
        SettingsError,
        command_line::variable,
        paths::Keys,
        say,
        settings::{override_with, read, with_absolute_paths},
    },
    sanitise::sanitise,
};
use clap::{ArgMatches, Command, FromArgMatches, parser::ValueSource};

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Settings")]
struct FileArgs {
    /// Settings file in TOML for all commands: its keys are the options, with underscores instead
    /// of hyphens, and its paths are relative to its folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings as TOML, each with its source, and exit
    #[arg(long)]
    print_config: bool,
}

/// Options `--config` and `--print-config`. Flatten this type **before** the settings, because it
/// records the options that the command line and the environment set.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    args: FileArgs,
    /// Source of each option that the command line or the environment sets, by id.
    given: BTreeMap<String, ValueSource>,
}

impl SettingsFile {
    /// Returns true if the process only prints its settings.
    pub fn only_prints(&self) -> bool {
        self.args.print_config
    }

    /// Overrides the settings of the file with `given`, the settings of environment and command
    /// line, and passes them to `resolve`. Returns its result, or `None` if the process only prints
    /// the settings. Returns an error of `resolve` in both cases.
    pub fn resolve<T, R, E>(
        &self,
        given: &T,
        resolve: impl FnOnce(&T) -> Result<R, E>,
    ) -> Result<Option<R>, E>
    where
        T: Keys,
        E: From<SettingsError>,
    {
        let file = self.args.config.as_deref().map(read::<T>).transpose()?.unwrap_or_default();
        let lines = file.lines.clone();
        let settings = override_with(given, file)?;
        let resolved = resolve(&settings)?;
        if !self.args.print_config {
            return Ok(Some(resolved));
        }
        let text = self.text(&with_absolute_paths(&settings)?, &lines)?;
        say(text.trim_end()).map_err(|error| SettingsError::Unprinted(error.to_string()))?;
        Ok(None)
    }

    /// Returns the settings as a settings file: set keys with their source, and unset keys as
    /// comments with their default.
    fn text<T: Keys>(
        &self,
        settings: &T,
        lines: &BTreeMap<String, usize>,
    ) -> Result<String, SettingsError> {
        let unprinted = |error: toml::ser::Error| SettingsError::Unprinted(error.to_string());
        let settings = toml::Table::try_from(settings).map_err(unprinted)?;
        let mut groups: Vec<(String, String)> = Vec::new();
        for option in T::augment_args(Command::new("")).get_arguments() {
            let key = option.get_id().as_str();
            let line = match settings.get(key) {
                Some(value) => format!("{key} = {value}  # {}\n", self.origin(key, lines)),
                None => format!("# {key}: {}\n", default(option)),
            };
            let heading = option.get_help_heading().unwrap_or_default();
            match groups.iter_mut().find(|(before, _)| before == heading) {
                Some((_, group)) => *group += &line,
                None => groups.push((heading.into(), line)),
            }
        }
        let group = |(heading, lines): &(String, String)| format!("# {heading}\n{lines}");
        Ok(groups.iter().map(group).collect::<Vec<_>>().join("\n"))
    }

    fn origin(&self, key: &str, lines: &BTreeMap<String, usize>) -> String {
        match (self.given.get(key), &self.args.config, lines.get(key)) {
            (Some(ValueSource::EnvVariable), ..) => format!("environment, {}", variable(key)),
            (None, Some(file), Some(line)) => {
                format!("{}, line {line}", sanitise(&file.display().to_string()))
            }
            _ => "command line".into(),
        }
    }
}

/// Returns the default of an option, according to its help.
fn default(option: &clap::Arg) -> String {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    match help.rsplit_once("[default: ").and_then(|(_, default)| default.split_once(']')) {
        Some((default, _)) => format!("{default} (default)"),
        None => "not set".into(),
    }
}

impl clap::Args for SettingsFile {
    fn augment_args(command: Command) -> Command {
        FileArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        FileArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for SettingsFile {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let source = |id: &clap::Id| Some((id.to_string(), matches.value_source(id.as_str())?));
        let given = matches.ids().filter_map(source).collect();
        Ok(Self { args: FileArgs::from_arg_matches(matches)?, given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
