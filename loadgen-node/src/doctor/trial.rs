//! Trial of a run: checks whether the run would begin, as far as this machine knows.

use std::path::Path;

use netdiv_machine::doctor::{Draft, Id};

use crate::{
    RunConfig, RunError,
    run::{check_free_space, prepare},
};

/// Returns a finding for each reason why a run with these settings would not begin. `sample` is the
/// error, if any, that kept the sample from being sent to the nodes.
pub(crate) fn findings(config: RunConfig, sample: Option<RunError>) -> Vec<Draft> {
    let about = format!("{} in {}", config.benchmark, config.scenario);
    let finding = |id, why: String| Draft::of(id, about.as_str()).fact("why", why);
    let room = check_free_space(existing_ancestor(&config.output), config.min_free_bytes);
    let full = room.err().map(|why| finding(Id::DiskSpace, why));
    let refused = prepare(config).err().or(sample);
    let refused = refused.map(|why| finding(Id::RunRefused, why.to_string()));
    refused.into_iter().chain(full).collect()
}

/// Returns the folder, or its nearest ancestor that exists.
fn existing_ancestor(folder: &Path) -> &Path {
    let above = folder.ancestors().find(|folder| folder.exists());
    above.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_to_be_made_is_on_the_file_system_above_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(existing_ancestor(&folder.path().join("out/a")), folder.path());
        assert_eq!(existing_ancestor(folder.path()), folder.path());
        assert_eq!(existing_ancestor(Path::new("no-such-folder/a")), Path::new("."));
    }
}
