//! The output folder. Files are written beside their place and moved there, so that a reader finds the old
//! state or the whole new one.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

pub(crate) use netdiv_rules::tree::{ACCURACY_LOG as ACCURACY, DETAIL, SUMMARY};

use loadgen_sys::Abort;
use tracing::error;

use crate::{RunError, claim::Claim};

/// Name of our result file.
pub(crate) const RESULT: &str = "result.json";

/// Name of the file with a measurement of a network.
pub(crate) const FABRIC: &str = "fabric.json";

/// Name of LoadGen's detail log of a failed run that cannot say so itself: no reader takes it for a log.
const UNMARKED: &str = "mlperf_log_detail.failed.txt";

/// How LoadGen's log begins to say why a run failed.
pub(crate) const FAILED: &str = "netdiv: the run failed: ";

/// Returns the order that ends LoadGen's test, with the reason for its log.
pub(crate) fn failed(why: impl std::fmt::Display) -> Abort {
    Abort(format!("{FAILED}{why}"))
}

/// Prints lines to standard output.
pub(crate) fn say(text: impl std::fmt::Display) -> Result<(), RunError> {
    netdiv_node_common::process::say(text)
        .map_err(|error| RunError::Output { path: "to standard output".into(), error })
}

/// Prints what a file holds as well: if standard output cannot be written, that is logged, and nothing fails.
pub(crate) fn report(text: impl std::fmt::Display) {
    if let Err(error) = say(text) {
        error!("{error}");
    }
}

/// Makes the folder and claims it for this process. Refuses a folder that holds another run, or into which another run writes.
/// Dropping the claim removes the folder if it is still empty.
pub(crate) fn prepare(folder: &Path) -> Result<Claim, RunError> {
    let failed =
        |error: io::Error| RunError::Usage(format!("--output {}: {error}", folder.display()));
    let Some(claim) = Claim::make(folder).map_err(failed)? else {
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

/// Number of files that a run writes: LoadGen's four logs (it makes the trace even if nobody asks for one), the series, the
/// histograms and the result.
const FILES: usize = 7;

/// Checks that the files of a run can be made: makes and removes as many. LoadGen reports neither the log that it cannot open nor
/// the reason.
pub(crate) fn try_files(folder: &Path) -> Result<(), RunError> {
    let trials: Vec<_> = (0..FILES).map(|n| folder.join(format!("trial-{n}.part"))).collect();
    // All are open at the same time.
    let made: io::Result<Vec<_>> = trials.iter().map(|trial| create(trial, b"\n")).collect();
    for trial in &trials {
        // The first error is the one to report.
        let _ = fs::remove_file(trial);
    }
    made.map(drop).map_err(|error| named(folder, error))
}

/// Writes a whole file or nothing.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), RunError> {
    let mut beside = PathBuf::from(path).into_os_string();
    beside.push(".part");
    let written =
        write_through(Path::new(&beside), content).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // A part of a file is of no use. The first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(|error| named(path, error))
}

/// Adds an error to LoadGen's detail log, in LoadGen's form, that says why the run failed: for a failure that is found after
/// LoadGen has closed its logs. Every reader rejects a log with an error.
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
        // Without the line the log may say VALID. A new name needs no room.
        let _ = fs::rename(&path, folder.join(UNMARKED));
        named(&path, error)
    })
}

/// Writes a file and waits until it is on the disk: after a power cut the name must not lead to an empty file.
fn write_through(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path, content)?.sync_all()
}

/// Makes a file with this content.
fn create(path: &Path, content: &[u8]) -> io::Result<fs::File> {
    // Whatever is there, and be it a pipe, is not written to.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::File::create_new(path)?;
    file.write_all(content)?;
    Ok(file)
}

fn named(path: &Path, error: io::Error) -> RunError {
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
        // Nothing can be added to a folder.
        fs::create_dir(folder.path().join(DETAIL)).unwrap();
        mark_failed(folder.path(), "a cable was cut").unwrap_err();
        assert_eq!(names(folder.path()), [UNMARKED]);
    }
}
