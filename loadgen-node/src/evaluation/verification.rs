//! The official verification of TEST07 and TEST09, `run_verification.py`.

use std::{
    fmt::Display,
    fs,
    path::{self, Path, PathBuf},
};

use netdiv_node_common::resources::files;
use netdiv_rules::{
    book::{Benchmark, Test},
    compliance::responses_file,
};
use tracing::info;

use super::{Scorer, child_process, requirements::in_checkout};
use crate::{RunError, output};

/// Name of the folder in that of the test in which the program works. The program leaves copies of
/// the logs there.
const SCRATCH: &str = "verification";

/// Text of the program about an accuracy script that printed no score.
const NO_SCORE: &str = "Could not parse accuracy score";

/// Files of a compliance test in a checkout of mlcommons/inference.
#[derive(Debug)]
pub(crate) struct OfficialTest {
    pub(crate) test: Test,
    program: PathBuf,
    /// audit.config with the bounds of the test.
    config: PathBuf,
}

impl OfficialTest {
    /// Finds the files of a test for a benchmark. Fails if the checkout lacks one.
    pub(crate) fn find(
        test: Test,
        benchmark: &Benchmark,
        reference: &Path,
    ) -> Result<Self, RunError> {
        let of = benchmark.interactive_of.as_ref().unwrap_or(&benchmark.name);
        let file = |name: String| {
            let file = in_checkout(reference, &format!("compliance/{test}/{name}"))?;
            path::absolute(file).map_err(RunError::invalid)
        };
        Ok(Self {
            test,
            program: file("run_verification.py".into())?,
            config: file(format!("{of}/audit.config"))?,
        })
    }

    /// Verifies the run in `folder`, and writes the program's file with the verdict there.
    pub(crate) fn verify(&self, folder: &Path, scorer: &Scorer<'_>) -> Result<(), RunError> {
        let folder = path::absolute(folder).map_err(RunError::failed)?;
        let _claim = scorer.claim(&folder)?;
        let scratch = folder.join(SCRATCH);
        let remove = || match scratch.exists() {
            true => fs::remove_dir_all(&scratch).map_err(|e| output::unwritten(&scratch, e)),
            false => Ok(()),
        };
        remove()?;
        fs::create_dir(&scratch).map_err(|error| output::unwritten(&scratch, error))?;
        let mut command = scorer.environment.python();
        command.current_dir(&scratch).arg(&self.program).arg("--audit-config").arg(&self.config);
        command.arg("-c").arg(&folder).arg("-o").arg(&scratch);
        let is_scored = self.test == Test::Test07;
        if is_scored {
            command.arg("--accuracy-script").arg(scorer.shell_command(&folder)?);
            scorer.announce();
        }
        info!("python3 {}", self.program.display());
        let name = responses_file(self.test).unwrap_or_default();
        let ended = child_process::run(&mut command, &[]);
        let text = files::read_to_string(&scratch.join(name), u64::MAX);
        remove()?;
        let failed =
            |why: &dyn Display| RunError::Script(format!("{}: {why}", self.program.display()));
        let ended = ended.map_err(|error| failed(&error))?;
        let printed = String::from_utf8_lossy(&ended.stdout);
        let blamed = |why: &dyn Display| {
            output::report(printed.trim_end());
            failed(&format!("{why}; its output is above"))
        };
        // That of TEST09 ends with 1 if the test fails.
        let has_ended = match ended.status.code() {
            Some(0) => true,
            Some(1) => !is_scored,
            _ => false,
        };
        let Some(text) = text.ok().filter(|_| has_ended) else {
            return Err(blamed(&format!("it ended with {}", ended.status)));
        };
        let marks = || scorer.script.unjudged.iter().chain([&NO_SCORE]);
        let is_marked = |line: &&str| is_scored && marks().any(|mark| line.contains(*mark));
        if let Some(line) = text.lines().find(is_marked) {
            return Err(blamed(&format!("its script did not judge every answer ({line})")));
        }
        output::write(&folder.join(name), text.as_bytes())
    }
}
