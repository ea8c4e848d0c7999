//! Whether a run would begin, as far as this machine knows.

use std::path::Path;

use netdiv_doctor::{Finding, Id, Remedy, Severity};

use crate::{
    RunConfig,
    run::{has_room, prepare},
};

/// What keeps a run with these settings from beginning.
pub(crate) fn findings(config: RunConfig) -> Vec<Finding> {
    let about = format!("{} in {}", config.benchmark, config.scenario);
    let finding = |id, why: String| {
        let remedy = Remedy::advice("what the message says; then `loadgen-node doctor` again");
        Finding::new(id, Severity::Problem, about.as_str(), why, remedy)
    };
    let room = has_room(there(&config.output), config.min_free_bytes);
    let full = room.err().map(|why| finding(Id::DiskSpace, why));
    let refused = prepare(config).err().map(|why| finding(Id::RunRefused, why.to_string()));
    refused.into_iter().chain(full).collect()
}

/// The folder, or the first above it that is there already.
fn there(folder: &Path) -> &Path {
    let above = folder.ancestors().find(|folder| folder.exists());
    above.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_to_be_made_is_on_the_file_system_above_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(there(&folder.path().join("out/a")), folder.path());
        assert_eq!(there(folder.path()), folder.path());
        assert_eq!(there(Path::new("no-such-folder/a")), Path::new("."));
    }
}
