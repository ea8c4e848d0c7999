//! Official scripts, in Python: a benchmark's accuracy from the log of a run, and the verification of
//! compliance tests.

mod child_process;
mod environment;
mod requirements;
mod verification;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use netdiv_node_common::{resources::files, sanitise::shell_word};
use netdiv_rules::{
    book::{Benchmark, Formats},
    compliance::{self, ComplianceError, Metrics, Part},
    tree::{ACCURACY_TXT, BASELINE_SCORES},
};
use tracing::{info, warn};

pub(crate) use self::{
    environment::Environment,
    requirements::{
        files as check_files, named_files as check_named_files, option_value,
        options as check_options, reference_data as check_reference_data, run_trial as try_out,
        submodules as check_submodules,
    },
    verification::OfficialTest,
};
use crate::{
    RunError, folder_lock::FolderLock, output, run::outcome::accuracy::OfficialScript,
    settings::usage,
};

/// Beginning of the lines that `accuracy-openimages.py` prints about a sample's index, which a node
/// must not know (docs/ENGINES.md). `accuracy.txt` leaves them out.
const OF_INDEX: &str = "ERROR: loadgen(";

/// Variables of the environment that change a script's figures: `accuracy-openimages.py` prefers the
/// first to its option, and `accuracy_eval.py` leaves out samples that last longer than the second.
const VARIABLES: [&str; 2] = ["DATASET_ANNOTATIONS_FILE_PATH", "MAX_DURATION"];

/// Name of the file that holds the script's output until its metrics have been read.
const PART: &str = "accuracy.txt.unread";

/// Name of the folder in that of TEST01 for the samples of the accuracy run.
const BASELINE: &str = "baseline";

/// A benchmark's official accuracy script, with all that it needs.
#[derive(Debug)]
pub(crate) struct Scorer<'a> {
    pub(crate) script: &'static OfficialScript,
    pub(crate) benchmark: &'a Benchmark,
    /// Checkout with the script.
    pub(crate) reference: PathBuf,
    /// Options of the operator for the script.
    pub(crate) given: &'a [String],
    pub(crate) environment: Environment,
}

impl Scorer<'_> {
    /// Scores an accuracy run, and writes `accuracy.txt` beside its log. Returns the path of
    /// `accuracy.txt`, and the metrics.
    pub(crate) fn evaluate(
        &self,
        run: &Path,
        log_sha256: &str,
    ) -> Result<(PathBuf, Metrics), RunError> {
        let _claim = self.claim(run)?;
        let file = run.join(ACCURACY_TXT);
        // A file of an earlier evaluation must not be taken for one of this evaluation.
        output::remove(&file)?;
        let (metrics, text) = self.score(run, run)?;
        output::write(&file, compliance::with_hash(text.trim_end(), log_sha256).as_bytes())?;
        Ok((file, metrics))
    }

    /// Scores the same samples of an accuracy run and of a run of TEST01, and writes both outputs of
    /// the script into the folder of TEST01. Returns the comparison.
    pub(crate) fn compare(&self, accuracy: &Path, test: &Path) -> Result<Part, RunError> {
        let failed = |error: ComplianceError| RunError::Failed(error.to_string());
        let _claim = self.claim(test)?;
        let [own, other] = [test, accuracy].map(|folder| folder.join(output::ACCURACY));
        let log = compliance::baseline(&other, &own).map_err(failed)?;
        let baseline = test.join(BASELINE);
        fs::create_dir_all(&baseline).map_err(|error| output::unwritten(&baseline, error))?;
        output::write(&baseline.join(output::ACCURACY), log.as_bytes())?;
        let [before, after] = BASELINE_SCORES.map(|name| test.join(name));
        for (file, folder) in [(&before, baseline.as_path()), (&after, test)] {
            let (_, text) = self.score(folder, accuracy)?;
            output::write(file, format!("{}\n", text.trim_end()).as_bytes())?;
        }
        fs::remove_dir_all(&baseline).map_err(|error| output::unwritten(&baseline, error))?;
        compliance::compare_baseline(&before, &after, self.benchmark, &self.formats())
            .map_err(failed)
    }

    /// Passes the accuracy log in `folder` to the script, which writes its own files there. `run` is
    /// the folder of the accuracy run. Returns the metrics, and the script's output with lines that
    /// the official checker reads.
    fn score(&self, folder: &Path, run: &Path) -> Result<(Metrics, String), RunError> {
        let script = self.script;
        let part = folder.join(PART);
        // Files of an earlier evaluation must not be taken for files of this one.
        for path in script.written(folder).into_iter().chain([part.clone()]) {
            if path.is_dir() {
                fs::remove_dir_all(&path).map_err(|error| output::unwritten(&path, error))?;
            }
            output::remove(&path)?;
        }
        let mut command = self.environment.python();
        command.arg(self.reference.join(script.file)).args(self.given);
        command.args(script.options(folder, run));
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        if let Some(option) = script.report {
            command.arg(option).arg(&part);
        }
        self.announce();
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        info!("python3 {}", words.join(" "));
        let said = child_process::run(&mut command, script.unjudged)
            .map_err(|error| self.failed(&error))?;
        let printed = String::from_utf8_lossy(&said.stdout);
        let blamed = |why: &dyn std::fmt::Display| {
            output::report(printed.trim_end());
            self.failed(&format!("{why}; its output is above"))
        };
        if !said.status.success() {
            return Err(blamed(&format!("it ended with {}", said.status)));
        }
        if let Some(line) = said.complaints.marked {
            return Err(blamed(&format!("it did not judge every answer ({line})")));
        }
        let text = match script.report {
            Some(_) => files::read_text(&part).map_err(|error| blamed(&error))?,
            None => {
                let own = printed.lines().filter(|line| !line.starts_with(OF_INDEX));
                own.map(|line| format!("{line}\n")).collect()
            }
        };
        output::write(&part, text.as_bytes())?;
        let found = compliance::printed_accuracy(&part, self.benchmark, &self.formats());
        output::remove(&part)?;
        found.map_err(|error| blamed(&error))
    }

    /// Returns the command for a shell that scores the log in `folder`, as a format of Python.
    fn shell_command(&self, folder: &Path) -> Result<String, RunError> {
        let here = env::current_dir().map_err(RunError::failed)?;
        let script = self.reference.join(self.script.file).display().to_string();
        let options = self.script.options(folder, folder);
        let words = [script].into_iter().chain(self.given.iter().cloned()).chain(options);
        let words: Vec<_> = words.map(|word| shell_word(&word)).collect();
        let here = shell_word(&here.display().to_string());
        let command = format!("cd {here} && python3 {}", words.join(" "));
        Ok(command.replace('{', "{{").replace('}', "}}"))
    }

    /// Returns the formats of the benchmark's first round, in which later checkers read files, too.
    fn formats(&self) -> Formats {
        Formats::of(self.benchmark.rounds.first().copied())
    }

    fn claim(&self, folder: &Path) -> Result<FolderLock, RunError> {
        match FolderLock::of(folder).map_err(|error| self.failed(&error))? {
            Some(claim) => Ok(claim),
            None => {
                usage(format!("{}: another process is writing into this folder", folder.display()))
            }
        }
    }

    /// Warns of a script that runs programs.
    fn announce(&self) {
        if self.script.runs_code {
            warn!(
                "{} runs programs that the model wrote, with the rights of this user: use a container",
                self.script.file
            );
        }
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> RunError {
        RunError::Script(format!("{}: {why}", self.script.file))
    }
}
