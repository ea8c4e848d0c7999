//! Control groups of this process, of both versions.

use std::path::{Path, PathBuf};

use crate::resources::kernel;

/// Version of control groups, which decides the names of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Version with a tree for each controller.
    V1,
    /// Version with a single tree.
    V2,
}

/// Returns the folders of the process's groups that limit a controller (`memory`, `cpu`), each
/// followed by its ancestors. `root` contains `proc` and `sys`.
pub fn folders(root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let groups = kernel::read(root.join("proc/self/cgroup"));
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (version, tree) = match controllers {
            "" => (Version::V2, "sys/fs/cgroup".into()),
            _ if controllers.split(',').any(|name| name == controller) => {
                (Version::V1, format!("sys/fs/cgroup/{controller}"))
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
