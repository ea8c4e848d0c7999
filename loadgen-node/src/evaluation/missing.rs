//! What an official script needs and does not have.

use std::path::Path;

use crate::{
    RunError,
    run::accuracy::{OfficialScript, Value},
    settings::usage,
};

/// Refuses what the script would stumble over: a checkout without it, files of the run that are not there, options that are not given.
pub(super) fn refuse(
    script: &OfficialScript,
    run: &Path,
    reference: &Path,
    given: &[String],
) -> Result<(), RunError> {
    if !reference.join(script.file).is_file() {
        return usage(format!(
            "--reference {}: it has no {}; give a checkout of mlcommons/inference, of the round's tag",
            reference.display(),
            script.file
        ));
    }
    for (option, value) in script.known {
        if let Value::LeftByRun(name, remedy) = value
            && !run.join(name).exists()
        {
            return usage(format!("{} has no {name}, for {option}: {remedy}", run.display()));
        }
    }
    let is_given = |option: &str| {
        given.iter().any(|word| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    let asked = script.asked.iter().filter(|(option, _)| !is_given(option));
    let asked: Vec<_> = asked.map(|(option, takes)| format!("{option} {takes}")).collect();
    if !asked.is_empty() {
        return usage(format!(
            "{} needs more than the run knows; add: -- {}",
            script.file,
            asked.join(" ")
        ));
    }
    let own = script.known.iter().map(|(option, _)| *option).chain([script.log]);
    match own.into_iter().find(|option| is_given(option)) {
        Some(own) => usage(format!("{own} is known from the run; leave it out after --")),
        None => Ok(()),
    }
}
