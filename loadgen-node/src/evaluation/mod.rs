//! A benchmark's accuracy, computed by its official script from the log of an accuracy run.

mod child_process;
mod environment;
mod requirements;

use std::{
    fs,
    path::{Path, PathBuf},
};

use netdiv_rules::{
    book::{Benchmark, Formats},
    compliance::{self, Metrics},
    tree::ACCURACY_TXT,
};
use tracing::info;

pub(crate) use self::{
    environment::Environment,
    requirements::{options as check_options, run_trial as try_out},
};
use crate::{
    RunError, folder_lock::FolderLock, output, run::outcome::accuracy::OfficialScript,
    settings::usage,
};

/// Beginning of the lines that `accuracy-openimages.py` prints about a sample's index, which a node
/// must not know (docs/ENGINES.md). `accuracy.txt` leaves them out.
const OF_INDEX: &str = "ERROR: loadgen(";

/// Passes the run's accuracy log to the script, and writes `accuracy.txt` beside the log.
/// `reference` is the checkout with the script, and `given` has the operator's options for the
/// script. Returns the path of `accuracy.txt`, and the metrics.
pub(crate) fn evaluate(
    script: &OfficialScript,
    folder: &Path,
    log_sha256: &str,
    benchmark: &Benchmark,
    reference: &Path,
    environment: impl FnOnce() -> Result<Environment, RunError>,
    given: &[String],
) -> Result<(PathBuf, Metrics), RunError> {
    requirements::options(script, reference, given)?;
    requirements::files(script, folder, reference, given)?;
    let failed = |why: &dyn std::fmt::Display| RunError::Script(format!("{}: {why}", script.file));
    let Some(_claim) = FolderLock::of(folder).map_err(|error| failed(&error))? else {
        return usage(format!("{}: another process is writing into this folder", folder.display()));
    };
    let environment = environment()?;
    if let Some(own) = &script.trial {
        requirements::run_trial(script, own, reference, &environment)?;
    }
    let (file, part) = (folder.join(ACCURACY_TXT), folder.join(PART));
    // Files of an earlier evaluation must not be taken for files of this one.
    for path in script.written(folder).into_iter().chain([file.clone(), part.clone()]) {
        if path.is_dir() {
            fs::remove_dir_all(&path).map_err(|error| output::unwritten(&path, error))?;
        }
        output::remove(&path)?;
    }
    let mut command = environment.python();
    command.arg(reference.join(script.file)).args(given).args(script.options(folder));
    // accuracy-openimages.py prefers this variable to its option.
    command.env_remove("DATASET_ANNOTATIONS_FILE_PATH");
    if let Some(option) = script.report {
        command.arg(option).arg(&part);
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    info!("python3 {}", words.join(" "));
    let said = child_process::run(&mut command, script.unjudged).map_err(|error| failed(&error))?;
    let printed = String::from_utf8_lossy(&said.stdout);
    let blamed = |why: &dyn std::fmt::Display| {
        output::report(printed.trim_end());
        failed(&format!("{why}; its output is above"))
    };
    if !said.status.success() {
        return Err(blamed(&format!("it ended with {}", said.status)));
    }
    if let Some(line) = said.complaints.marked {
        return Err(blamed(&format!("it did not judge every answer ({line})")));
    }
    let text = match script.report {
        Some(_) => netdiv_node_common::resources::files::read_text(&part)
            .map_err(|error| blamed(&error))?,
        None => {
            let own = printed.lines().filter(|line| !line.starts_with(OF_INDEX));
            own.map(|line| format!("{line}\n")).collect()
        }
    };
    output::write(&part, compliance::with_hash(text.trim_end(), log_sha256).as_bytes())?;
    // `accuracy.txt` has the format of the benchmark's first round: later checkers read it, too.
    let formats = Formats::of(benchmark.rounds.first().copied());
    let found = compliance::printed_accuracy(&part, benchmark, &formats);
    output::remove(&part)?;
    let (metrics, text) = found.map_err(|error| blamed(&error))?;
    output::write(&file, text.as_bytes())?;
    Ok((file, metrics))
}

/// Name of the file that holds the script's output until its metrics have been read.
const PART: &str = "accuracy.txt.unread";
