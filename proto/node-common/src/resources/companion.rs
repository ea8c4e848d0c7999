//! Companions: files that belong to another file and are in its folder, such as a data set's
//! manifest or a model's weights.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::resources::files::sha256;

/// Returns the path of a file's companion, if it exists. `beside` computes the companion's path
/// from the file's path.
///
/// The companion is in the folder of the path, or in the folder of the file that a symbolic link
/// leads to.
///
/// # Errors
///
/// Fails if both exist and differ.
pub fn companion(path: &Path, beside: impl Fn(&Path) -> PathBuf) -> io::Result<Option<PathBuf>> {
    let named = beside(path);
    let linked = fs::canonicalize(path).map_or_else(|_| named.clone(), |path| beside(&path));
    // If the check itself fails, the reader of the file reports the error.
    let is_there = |path: &Path| path.try_exists().unwrap_or(true);
    match (is_there(&named), is_there(&linked)) {
        (false, false) => Ok(None),
        (true, false) => Ok(Some(named)),
        (false, true) => Ok(Some(linked)),
        (true, true) if is_same(&named, &linked)? => Ok(Some(named)),
        (true, true) => Err(io::Error::other(format!(
            "{} and {} belong to one file, and differ: remove the one that is wrong",
            named.display(),
            linked.display()
        ))),
    }
}

/// Returns the path of a file's companion. If it is missing, returns its expected path in the
/// folder of `path`.
///
/// # Errors
///
/// Fails like [`companion`].
pub fn expected(path: &Path, beside: impl Fn(&Path) -> PathBuf) -> io::Result<PathBuf> {
    Ok(companion(path, &beside)?.unwrap_or_else(|| beside(path)))
}

/// Returns the path of a file that another file names, relative to its folder. If it is missing,
/// returns its expected path.
///
/// # Errors
///
/// Fails like [`companion`].
pub fn relative(path: &Path, file: &Path) -> io::Result<PathBuf> {
    expected(path, |path| path.parent().unwrap_or(Path::new("")).join(file))
}

fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    if fs::canonicalize(one)? == fs::canonicalize(other)? {
        return Ok(true);
    }
    Ok(fs::metadata(one)?.len() == fs::metadata(other)?.len() && sha256(one)? == sha256(other)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_companion_is_found_beside_the_link_and_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/set.npy"), "samples").unwrap();
        symlink("data/set.npy", at("link.npy")).unwrap();
        symlink("link.npy", at("link of a link.npy")).unwrap();
        let manifest = |path: &Path| {
            companion(path, |path| path.with_extension("json")).map_err(|error| error.to_string())
        };
        for name in ["data/set.npy", "link.npy", "link of a link.npy"] {
            assert_eq!(manifest(&at(name)), Ok(None), "{name}");
        }
        fs::write(at("data/set.json"), "one").unwrap();
        for name in ["link.npy", "link of a link.npy", "data/set.npy"] {
            let found = manifest(&at(name)).unwrap().unwrap();
            assert_eq!(fs::read_to_string(found).unwrap(), "one", "{name}");
        }
        // Equal content under another name is not a second manifest.
        fs::write(at("link.json"), "one").unwrap();
        assert_eq!(manifest(&at("link.npy")), Ok(Some(at("link.json"))));
        fs::write(at("link.json"), "two").unwrap();
        let error = manifest(&at("link.npy")).unwrap_err();
        assert!(error.contains("link.json") && error.contains("set.json"), "{error}");
        fs::remove_file(at("data/set.json")).unwrap();
        assert_eq!(manifest(&at("link.npy")), Ok(Some(at("link.json"))));
        assert_eq!(manifest(&at("missing.npy")), Ok(None));
    }

    #[test]
    fn a_missing_file_is_named_where_its_name_leads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.toml");
        let file = relative(&path, Path::new("model.pt")).unwrap();
        assert_eq!(file, folder.path().join("model.pt"));
        assert_eq!(relative(&path, Path::new("/a/b")).unwrap(), Path::new("/a/b"));
    }
}
