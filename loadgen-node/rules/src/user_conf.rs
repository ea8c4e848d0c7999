//! Checks a user.conf before LoadGen reads it, and compares one with the settings of a run (N2).
//! LoadGen would log an error for an invalid line and continue to an invalid run; it silently
//! ignores unknown keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use netdiv_node_common::words::{TODO, did_you_mean, is_todo};

use crate::{
    Scenario,
    book::{LoadGenSetting, setting_number},
    input::files,
};

/// Maximum latency bound in a user.conf, in milliseconds: a year.
const MAX_LATENCY_MS: u64 = 366 * 24 * 3600 * 1000;

const SCENARIOS: [&str; 6] =
    ["*", "SingleStream", "MultiStream", "Server", "Offline", "Interactive"];

/// Effects of a user.conf's lines on a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserConf {
    /// Messages about lines that have no effect on any run, and about a file without effect on this
    /// run.
    pub warnings: Vec<String>,
    /// Message about the lines that apply only to other benchmarks or scenarios; `None` without
    /// such lines.
    pub of_other_runs: Option<String>,
    /// Messages about settings that several lines set.
    pub repeated: Vec<String>,
    /// Settings that the run takes from the file, such as `target_qps`.
    pub keys: BTreeSet<String>,
}

/// Checks every line of a user.conf for a run of a benchmark in a scenario. `benchmark` and
/// `scenario` are LoadGen's names.
///
/// # Errors
///
/// Fails if the file cannot be read, or lists all placeholders and lines that LoadGen would
/// misread, each with its place and its remedy.
pub fn check(path: &Path, benchmark: &str, scenario: &str) -> Result<UserConf, String> {
    let name = path.display();
    let text = files::read_text(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut read = UserConf::default();
    let (mut others, mut wrong) = (Vec::new(), Vec::new());
    // Line numbers of each setting.
    let mut lines = BTreeMap::<_, Vec<usize>>::new();
    for (line, number) in text.lines().zip(1..) {
        let place = format!("{name}, line {number}");
        let warning = match check_line(line) {
            Ok(warning) => warning,
            Err(why) => {
                wrong.push(format!("{place}: {why}"));
                continue;
            }
        };
        let is_known = warning.is_none();
        read.warnings.extend(warning.map(|warning| format!("{place}: {warning}")));
        let key = line.split_whitespace().next().filter(|word| !word.starts_with('#'));
        let Some(key) = key.filter(|_| is_known) else { continue };
        match setting_of(key, benchmark, scenario) {
            Some(setting) => lines.entry(setting.to_owned()).or_default().push(number),
            None => others.push(number.to_string()),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    for (setting, lines) in lines {
        if let [first, .., last] = lines[..] {
            read.repeated.push(format!(
                "{name}: lines {first} and {last} set {setting} for this run; LoadGen uses the line that names the benchmark and the \
                 scenario, then a line that names either, and the last of equal lines"
            ));
        }
        read.keys.insert(setting);
    }
    if read.keys.is_empty() {
        read.warnings.push(format!("{name}: no line applies to {benchmark} in {scenario}"));
    } else if !others.is_empty() {
        let lines = if others.len() == 1 { "line" } else { "lines" };
        let others = others.join(", ");
        read.of_other_runs = Some(format!(
            "{name}: {lines} {others} are not for {benchmark} in {scenario}, and have no effect on this run"
        ));
    }
    Ok(read)
}

/// Returns the setting that `key` sets in a run of this benchmark and scenario; `None` if the key
/// applies only to other runs.
fn setting_of<'k>(key: &'k str, benchmark: &str, scenario: &str) -> Option<&'k str> {
    ["*", benchmark].into_iter().find_map(|model| {
        let rest = key.strip_prefix(model)?.strip_prefix('.')?;
        let (of, setting) = rest.split_once('.')?;
        (["*", scenario].contains(&of) && is_read_in(setting, scenario)).then_some(setting)
    })
}

/// Returns true if LoadGen reads a key in a scenario (`TestSettings::FromConfig`).
fn is_read_in(setting: &str, scenario: &str) -> bool {
    rows(setting).any(|row| is_of(row, scenario))
}

/// Returns the settings that a key of user.conf may set.
fn rows(key: &str) -> impl Iterator<Item = &'static LoadGenSetting> {
    LoadGenSetting::all().iter().filter(move |row| row.user_conf.as_deref() == Some(key))
}

