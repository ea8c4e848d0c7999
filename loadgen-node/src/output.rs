//! The output folder of a run. A file is written under a temporary name and then renamed, so that a
//! reader finds the old state or the complete new one.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

pub(crate) use netdiv_rules::tree::{ACCURACY_LOG as ACCURACY, DETAIL, SUMMARY};

use netdiv_node_common::resources::{files, json};
use netdiv_receivers::FAILED;
use serde::de::DeserializeOwned;
use tracing::error;

use crate::{RunError, folder_lock::FolderLock};

/// Name of netdiv's result file.
pub(crate) const RESULT: &str = "result.json";

/// Name of the file that holds the figures of `loadgen-node fabric`.
pub(crate) const FABRIC: &str = "fabric.json";

/// Returns true if a folder holds a measurement by `loadgen-node fabric`, and no run.
pub(crate) fn is_fabric(folder: &Path) -> bool {
    !folder.join(RESULT).exists() && folder.join(FABRIC).exists()
}

/// Name to which LoadGen's detail log is renamed if the error of a failed run cannot be appended to
/// it. No reader takes a file of this name for a log.
const UNMARKED: &str = "mlperf_log_detail.failed.txt";

/// Reads a file of JSON in a folder that `command` has written.
pub(crate) fn read_json<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    command: &str,
) -> Result<T, RunError> {
    let path = folder.join(name);
    let text = files::read(&path, u64::MAX).map_err(|error| error.to_string());
    text.and_then(|text| json::from_slice(&text)).map_err(|why| {
        RunError::Usage(format!(
            "{}: {why}; pass the output folder of this version of `loadgen-node {command}`",
            path.display()
        ))
    })
}

/// Prints lines to standard output.
pub(crate) fn say(text: impl std::fmt::Display) -> Result<(), RunError> {
    netdiv_node_common::process::say(text)
        .map_err(|error| unwritten(Path::new("to standard output"), error))
}

/// Prints a text that a file also holds. If standard output cannot be written, that is logged, and
/// the command does not fail.
pub(crate) fn report(text: impl std::fmt::Display) {
    if let Err(error) = say(text) {
        error!("{error}");
    }
}

/// Creates the folder and claims it for this process. Fails if the folder holds another run, or if
/// another run is writing into it. Dropping the returned lock releases the folder, and removes it
/// if this call has created it and it is still empty.
pub(crate) fn prepare(folder: &Path) -> Result<FolderLock, RunError> {
    let failed =
        |error: io::Error| RunError::Usage(format!("--output {}: {error}", folder.display()));
    let Some(claim) = FolderLock::make(folder).map_err(failed)? else {
        return Err(RunError::Usage(format!(
            "another run is writing into {}; choose another --output",
            folder.display()
        )));
    };
    for entry in folder.read_dir().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        if name == RESULT || name.starts_with("mlperf_log_") {
            return Err(RunError::Usage(format!(
                "{} holds another run ({name}); choose another --output, or move it away",
                folder.display()
            )));
        }
    }
    try_files(folder)?;
    Ok(claim)
}

/// Number of files that a run writes: LoadGen's four logs (it creates the trace even if tracing is
/// off), the series, the histograms and the result.
const FILES: usize = 7;

/// Checks that the files of a run can be created: creates the same number of files and removes
/// them. LoadGen reports neither which log it cannot open nor the reason.
pub(crate) fn try_files(folder: &Path) -> Result<(), RunError> {
    let trials: Vec<_> = (0..FILES).map(|n| folder.join(format!("trial-{n}.part"))).collect();
    // A run has all of its files open at the same time. These trial files are, too.
    let made: io::Result<Vec<_>> = trials.iter().map(|trial| create(trial, b"\n")).collect();
    for trial in &trials {
        // The first error is the one to report.
        let _ = fs::remove_file(trial);
    }
    made.map(drop).map_err(|error| unwritten(folder, error))
}

/// Writes a text to a file, or prints it if the path is `-`. Returns true for a file.
pub(crate) fn put(path: &Path, text: &str) -> Result<bool, RunError> {
    if path.as_os_str() == "-" {
        return say(text.trim_end()).map(|()| false);
    }
    write(path, text.as_bytes()).map(|()| true)
}

/// Writes a file completely, or leaves it as it was.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), RunError> {
    let mut beside = PathBuf::from(path).into_os_string();
    beside.push(".part");
    // Synced: after a power cut the name must not lead to an empty file.
    let written = create(Path::new(&beside), content)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // A partial file is useless. The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(|error| unwritten(path, error))
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), RunError> {
    remove_existing(path).map_err(|error| unwritten(path, error))
}

fn remove_existing(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Appends an entry to LoadGen's detail log, in LoadGen's format. It reports a failure that netdiv
/// has detected after LoadGen has closed its logs. Every reader rejects a log with an error.
pub(crate) fn mark_failed(folder: &Path, reason: &str) -> Result<(), RunError> {
    let path = folder.join(DETAIL);
    let value = serde_json::Value::from(format!("{FAILED}{reason}"));
    let line = format!(
        r#":::MLLOG {{"key": "error_runtime", "value": {value}, "time_ms": 0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {{"is_error": true, "is_warning": false, "file": "{}", "line_no": {}, "pid": {}, "tid": 0}}}}"#,
        file!(),
        line!(),
        std::process::id(),
    );
    let log = fs::File::options().append(true).open(&path);
    log.and_then(|mut log| writeln!(log, "{line}")).map_err(|error| {
        // Without the line the log may contain VALID. Renaming needs no space.
        let _ = fs::rename(&path, folder.join(UNMARKED));
        unwritten(&path, error)
    })
}

/// Creates a file with this content.
fn create(path: &Path, content: &[u8]) -> io::Result<fs::File> {
    // An existing file, even a pipe, is replaced and not written to.
    remove_existing(path)?;
    let mut file = fs::File::create_new(path)?;
    file.write_all(content)?;
    Ok(file)
}

/// Returns the error for a file or folder that cannot be written.
pub(crate) fn unwritten(path: &Path, error: io::Error) -> RunError {
    RunError::Output { path: path.display().to_string(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = folder.read_dir().unwrap().map(|file| file.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn files_that_cannot_all_be_made_leave_none() {
        let folder = tempfile::tempdir().unwrap();
        try_files(folder.path()).unwrap();
        assert!(names(folder.path()).is_empty());
        let obstacle = format!("trial-{}.part", FILES - 1);
        fs::create_dir(folder.path().join(&obstacle)).unwrap();
        let error = try_files(folder.path()).unwrap_err();
        assert_eq!(error.exit_code(), crate::error::EXIT_FAILED, "{error}");
        assert_eq!(names(folder.path()), [obstacle]);
    }

    #[test]
    fn a_log_that_cannot_say_that_its_run_failed_is_no_log() {
        let folder = tempfile::tempdir().unwrap();
        // Appending to a folder fails.
        fs::create_dir(folder.path().join(DETAIL)).unwrap();
        mark_failed(folder.path(), "a cable was cut").unwrap_err();
        assert_eq!(names(folder.path()), [UNMARKED]);
    }
}
