//! Settings of a command: from the command line, the environment and a settings file.
//!
//! clap parses all of them: the values of the file replace the defaults of its options.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Display,
    marker::PhantomData,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, FromArgMatches, parser::ValueSource};
use serde_json::{Map, Value};

use crate::{
    process::{
        command_line::variable,
        say,
        settings_file::{
            FileSettings, Keys, SettingsError, absolute, one_line, read, replace_paths,
        },
    },
    sanitise::sanitise,
};

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

/// Options of a command with a settings file: the keys `T`, `--config` and `--print-config`.
#[derive(Debug, Clone)]
pub struct CommandSettings<T> {
    file: FileArgs,
    given: GivenOptions,
    keys: PhantomData<T>,
}

/// Options that the command line or the environment sets, by key, with their values.
type GivenOptions = BTreeMap<String, (ValueSource, Vec<OsString>)>;

impl<T: Keys> CommandSettings<T> {
    /// Returns true if the process only prints its settings.
    pub fn only_prints(&self) -> bool {
        self.file.print_config
    }

    /// Returns true if the command line or the environment sets a key.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// Passes the settings to `resolve`. Those of the command line override those of the
    /// environment, which override those of the file. Returns the result, or `None` if the process
    /// only prints the settings. Returns an error of `resolve` in both cases.
    pub fn resolve<R, E: From<SettingsError>>(
        &self,
        resolve: impl FnOnce(&T) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let file = self.file.config.as_deref().map(read::<T>).transpose()?.unwrap_or_default();
        let settings = merge(&file, &self.given)?;
        let resolved = resolve(&settings)?;
        if !self.file.print_config {
            return Ok(Some(resolved));
        }
        let text = self.text(&settings, &file.lines)?;
        say(text.trim_end()).map_err(|error| unprinted(&error))?;
        Ok(None)
    }

