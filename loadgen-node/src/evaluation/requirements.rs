//! Requirements of an official script that are missing, and options that it must not get.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use netdiv_dataset::{has_part, part_sources};
use netdiv_node_common::{resources, words::PartName};

use super::{child_process, environment::Environment};
use crate::{
    RunError,
    run::outcome::accuracy::{OfficialScript, OptionValue},
    settings::usage,
};

/// Returns the path of a file in the checkout `reference`. Fails if the checkout lacks it.
pub(super) fn in_checkout(reference: &Path, file: &str) -> Result<PathBuf, RunError> {
    let path = reference.join(file);
    if path.is_file() {
        return Ok(path);
    }
    usage(format!(
        "--reference {}: it has no {file}; give a checkout of mlcommons/inference for the round (docs/SUBMISSION.md)",
        reference.display()
    ))
}

/// Fails if the checkout `reference` lacks the script, if required options are missing from `given`,
/// or if an option in `given` would change the script's figures. `remedy` stands before the missing
/// options in the error.
pub(crate) fn options(
    script: &OfficialScript,
    reference: &Path,
    given: &[String],
    remedy: &str,
) -> Result<(), RunError> {
    in_checkout(reference, script.file)?;
    // Python's argparse accepts abbreviated options; these checks accept only complete names.
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let names: Vec<_> =
        given.iter().filter(|word| word.starts_with("--")).map(|word| name(word)).collect();
    let asked = script.asked.iter().filter(|(option, _)| !names.iter().any(|name| name == option));
    let asked: Vec<_> = asked.map(|(option, takes)| format!("{option} {takes}")).collect();
    if !asked.is_empty() {
        return usage(format!(
            "{} needs options that the run does not know; {remedy} {}",
            script.file,
            asked.join(" ")
        ));
    }
    let allowed = script.asked.iter().map(|(option, _)| option).chain(script.free);
    let allowed: Vec<_> = allowed.copied().collect();
    match names.iter().find(|name| !allowed.contains(&name.as_str())) {
        None => Ok(()),
        Some(other) if allowed.is_empty() => {
            usage(format!("{other}: {} takes no options from you; leave it out", script.file))
        }
        Some(other) => usage(format!(
            "{other}: {} takes {} from you; the rest is known from the run",
            script.file,
            allowed.join(", ")
        )),
    }
}

/// Fails if a file that an option in `given` names does not exist.
pub(crate) fn named_files(script: &OfficialScript, given: &[String]) -> Result<(), RunError> {
    for (option, _) in script.asked.iter().filter(|(_, takes)| *takes == "FILE") {
        let file = option_value(given, option).filter(|file| !Path::new(file).is_file());
        if let Some(file) = file {
            return usage(format!("{option} {file}: there is no such file"));
        }
    }
    Ok(())
}

/// Fails if a part of a data set was made of other files than the one with which a script grades it.
pub(crate) fn reference_data(
    given: &[String],
    dataset: &str,
    part: PartName,
) -> Result<(), RunError> {
    let Some(file) = option_value(given, "--reference-data") else { return Ok(()) };
    if !Path::new(dataset).exists() || !has_part(dataset, part)? {
        return Ok(());
    }
    let sources = part_sources(dataset, part)?;
    let sha256 = resources::files::sha256(Path::new(file));
    let sha256 =
        sha256.map_err(|error| RunError::Usage(format!("--reference-data {file}: {error}")))?;
    if sources.is_empty() || sources.values().any(|known| *known == sha256) {
        return Ok(());
    }
    let names = sources.into_keys().collect::<Vec<_>>().join(", ");
    usage(format!(
        "--reference-data {file}: the part {part} of {dataset} was made of {names}, which is another file; give that one"
    ))
}

/// Returns the value of an option in `words`: the rest of its word after `=`, or the next word. The
/// last value counts, as for the scripts.
pub(crate) fn option_value<'w>(words: &'w [String], option: &str) -> Option<&'w str> {
    let value = |(place, word): (usize, &'w String)| match word.strip_prefix(option)? {
        "" => words.get(place + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    };
    words.iter().enumerate().rev().find_map(value)
}

/// Fails if submodules of the checkout that the script reads are missing.
pub(crate) fn submodules(script: &OfficialScript, reference: &Path) -> Result<(), RunError> {
    // A submodule that was not fetched is an empty folder.
    let is_there = |folder: &str| {
        reference.join(folder).read_dir().is_ok_and(|mut entries| entries.next().is_some())
    };
    let Some(folder) = script.submodules.iter().find(|folder| !is_there(folder)) else {
        return Ok(());
    };
    let checkout = reference.display();
    usage(format!(
        "{checkout}/{folder}: it is empty, and {} reads it; fetch it: git -C {checkout} submodule update --init {folder}",
        script.file
    ))
}

/// Fails if the run's folder lacks files that the script reads, or if the script cannot handle a
/// path.
pub(crate) fn files(
    script: &OfficialScript,
    run: &Path,
    reference: &Path,
    given: &[String],
) -> Result<(), RunError> {
    for (option, value) in script.known {
        let OptionValue::LeftByRun(name, remedy) = value else { continue };
        if !run.join(name).exists() {
            return usage(format!("{} has no {name}, for {option}: {remedy}", run.display()));
        }
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/=+-".contains(c);
    let paths = [run, reference].map(|path| path.display().to_string());
    match paths.iter().chain(given).find(|path| !path.chars().all(is_plain)) {
        Some(path) if script.has_shell => usage(format!(
            "{path}: {} passes it to a shell, which accepts only letters, digits and . _ / = + -; use another name",
            script.file
        )),
        _ => Ok(()),
    }
}

/// Runs the script's trial, if it has one. The error names the missing requirement.
pub(crate) fn run_trial(
    script: &OfficialScript,
    reference: &Path,
    environment: &Environment,
) -> Result<(), RunError> {
    let Some(trial) = &script.trial else { return Ok(()) };
    let path = reference.join(script.file);
    let folder = path.parent().unwrap_or(reference);
    let mut command = environment.python();
    command.arg("-c").arg(trial.program).arg(folder);
    let failed =
        |why: &dyn Display| RunError::Script(format!("the trial of {}: {why}", script.file));
    let ended = child_process::run(&mut command, &[]).map_err(|error| failed(&error))?;
    match ended.status.code() {
        Some(0) => return Ok(()),
        Some(_) => {}
        // A signal ended the trial, so nothing is known to be missing.
        None => return Err(failed(&format!("it ended with {}", ended.status))),
    }
    usage(format!(
        "{} would count answers as wrong: {}; {}",
        script.file, ended.complaints.last, trial.remedy
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_an_option_counts_in_either_notation() {
        for (words, value) in [
            (&["--data=a"][..], Some("a")),
            (&["--data", "a"], Some("a")),
            (&["--data", "a", "--data=b"], Some("b")),
            (&["--data=a", "--data", "b", "--more=c"], Some("b")),
            (&["--database=a", "data=b"], None),
            (&["--data"], None),
            (&[], None),
        ] {
            let given: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(option_value(&given, "--data"), value, "{words:?}");
        }
    }
}
