//! The official scripts that compute a metric from LoadGen's accuracy log. Most benchmarks' metric needs what a LoadGen node does not
//! have (annotations, evaluation code): their log is checked for what the script will read, and the script is named.

use std::path::{Path, PathBuf};

use crate::{
    official_log::{LogError, Response},
    output::ACCURACY,
    run::outcome::accuracy::{answers::Answers, one_for_each_sample},
};

/// A benchmark's answers, and the script that turns them into its metric.
#[derive(Debug)]
pub(crate) struct OfficialScript {
    /// Names of the benchmark begin with it.
    pub(crate) name: &'static str,
    /// In a checkout of mlcommons/inference.
    pub(crate) file: &'static str,
    /// Options whose values only the operator knows, each with what it takes.
    pub(crate) asked: &'static [(&'static str, &'static str)],
    /// Further options that change no figure.
    pub(crate) free: &'static [&'static str],
    /// Submodules of the checkout that it reads.
    pub(crate) submodules: &'static [&'static str],
    /// Finds what is missing, where the script itself would count answers as wrong and say nothing.
    pub(crate) trial: Option<Trial>,
    /// What it says on standard error of an answer that it cannot judge, and counts as wrong or leaves out.
    pub(crate) unjudged: &'static [&'static str],
    /// Whether it gives paths to a shell without quotes.
    pub(crate) has_shell: bool,
    /// Options whose values are known.
    pub(crate) known: &'static [(&'static str, Value)],
    /// The option that takes the accuracy log.
    pub(crate) log: &'static str,
    /// The option that takes the file for what it finds, where that is not printed.
    pub(crate) report: Option<&'static str>,
    /// Python packages that it was run with.
    pub(crate) packages: &'static [&'static str],
    pub(crate) answers: Answers,
}

/// A program in Python, which gets the folder of the script and fails where something is missing.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) program: &'static str,
    /// What the script needs beside its packages.
    pub(crate) remedy: &'static str,
}

/// The value of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Text(&'static str),
    /// A file or folder that the script writes into the run's folder.
    OfRun(&'static str),
    /// A file that the run has left there, and what to do where it is missing.
    LeftByRun(&'static str, &'static str),
}

impl OfficialScript {
    /// What to run for the official metric.
    pub(crate) fn command(&self, run: &Path) -> String {
        let asked = self.asked.iter().map(|(option, takes)| format!(" {option} {takes}"));
        let known = self.options(run).into_iter().map(|word| format!(" {word}"));
        format!("python3 {}{}{}", self.file, asked.collect::<String>(), known.collect::<String>())
    }

    /// The options whose values are known, with those of the run in this folder.
    pub(crate) fn options(&self, run: &Path) -> Vec<String> {
        let value = |value: &Value| match value {
            Value::Text(text) => (*text).to_owned(),
            Value::OfRun(name) | Value::LeftByRun(name, _) => run.join(name).display().to_string(),
        };
        let known = self.known.iter().map(|(option, of)| [(*option).to_owned(), value(of)]);
        let log = [self.log.to_owned(), run.join(ACCURACY).display().to_string()];
        known.chain([log]).flatten().collect()
    }

    /// The files and folders that it writes into the run's folder.
    pub(crate) fn written(&self, run: &Path) -> Vec<PathBuf> {
        let own = self.known.iter().filter_map(|(_, value)| match value {
            Value::OfRun(name) => Some(run.join(name)),
            Value::Text(_) | Value::LeftByRun(..) => None,
        });
        own.collect()
    }

    /// Checks that each sample has one answer that the script can read.
    pub(crate) fn check(
        &self,
        responses: impl Iterator<Item = Result<Response, LogError>>,
        total: usize,
    ) -> Result<(), String> {
        let keep = |response: &Response| {
            self.answers.check(&response.data).map_err(|why| {
                format!(
                    "the response to sample {} {why}, which is no answer of {}",
                    response.qsl_idx, self.name
                )
            })?;
            // MultiStream asks for some samples twice; in a batch of another size floats may differ in the last bits.
            Ok(response.data.len())
        };
        one_for_each_sample(responses, total, keep).map(drop)
    }
}
