//! Official scripts that compute a metric from LoadGen's accuracy log. Most metrics need what a
//! LoadGen node does not have (annotations, evaluation code). For these, netdiv checks that the
//! script will be able to read the log, and names the script's command.

use std::path::{Path, PathBuf};

use crate::{
    official_log::{LogError, LoggedResponse},
    output::ACCURACY,
    run::outcome::accuracy::one_for_each_sample,
};

/// Format of a benchmark's responses, and the script that computes its metric from them.
#[derive(Debug)]
pub(crate) struct OfficialScript {
    /// Common prefix of the names of a benchmark and its variants, such as `3d-unet` for
    /// `3d-unet-99.9`.
    pub(crate) name: &'static str,
    /// Path in a checkout of mlcommons/inference.
    pub(crate) file: &'static str,
    /// Options whose values only the operator knows, each with a placeholder for its value, such as
    /// `DIR`.
    pub(crate) asked: &'static [(&'static str, &'static str)],
    /// Options that the operator may add, because they change no figure.
    pub(crate) free: &'static [&'static str],
    /// Submodules of the checkout that the script reads.
    pub(crate) submodules: &'static [&'static str],
    /// Trial that detects missing requirements if the script itself would silently count responses
    /// as wrong.
    pub(crate) trial: Option<Trial>,
    /// Texts by which the script reports on standard error that it cannot judge a response. The
    /// script counts this response as wrong, or leaves it out.
    pub(crate) unjudged: &'static [&'static str],
    /// Set if the script passes paths to a shell without quotes.
    pub(crate) has_shell: bool,
    /// Set if the script runs programs that the model wrote.
    pub(crate) runs_code: bool,
    /// Options that netdiv sets, each with its value.
    pub(crate) known: &'static [(&'static str, OptionValue)],
    /// Option that names the accuracy log.
    pub(crate) log: &'static str,
    /// Set if that option names the log's folder.
    pub(crate) takes_folder: bool,
    /// Option that names the file for the script's result; missing if the script prints the result.
    pub(crate) report: Option<&'static str>,
    /// Python packages that are installed for the script, in versions with which it was run,
    /// separated by spaces.
    pub(crate) packages: &'static str,
    pub(crate) answers: ResponseFormat,
}

/// Python program that gets the folder of the script, and fails if something is missing.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) program: &'static str,
    /// Text that names the requirements of the script besides its packages. It follows the error of
    /// a failed trial.
    pub(crate) remedy: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum OptionValue {
    Text(&'static str),
    /// Name of a file or folder that the script writes into the log's folder.
    OfRun(&'static str),
    /// Name of a file that the run has left in its folder, and the remedy if the file is missing.
    LeftByRun(&'static str, &'static str),
}

impl OfficialScript {
    /// Returns the command that computes the official metric.
    pub(crate) fn command(&self, run: &Path) -> String {
        let known = self.options(run, run).into_iter().map(|word| format!(" {word}"));
        format!("python3 {}{}{}", self.file, self.asked_options(), known.collect::<String>())
    }

    /// Returns the arguments of `loadgen-node accuracy` after the run. The user replaces the words in
    /// capitals.
    pub(crate) fn arguments(&self) -> String {
        let asked = self.asked_options();
        format!("--reference INFERENCE{}{asked}", if asked.is_empty() { "" } else { " --" })
    }

    /// Returns the arguments of `loadgen-node audit` for the script, like [`Self::arguments`].
    pub(crate) fn audit_arguments(&self) -> String {
        let asked = self.asked.iter();
        let asked = asked.map(|(option, takes)| format!(" --script-option={option}={takes}"));
        format!("--reference INFERENCE{}", asked.collect::<String>())
    }

    fn asked_options(&self) -> String {
        self.asked.iter().map(|(option, takes)| format!(" {option} {takes}")).collect()
    }

    /// Returns the options that netdiv sets, each followed by its value, for the log in `folder`. The
    /// last option names this log. `run` is the folder of the accuracy run.
    pub(crate) fn options(&self, folder: &Path, run: &Path) -> Vec<String> {
        let value = |value: &OptionValue| match value {
            OptionValue::Text(text) => (*text).to_owned(),
            OptionValue::OfRun(name) => folder.join(name).display().to_string(),
            OptionValue::LeftByRun(name, _) => run.join(name).display().to_string(),
        };
        let known = self.known.iter().map(|(option, of)| [(*option).to_owned(), value(of)]);
        let log = if self.takes_folder { folder.into() } else { folder.join(ACCURACY) };
        let log = [self.log.to_owned(), log.display().to_string()];
        known.chain([log]).flatten().collect()
    }

    /// Returns the files and folders that the script writes into the log's folder.
    pub(crate) fn written(&self, folder: &Path) -> Vec<PathBuf> {
        let own = self.known.iter().filter_map(|(_, value)| match value {
            OptionValue::OfRun(name) => Some(folder.join(name)),
            OptionValue::Text(_) | OptionValue::LeftByRun(..) => None,
        });
        own.collect()
    }

    /// Checks that each sample has a response that the script can read.
    pub(crate) fn check(
        &self,
        responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
        total: usize,
    ) -> Result<(), String> {
        let keep = |response: &LoggedResponse| {
            self.answers.check(&response.data).map_err(|why| {
                format!(
                    "the response to sample {} {why}, which is not a response of {}",
                    response.qsl_idx, self.name
                )
            })?;
            // MultiStream issues some samples twice. In a batch of another size floats may differ
            // in the last bits, so only the lengths are compared.
            Ok(response.data.len())
        };
        one_for_each_sample(responses, total, keep).map(drop)
    }
}

/// Format of a benchmark's responses.
#[derive(Debug)]
pub(crate) enum ResponseFormat {
    /// float32 values, a multiple of `group`, each within these bounds.
    Floats { group: usize, least: f32, most: f32 },
    /// uint8 values, each at most `most`.
    Bytes { most: u8 },
    /// This number of uint8 values.
    Pixels(usize),
    /// An int32 that is not negative.
    Class,
    /// Token ids, int32, at least one.
    Tokens,
}

impl ResponseFormat {
    /// Fails with the reason if a response does not have this format.
    pub(crate) fn check(&self, data: &[u8]) -> Result<(), String> {
        match self {
            Self::Floats { group, least, most } => {
                let (floats, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || !floats.len().is_multiple_of(*group) {
                    return Err(format!("has {} bytes", data.len()));
                }
                let bounds = least..=most;
                let float = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
                match floats.iter().map(float).find(|float| !bounds.contains(&float)) {
                    Some(float) => Err(format!("holds {float}")),
                    None => Ok(()),
                }
            }
            Self::Tokens => {
                let (ids, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || ids.is_empty() {
                    return Err(format!("has {} bytes", data.len()));
                }
                match ids.iter().map(|id| i32::from_le_bytes(*id)).find(|id| *id < 0) {
                    Some(id) => Err(format!("holds {id}")),
                    None => Ok(()),
                }
            }
            Self::Class => match data.try_into().map(i32::from_le_bytes) {
                Err(_) => Err(format!("has {} bytes", data.len())),
                Ok(class) if class < 0 => Err(format!("holds {class}")),
                Ok(_) => Ok(()),
            },
            Self::Pixels(pixels) => {
                let got = data.len();
                (got == *pixels).then_some(()).ok_or_else(|| format!("has {got} bytes"))
            }
            Self::Bytes { most } => match data.iter().find(|byte| *byte > most) {
                Some(byte) => Err(format!("holds {byte}")),
                None => Ok(()),
            },
        }
    }
}
