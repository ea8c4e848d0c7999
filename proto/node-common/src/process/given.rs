//! `--config` and `--print-config`: the settings of a command, and where each of them comes from.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    process::{
        SettingsError,
        paths::Keys,
        say,
        settings::{over, read, with_absolute_paths},
        variables::variable,
    },
    said::said,
};
use clap::{ArgMatches, Command, FromArgMatches, parser::ValueSource};

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Settings")]
struct FileArgs {
    /// Settings file in TOML, one for all commands: its keys are the options, with underscores instead of hyphens, and its
    /// paths are relative to its folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings as TOML, each with where it comes from, and exit
    #[arg(long)]
    print_config: bool,
}

/// Where settings come from besides command line and environment. Flatten it **before** the settings: it looks at what was
/// given of them.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    args: FileArgs,
    /// Options that were given, by id.
    given: BTreeMap<String, ValueSource>,
}

impl SettingsFile {
    /// Whether the settings are only to be printed.
    pub fn only_prints(&self) -> bool {
        self.args.print_config
    }

    /// What the settings of file, environment and command line resolve to; `None` if they were only to be printed, which takes
    /// settings that resolve.
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
        let settings = over(given, file)?;
        let resolved = resolve(&settings)?;
        if !self.args.print_config {
            return Ok(Some(resolved));
        }
        let text = self.text(&with_absolute_paths(&settings)?, &lines)?;
        say(text.trim_end()).map_err(|error| SettingsError::Unprinted(error.to_string()))?;
        Ok(None)
    }

    /// The settings as a settings file: what is set, with where it comes from, and as comments what is not, with the default.
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
                format!("{}, line {line}", said(&file.display().to_string()))
            }
            _ => "command line".into(),
        }
    }
}

/// What holds where an option is not given, as its help says.
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
