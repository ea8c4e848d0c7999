//! From runs to a submission: `submission.toml` and run folders become the tree that the official checkers accept.
//!
//! [`build`] finds all that is wrong before it makes anything; [`write()`] makes the folder. The same inputs make the same
//! bytes.

mod accuracy_log;
mod accuracy_txt;
mod architecture;
mod audits;
mod bandwidth;
mod build;
mod cluster;
mod derived;
mod diagram;
mod documents;
mod drawing;
mod graph;
mod layout;
mod markdown;
mod measurements;
mod network;
mod parts;
mod power;
mod problems;
mod results;
mod rounds;
mod runs;
mod settings;
mod sources;
mod stated;
mod svg;
mod systems;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod topology;
mod user_conf;

use std::{collections::BTreeMap, fs, io, path::Path};

pub use build::build;
pub use settings::{
    Architecture, Link, Power, ResultSettings, Retraining, Settings, Switch, Topology,
};
pub use sources::sources_sha256;

/// A submission: the bytes of each file by its path, with `/` between its parts.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// Writes the tree into a new folder: beside its place first, so that it is there as a whole or not at all.
///
/// # Errors
///
/// When the folder, or `FOLDER.part`, is there already, or cannot be written.
pub fn write(tree: &Tree, folder: &Path) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    let mut part = folder.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    for path in [folder, part] {
        if path.symlink_metadata().is_ok() {
            let text =
                format!("{} is there already; choose another, or move it away", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
    }
    let write = || {
        for (path, bytes) in tree {
            let path = part.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| named(parent, error))?;
            }
            fs::write(&path, bytes).map_err(|error| named(&path, error))?;
        }
        fs::rename(part, folder).map_err(|error| named(folder, error))
    };
    write().inspect_err(|_| drop(fs::remove_dir_all(part)))
}

/// Whether the official checkers take a name for a folder: not empty, no spaces, no dot in front, one part.
fn is_folder_name(name: &str) -> bool {
    let is_good = |c: char| !c.is_whitespace() && !c.is_control() && !"/\\:".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_good)
}