/// Returns true if a line for a scenario, which may be `*`, sets a setting. LoadGen uses the
/// scenario Server for Interactive.
fn is_of(row: &LoadGenSetting, scenario: &str) -> bool {
    let named = if scenario == "Interactive" { "Server" } else { scenario };
    Scenario::of_official_name(named).is_none_or(|scenario| row.is_of(scenario))
}

pub(crate) fn check_line(line: &str) -> Result<Option<String>, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [key, "=", value] = words[..] else {
        return match words[..] {
            [] | ["#", ..] => Ok(None),
            [_, "=", _, "#", ..] => {
                Err("LoadGen allows no comment after a value; put it on a separate line".into())
            }
            [first, ..] if first.starts_with('#') => {
                Err("LoadGen requires a space after the # of a comment".into())
            }
            _ => Err(format!(
                "`{}`: write MODEL.SCENARIO.KEY = NUMBER, with spaces around `=`",
                line.trim()
            )),
        };
    };
    // Models may have dots in their names: gptj-99.9.
    let [setting, scenario, _] = key.rsplitn(3, '.').collect::<Vec<_>>()[..] else {
        return Err(format!("`{key}`: a key has three parts, MODEL.SCENARIO.KEY"));
    };
    if !SCENARIOS.contains(&scenario) {
        let meant = did_you_mean(scenario, SCENARIOS);
        let known = SCENARIOS.join(", ");
        return Err(format!("`{scenario}` is not a scenario; use one of {known}{meant}"));
    }
    check_value(scenario, setting, value)?;
    if setting == "mode" {
        return Err("the mode is chosen with --mode, not in user.conf".into());
    }
    if rows(setting).next().is_none() {
        let keys = LoadGenSetting::all().iter().filter_map(|row| row.user_conf.as_deref());
        let meant = did_you_mean(setting, keys.collect::<BTreeSet<_>>());
        return Ok(Some(format!("LoadGen does not read `{setting}`{meant}; it has no effect")));
    }
    Ok((!is_read_in(setting, scenario))
        .then(|| format!("LoadGen does not read `{setting}` in {scenario}; it has no effect")))
}

/// Rejects values that LoadGen would misread. It reads most keys as whole numbers, and silently
/// turns `6e5` into 6 and `010` into 8.
fn check_value(scenario: &str, setting: &str, value: &str) -> Result<(), String> {
    if is_todo(value) {
        let what = match setting {
            "target_qps" => "the queries per second that your nodes sustain",
            _ => "a number",
        };
        return Err(format!("{setting} is still {TODO}: write {what}"));
    }
    let mut of_scenario: Vec<_> = rows(setting).filter(|row| is_of(row, scenario)).collect();
    if of_scenario.is_empty() {
        of_scenario = rows(setting).collect();
    }
    let is_real = !of_scenario.is_empty() && of_scenario.iter().all(|row| row.is_real());
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let good = if is_real {
        value.parse::<f64>().is_ok_and(|number| number.is_finite() && number >= 0.0)
    } else {
        digits && (value == "0" || !value.starts_with('0')) && value.parse::<u64>().is_ok()
    };
    // LoadGen converts these values to nanoseconds. If the result does not fit into its integer
    // type, LoadGen silently uses another bound.
    let is_time = of_scenario.iter().any(|row| row.factor > 1.0);
    if is_time && value.parse::<u64>().is_ok_and(|ms| ms > MAX_LATENCY_MS) {
        return Err(format!("`{value}` ms is too long; {setting} is at most {MAX_LATENCY_MS}"));
    }
    match (good, is_real) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("`{value}` is not a number")),
        (false, false) => Err(format!("`{value}` is not a whole number, as {setting} requires")),
    }
}

