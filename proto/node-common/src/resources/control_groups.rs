//! The control groups of this process, of both versions.

use std::path::{Path, PathBuf};

use crate::resources::kernel;

/// Which files a control group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A tree for each controller.
    V1,
    /// One tree.
    V2,
}

/// The folders of the groups that a process is in, each followed by those above it, as far as they limit that controller
/// (`memory`, `cpu`). `root` is where `proc` and `sys` are.
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
        // Inside a container the path may be that of the host, and the group itself is at the top.
        for folder in top.join(group.trim_start_matches('/')).ancestors() {
            folders.push((version, folder.to_owned()));
            if folder == top {
                break;
            }
        }
    }
    folders
}