    /// Returns the settings as a settings file: set keys with their source, and unset keys as
    /// comments with their default.
    fn text(&self, settings: &T, lines: &BTreeMap<String, usize>) -> Result<String, SettingsError> {
        let settings = toml::Table::try_from(with_absolute_paths(settings)?)
            .map_err(|error| unprinted(&error))?;
        let mut groups: Vec<(String, String)> = Vec::new();
        for option in T::augment_args(Command::new("")).get_arguments() {
            let key = option.get_id().as_str();
            let line = match (settings.get(key), self.origin(key, lines)) {
                (Some(value), Some(origin)) => format!("{key} = {value}  # {origin}\n"),
                _ => format!("# {key}: {}\n", default(option)),
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

    /// Returns the source of a key's value; `None` if the value is a default.
    fn origin(&self, key: &str, lines: &BTreeMap<String, usize>) -> Option<String> {
        match (self.given.get(key), &self.file.config, lines.get(key)) {
            (Some((ValueSource::EnvVariable, _)), ..) => {
                Some(format!("environment, {}", variable(key)))
            }
            (Some(_), ..) => Some("command line".into()),
            (None, Some(file), Some(line)) => {
                Some(format!("{}, line {line}", sanitise(&file.display().to_string())))
            }
            _ => None,
        }
    }
}

/// Returns the default of an option. The help describes a default that is not a single value.
fn default(option: &Arg) -> String {
    let values: Vec<_> =
        option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !values.is_empty() {
        return format!("{} (default)", values.join(", "));
    }
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    match help.rsplit_once("[default: ").and_then(|(_, default)| default.split_once(']')) {
        Some((default, _)) => format!("{default} (default)"),
        None => "not set".into(),
    }
}

/// Returns the settings of a file; keys that are not in it have their default.
pub fn read_settings<T: Keys>(file: &Path) -> Result<T, SettingsError> {
    merge(&read::<T>(file)?, &GivenOptions::new())
}

/// Parses options, without the name of a program before them. Other keys have their default.
pub fn parse_keys<T: clap::Args>(
    options: impl IntoIterator<Item: Into<OsString> + Clone>,
) -> Result<T, SettingsError> {
    parse(&FileSettings::default(), options)
}

/// Returns the settings of a file, overridden by the options `given`. Fails if the file has
/// placeholders, unless their keys are given.
fn merge<T: Keys>(file: &FileSettings, given: &GivenOptions) -> Result<T, SettingsError> {
    let options = given.iter().flat_map(|(key, (_, values))| {
        values.iter().map(move |value| {
            let mut option = OsString::from(format!("--{}=", key.replace('_', "-")));
            option.push(value);
            option
        })
    });
    let settings: T = parse(file, options)?;
    let todos = file.todos.iter().filter(|(key, _)| !given.contains_key(key));
    let mut lines: Vec<_> = todos.map(|(_, line)| line.clone()).collect();
    if lines.is_empty() {
        return Ok(settings);
    }
    lines.extend(settings.faults_of_files());
    Err(SettingsError(lines.join("\n")))
}

/// Parses options. The values of a file replace the defaults.
fn parse<T: clap::Args>(
    file: &FileSettings,
    options: impl IntoIterator<Item: Into<OsString> + Clone>,
) -> Result<T, SettingsError> {
    let failed = |error: clap::Error| SettingsError(one_line(&error));
    let command = Command::new("").no_binary_name(true).disable_help_flag(true);
    let command = T::augment_args(command).mut_args(|option| {
        match file.values.get(option.get_id().as_str()) {
            Some(values) => option.default_values(values.clone()),
            None => option,
        }
    });
    let matches = command.try_get_matches_from(options).map_err(failed)?;
    T::from_arg_matches(&matches).map_err(failed)
}

/// Returns the settings that have a value, by key, with absolute paths, which are valid in every
/// folder.
pub fn with_absolute_paths<T: Keys>(settings: &T) -> Result<Map<String, Value>, SettingsError> {
    let settings = serde_json::to_value(settings).map_err(|error| unprinted(&error))?;
    let Value::Object(mut settings) = settings else { return Ok(Map::new()) };
    settings.retain(|_, value| !value.is_null());
    for key in T::augment_args(Command::new("")).get_arguments() {
        let value = settings.get_mut(key.get_id().as_str());
        for text in value.map(texts).unwrap_or_default() {
            *text = replace_paths::<T>(key, text, &mut absolute).map_err(|why| unprinted(&why))?;
        }
    }
    Ok(settings)
}

fn texts(value: &mut Value) -> Vec<&mut String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter_mut().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn unprinted(error: &dyn Display) -> SettingsError {
    SettingsError(format!("cannot print the settings: {error}"))
}

impl<T: Keys> clap::Args for CommandSettings<T> {
    fn augment_args(command: Command) -> Command {
        T::augment_args(FileArgs::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(FileArgs::augment_args_for_update(command))
    }
}

impl<T: Keys> FromArgMatches for CommandSettings<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |option: &Arg| {
            let key = option.get_id().as_str();
            let source = matches.value_source(key)?;
            let values: Vec<_> = matches.get_raw(key)?.map(ToOwned::to_owned).collect();
            (source != ValueSource::DefaultValue).then(|| (key.to_owned(), (source, values)))
        };
        let keys = T::augment_args(Command::new(""));
        let given = keys.get_arguments().filter_map(given).collect();
        Ok(Self { file: FileArgs::from_arg_matches(matches)?, given, keys: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde::Serialize;

    use super::*;
    use crate::process::TimeSpan;

    #[derive(Debug, Clone, PartialEq, clap::Args, Serialize)]
    struct Own {
        #[arg(long)]
        name: Option<String>,
        #[arg(long)]
        data: Option<PathBuf>,
        #[arg(long)]
        output: Option<PathBuf>,
        #[arg(long)]
        hosts: Option<Vec<String>>,
        #[command(flatten)]
        #[serde(flatten)]
        more: MoreKeys,
    }

    #[derive(Debug, Clone, PartialEq, clap::ValueEnum, Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        Blue,
    }

    #[derive(Debug, Clone, PartialEq, clap::Args, Serialize)]
    struct MoreKeys {
        #[arg(long)]
        colour: Option<Colour>,
        #[arg(long)]
        size: Option<u32>,
        #[arg(long)]
        wait: Option<TimeSpan>,
        #[arg(long, default_value_t = 3)]
        tries: u32,
    }

    /// Keys of another command, and the common keys.
    #[derive(Debug, clap::Args, Serialize)]
    struct All {
        #[command(flatten)]
        #[serde(flatten)]
        own: Own,
        #[arg(long)]
        rounds: Option<u32>,
        #[arg(long)]
        labels: Option<PathBuf>,
    }

    impl Keys for Own {
        type All = All;
    }

    impl Keys for All {
        type All = Self;
        const MIXED: &'static [(&'static str, crate::process::Replace)] =
            &[("hosts", |text, place| {
                text.strip_prefix('@')
                    .map_or(Ok(text.into()), |path| Ok(format!("@{}", place(path)?)))
            })];
    }

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        settings: CommandSettings<Own>,
    }

    /// Returns the settings of a file, overridden by options.
    fn merged(options: &[&str], file: &Path) -> Result<Own, String> {
        let line = ["x", "--config", file.to_str().unwrap()].into_iter();
        let settings = CommandLine::parse_from(line.chain(options.iter().copied())).settings;
        let merged = settings.resolve(|own: &Own| Ok::<_, SettingsError>(own.clone()));
        merged.map(Option::unwrap).map_err(|error| error.to_string())
    }

    fn defaults() -> Own {
        parse_keys::<Own>([""; 0]).unwrap()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let wait = |millis| Some(TimeSpan::from_millis(millis));
        let more = |size, millis, tries| MoreKeys {
            colour: None,
            size: Some(size),
            wait: wait(millis),
            tries,
        };
        let with_name = |more| Own { name: Some("a".into()), more, ..defaults() };
        let all = file("name = 'a'\nsize = 1\nwait = '1ms'\ntries = 5\n");
        assert_eq!(merged(&[], all.path()), Ok(with_name(more(1, 1, 5))));
        let command_line = ["--size", "2", "--wait=2ms", "--tries", "3"];
        assert_eq!(merged(&command_line, all.path()), Ok(with_name(more(2, 2, 3))));
        assert_eq!(defaults().more.tries, 3);
    }

    #[test]
    fn a_key_that_is_wrong_is_named_with_its_line() {
        for (text, want) in [
            (
                "name = 'a'\nsizes = 1\n",
                "line 2: `sizes`: there is no such setting (did you mean size?); see --help",
            ),
            (
                "colour = 'rod'\n",
                "line 1: `colour`: invalid value 'rod' for '--colour <COLOUR>' [possible values: red, blue]",
            ),
            ("name_ms = 1\n", "line 1: `name_ms`: there is no such setting"),
            ("name = 'a'\n\nsize = 'b'\n", "line 3: `size`: invalid value 'b' for"),
            ("name = ", "TOML parse error at line 1"),
            (
                "\ndata = 2024-01-01",
                "line 2: data is the date or time 2024-01-01; write \"2024-01-01\"",
            ),
            ("size = [1]", "line 1: `size`: expected a single value"),
            ("hosts = [[]]", "line 1: `hosts`: expected a single value"),
            ("size = { a = 1 }", "line 1: `size`: expected a single value"),
            ("wait = 5", "'--wait <WAIT>': `5` has no unit; write a time as 10s"),
            (
                "wait = '5 parsecs'",
                "line 1: `wait`: invalid value '5 parsecs' for '--wait <WAIT>': `5 parsecs` is not",
            ),
        ] {
            let file = file(text);
            let error = merged(&[], file.path()).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn placeholders_are_refused_all_at_once_unless_the_command_line_has_the_values() {
        let file = file(
            "# A name.\nname = 'TODO-name'\nsize = 'TODO'\nwait = '5ms'\nhosts = ['TODO',\n'a', 'TODO']\n",
        );
        let all = merged(&[], file.path()).unwrap_err();
        assert_eq!(all.lines().count(), 4, "{all}");
        assert!(all.contains("line 5: hosts is still") && all.contains("line 6: hosts"), "{all}");
        let read = |more: &[&str]| merged(&[&["--hosts", "a"][..], more].concat(), file.path());
        let path = file.path().display();
        let name = format!("{path}, line 2: name is still TODO: write it. A name.");
        let size = format!("{path}, line 3: size is still TODO: write it");
        assert_eq!(read(&[]), Err(format!("{name}\n{size}")));
        assert_eq!(read(&["--name", "a"]), Err(size));
        assert_eq!(read(&["--name", "a", "--size", "1"]).unwrap().more.size, Some(1));
    }

    #[test]
    fn keys_of_other_commands_are_checked_and_have_no_effect() {
        let with_others = file("name = 'a'\nrounds = 3\nlabels = 'nowhere'\n");
        let read = merged(&[], with_others.path()).unwrap();
        assert_eq!(read, Own { name: Some("a".into()), ..defaults() });
        for (text, want) in [
            ("round = 3\n", "there is no such setting (did you mean rounds?)"),
            ("rounds = 'many'\n", "line 1: `rounds`: invalid value 'many'"),
        ] {
            let file = file(text);
            let error = merged(&[], file.path()).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn paths_of_a_file_are_relative_to_its_folder_and_given_ones_to_the_current_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("settings.toml");
        let at = |name: &str| Some(folder.path().join(name));
        let read = |text: &str, options: &[&str]| {
            std::fs::write(&config, text).unwrap();
            merged(options, &config)
        };
        let text = "data = 'd/x'\noutput = 'src'\nhosts = ['a', '@list']\nname = 'src'\n";
        let own = read(text, &[]).unwrap();
        // `name` is not a path, and an output folder may also exist in the current folder.
        assert_eq!((own.data, own.output), (at("d/x"), at("src")));
        let hosts = vec!["a".to_owned(), format!("@{}", folder.path().join("list").display())];
        assert_eq!((own.hosts, own.name), (Some(hosts), Some("src".into())));
        let absolute = read("data = '/d/x'\noutput = '-'\n", &[]).unwrap();
        assert_eq!(absolute.data, Some("/d/x".into()));
        assert_eq!(absolute.output, Some("-".into()));
        let given = read("data = 'there'", &["--data", "here"]).unwrap();
        assert_eq!(given.data, Some("here".into()));
    }

    #[test]
    fn settings_with_absolute_paths_mean_the_same_in_every_folder() {
        let here = std::env::current_dir().unwrap();
        let options = ["--name=src", "--data=src", "--output=-", "--hosts=a", "--hosts=@src"];
        let own: Own = parse_keys(options).unwrap();
        let want = serde_json::json!({
            "name": "src", "data": here.join("src"), "output": "-",
            "hosts": ["a", format!("@{}", here.join("src").display())], "tries": 3,
        });
        assert_eq!(Value::Object(with_absolute_paths(&own).unwrap()), want);
    }

    #[test]
    fn a_file_that_never_ends_is_refused_by_its_kind() {
        let error = read_settings::<Own>(Path::new("/dev/zero")).unwrap_err();
        assert!(error.to_string().contains("settings file /dev/zero: it is a device"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_settings::<Own>(Path::new("/nowhere.toml")).unwrap_err();
        assert!(error.to_string().contains("/nowhere.toml"), "{error}");
    }
}
