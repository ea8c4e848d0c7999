//! Python environment with the packages that a script needs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use netdiv_node_common::resources::files;
use tracing::info;

use crate::{RunError, output, run::outcome::accuracy::OfficialScript, settings::usage};

/// Python environment: the programs and packages that scripts use.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// Folder of the program `python3`; scripts call that name. `None`: that of the machine.
    programs: Option<PathBuf>,
}

/// Name of the file that lists the installed packages; written when all of them are installed.
const MADE: &str = "made";

impl Environment {
    /// Returns the operator's environment in the folder `own`, which must have all that the script
    /// needs, or else the script's environment in netdiv's cache.
    pub(crate) fn of(script: &OfficialScript, own: Option<&Path>) -> Result<Self, RunError> {
        own.map_or_else(|| Self::cached(script), Self::from_folder)
    }

    fn from_folder(folder: &Path) -> Result<Self, RunError> {
        let programs = folder.join("bin");
        if !programs.join("python3").exists() {
            return usage(format!(
                "--python {}: it has no bin/python3; give the folder of a virtual environment (`python3 -m venv`)",
                folder.display()
            ));
        }
        Ok(Self { programs: Some(programs.canonicalize().unwrap_or(programs)) })
    }

    /// Returns the environment of a script in netdiv's cache. The first call for a script, or for a
    /// changed list of its packages, creates the environment and downloads the packages.
    fn cached(script: &OfficialScript) -> Result<Self, RunError> {
        let folder = cache()?.join("accuracy").join(script.name);
        let packages = script.packages;
        let failed = |why: &dyn std::fmt::Display| {
            RunError::Script(format!(
                "{why}; install {packages} in your own virtual environment, and name it with --python"
            ))
        };
        fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let own =
            fs::File::create(folder.with_extension("lock")).map_err(|error| failed(&error))?;
        own.lock().map_err(|error| failed(&error))?;
        if files::read_text(&folder.join(MADE))
            .is_ok_and(|made| made.replace('\n', " ") == packages)
        {
            return Self::from_folder(&folder);
        }
        info!(folder = %folder.display(), packages, "fetching Python packages, once");
        let succeed = |command: &mut Command| match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(&format!("{command:?} ended with {status}"))),
            Err(error) => Err(failed(&format!("{command:?}: {error}"))),
        };
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let made = Self::from_folder(&folder)?;
        // pip's output would mix with the script's.
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        succeed(made.python().args(pip).args(packages.split(' ')))?;
        output::write(&folder.join(MADE), packages.as_bytes())?;
        Ok(made)
    }

    /// Returns a command for `python3`. Programs that the script starts find the same `python3`
    /// first.
    pub(crate) fn python(&self) -> Command {
        let others = env::var_os("PATH").unwrap_or_default();
        let path = self.programs.iter().cloned().chain(env::split_paths(&others));
        let own = self.programs.as_ref().map(|folder| folder.join("python3"));
        let mut command = Command::new(own.unwrap_or_else(|| "python3".into()));
        command.env("PYTHONUTF8", "1");
        if let Ok(path) = env::join_paths(path) {
            command.env("PATH", path);
        }
        command
    }
}

/// Returns `$XDG_CACHE_HOME/netdiv`, or `~/.cache/netdiv`.
fn cache() -> Result<PathBuf, RunError> {
    let folder =
        |name: &str| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    match folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache"))) {
        Some(cache) => Ok(cache.join("netdiv")),
        None => usage("HOME is not set; name a virtual environment with --python"),
    }
}
