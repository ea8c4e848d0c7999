//! A submission as files: in memory, and on disk.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Files of a submission: bytes by path, with `/` between the parts of a path.
pub type FileTree = BTreeMap<String, Vec<u8>>;

/// A folder that is written under a temporary name and renamed when it is complete. If it is
/// dropped before that, it is removed.
pub(crate) struct StagedFolder {
    place: PathBuf,
    part: PathBuf,
}

impl StagedFolder {
    /// Creates the folder `PLACE.part`, where `PLACE` is the final path.
    ///
    /// # Errors
    ///
    /// Fails if `PLACE` or `PLACE.part` exists, or if the folder cannot be created.
    pub(crate) fn new(place: &Path) -> io::Result<Self> {
        let mut part = place.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        for path in [place, &part] {
            if path.symlink_metadata().is_ok() {
                let path = path.display();
                let text = format!("{path} exists already; choose another path, or move it away");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
        }
        fs::create_dir_all(&part).map_err(|error| named(&part, error))?;
        Ok(Self { place: place.to_path_buf(), part })
    }

    /// Path of the folder until it is complete.
    pub(crate) fn path(&self) -> &Path {
        &self.part
    }

    pub(crate) fn write(&self, tree: &FileTree) -> io::Result<()> {
        for (path, bytes) in tree {
            let path = self.part.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| named(parent, error))?;
            }
            fs::write(&path, bytes).map_err(|error| named(&path, error))?;
        }
        Ok(())
    }

    /// Renames the folder to its final path.
    pub(crate) fn finish(self) -> io::Result<()> {
        fs::rename(&self.part, &self.place).map_err(|error| named(&self.place, error))
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        // After `finish` there is nothing to remove.
        let _ = fs::remove_dir_all(&self.part);
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns true if the official checkers accept a name for a folder: not empty, no spaces, no
/// leading dot, one path component.
pub(crate) fn is_folder_name(name: &str) -> bool {
    let is_good = |c: char| !c.is_whitespace() && !c.is_control() && !"/\\:".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_good)
}

/// Returns true if a path stays inside the folder that it starts from.
pub(crate) fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        assert!(is_inside("network/acme/systems/a b.json"));
        for path in ["network/acme/systems/../../x", "/x", "../x"] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn a_folder_is_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("tree");
        // A file and a folder have the same path: nothing of the tree remains.
        let broken = FileTree::from([("a".into(), Vec::new()), ("a/b".into(), Vec::new())]);
        let beside = StagedFolder::new(&place).unwrap();
        assert!(beside.write(&broken).is_err());
        drop(beside);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let beside = StagedFolder::new(&place).unwrap();
        beside.write(&FileTree::from([("a/b".into(), b"x".to_vec())])).unwrap();
        beside.finish().unwrap();
        assert_eq!(fs::read(place.join("a/b")).unwrap(), b"x");
        let again = StagedFolder::new(&place).err().unwrap().to_string();
        assert!(again.contains("exists already"), "{again}");
    }
}
