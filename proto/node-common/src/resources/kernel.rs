//! Files of the kernel, in /proc and /sys: they are short, and are read anew each time. Control
//! groups of this process, of both versions.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the text of a file, or an empty text if it cannot be read, as on kernels without the
/// file.
pub fn read(path: impl AsRef<Path>) -> String {
    try_read(path).unwrap_or_default()
}

/// Returns the text of a file, or `None` if it cannot be read.
#[expect(clippy::disallowed_methods, reason = "reads the kernel's files, which are short")]
pub fn try_read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Version of control groups, which decides the names of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupVersion {
    /// Version with a tree for each controller.
    V1,
    /// Version with a single tree.
    V2,
}

/// Returns the folders of the process's groups that limit a controller (`memory`, `cpu`), each
/// followed by its ancestors. `root` contains `proc` and `sys`.
pub fn control_groups(root: &Path, controller: &str) -> Vec<(GroupVersion, PathBuf)> {
    let groups = read(root.join("proc/self/cgroup"));
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (version, tree) = match controllers {
            "" => (GroupVersion::V2, "sys/fs/cgroup".into()),
            _ if controllers.split(',').any(|name| name == controller) => {
                (GroupVersion::V1, format!("sys/fs/cgroup/{controller}"))
            }
            _ => continue,
        };
        let top = root.join(tree);
        // Inside a container the path may be the host's, and the process's own group is at the top.
        for folder in top.join(group.trim_start_matches('/')).ancestors() {
            folders.push((version, folder.to_owned()));
            if folder == top {
                break;
            }
        }
    }
    folders
}