/// Returns the keys that decide about a run in a scenario, with their settings. LoadGen reads keys
/// about tokens only if another key tells it to.
pub(crate) fn compared(
    scenario: Scenario,
) -> impl Iterator<Item = (&'static str, &'static LoadGenSetting)> {
    LoadGenSetting::in_user_conf(scenario).filter(|(_, row)| !row.of_tokens)
}

/// Returns the differences between the text of a `user.conf` and a run's settings: first the lines
/// that LoadGen would misread, each with the reason, then the names of keys with other values.
/// `given` contains the fields that the run set explicitly, as `FIELD=VALUE`. `model` is LoadGen's
/// name of the benchmark.
pub(crate) fn differences(
    file: &str,
    settings: &BTreeMap<String, String>,
    given: &[&str],
    model: &str,
    scenario: Scenario,
) -> Vec<String> {
    let lines: BTreeMap<_, _> = file
        .lines()
        .filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [key, "=", value] if !key.starts_with('#') => Some((key, value)),
            _ => None,
        })
        .collect();
    let name = scenario.official_name();
    let differs = |(key, row): &(&str, &LoadGenSetting)| {
        // Model and scenario in the name of a key, in LoadGen's order of precedence.
        let places = [(model, name), ("*", name), (model, "*"), ("*", "*")];
        let mut said = places.iter().filter_map(|(model, scenario)| {
            lines.get(format!("{model}.{scenario}.{key}").as_str())
        });
        let said = said.next().and_then(|value| setting_number(value));
        let said = said.map(|value| value * row.factor);
        let is_given = given.iter().any(|pair| pair.split('=').next() == Some(row.field.as_str()));
        let said = said.or(row.default.filter(|_| !is_given));
        let run = settings.get(&row.field).and_then(|value| setting_number(value));
        match (said, run) {
            (Some(said), Some(run)) => (said - run).abs() > 1e-6 * run.abs().max(1e-3),
            _ => false,
        }
    };
    let misread = file
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some(format!("line {number}: {}", check_line(line).err()?)));
    misread.chain(compared(scenario).filter(differs).map(|(key, _)| key.to_owned())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn good_lines_pass_and_bad_lines_say_what_to_write() {
        for good in
            ["", "  # all comment", "*.Server.target_qps = 100.5", "gptj-99.9.*.min_duration = 1"]
        {
            assert_eq!(check_line(good), Ok(None), "{good}");
        }
        for (bad, want) in [
            ("*.Server.target_qps=100", "with spaces around"),
            ("*.Server.target_qps = fast", "not a number"),
            ("*.Server.target_qps = inf", "not a number"),
            ("*.Server.min_duration = 6e5", "is not a whole number"),
            ("*.Server.min_duration = 010", "is not a whole number"),
            ("*.Server.target_latency = 1.5", "is not a whole number"),
            ("*.Server.target_latency = 18446744073710", "too long; target_latency is at most"),
            ("target_qps = 100", "three parts"),
            ("*.Sever.target_qps = 100", "not a scenario"),
            ("*.*.mode = 2", "--mode"),
            ("*.Server.target_qps = 1 2", "write MODEL"),
            ("*.Server.target_qps = 1 # one", "on a separate line"),
            ("#a comment", "space after"),
            (
                "*.Server.target_qps = TODO",
                "target_qps is still TODO: write the queries per second",
            ),
            ("*.Server.min_duration = TODO", "min_duration is still TODO: write a number"),
            ("*.Servr.target_qps = 1", "(did you mean Server?)"),
        ] {
            assert!(check_line(bad).unwrap_err().contains(want), "{bad}");
        }
        assert_eq!(
            check_line("*.Server.target_qsp = 1").unwrap().unwrap(),
            "LoadGen does not read `target_qsp` (did you mean target_qps?); it has no effect"
        );
    }

    #[test]
    fn all_lines_that_are_wrong_are_named_also_those_of_other_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        let text = "# A rate.\nbert.Server.target_qps = TODO\nbert.Server.min_duration = 1\nbert.Offline.target_qps = TODO\n";
        std::fs::write(&path, text).unwrap();
        let refused = check(&path, "bert", "Server").unwrap_err();
        let line = |number: usize| {
            let todo =
                "target_qps is still TODO: write the queries per second that your nodes sustain";
            format!("{}, line {number}: {todo}", path.display())
        };
        assert_eq!(refused, format!("{}\n{}", line(2), line(4)));
    }

    #[test]
    fn lines_of_other_runs_are_told_from_those_of_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            check(&path, "gptj-99.9", "Server").unwrap()
        };
        let read_both = read(
            "# rates\ngptj-99.9.Server.target_qps = 2\n\n*.Offline.target_qps = 3\nbert.*.min_duration = 1\n",
        );
        assert_eq!(read_both.keys, BTreeSet::from(["target_qps".to_owned()]));
        assert!(read_both.of_other_runs.unwrap().contains("lines 4, 5 are not for gptj-99.9"));
        assert!(read_both.warnings.is_empty());
        let unread = read("*.*.samples_per_query = 8\n*.Server.target_qps = 1\n");
        assert!(unread.of_other_runs.unwrap().contains("line"));
        assert_eq!(unread.keys, BTreeSet::from(["target_qps".to_owned()]));
        let none = read("gptj-99.9.Server.samples_per_query = 8\n*.Offline.target_latency = 15\n");
        let said = none.warnings.join("\n");
        for part in [
            "line 1: LoadGen does not read `samples_per_query` in Server",
            "line 2",
            "no line applies",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let twice = read("*.*.min_duration = 1\n*.Server.min_duration = 2\n");
        assert!(twice.repeated[0].contains("lines 1 and 2 set min_duration"), "{twice:?}");
        let of_others = read("gptj-99.Server.target_qps = 2\n");
        assert!(of_others.warnings[0].contains("no line applies") && of_others.keys.is_empty());
        let every = read("*.*.min_duration = 1\n*.Server.target_qps = 1\n");
        assert_eq!((every.keys.len(), every.of_other_runs), (2, None));
    }

    pub(crate) fn settings() -> BTreeMap<String, String> {
        [
            ("server_target_qps", "18000.500000"),
            ("server_target_latency_ns", "15000000"),
            ("server_target_latency_percentile", "0.990000"),
            ("server_coalesce_queries", "false"),
            ("min_duration_ms", "600000"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    #[test]
    fn a_file_that_says_something_else_is_seen() {
        let unlike = |text: &str| {
            differences(
                text,
                &settings(),
                &["server_target_qps=18000.5"],
                "resnet50",
                Scenario::Server,
            )
        };
        assert_eq!(unlike("*.Server.target_qps = 17000\n"), ["target_qps"]);
        // The most specific line counts, and other models and scenarios do not.
        assert!(unlike("*.*.min_duration = 1\n*.Server.min_duration = 600000\n").is_empty());
        assert!(unlike("gptj.Server.target_qps = 1\nresnet50.Offline.target_qps = 1\n").is_empty());
        assert!(unlike("resnet50.Server.target_qps=18000.5\n")[0].starts_with("line 1: "));
        let todo = unlike("\nresnet50.Offline.target_qps = TODO\n");
        assert!(
            todo[0].starts_with("line 2: target_qps is still TODO: write the queries"),
            "{todo:?}"
        );
        // LoadGen uses the last of several lines, and its default if there is no line.
        let twice = "*.Server.target_qps = 18000.5\n*.Server.target_qps = 1\n";
        assert_eq!(unlike(twice), ["target_qps"]);
        let none = differences("# none\n", &settings(), &[], "resnet50", Scenario::Server);
        assert_eq!(none, ["target_qps"]);
    }
}
