//! Lists the contents of a tree by its folders.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::{DIVISIONS, Layout, ResultPaths, SubmitterFolder};

/// Lists all submitters of the tree in the folder `root`, in order. A folder that does not show its
/// layout counts as layout A.
///
/// # Errors
///
/// Fails if a folder cannot be read; the message names it.
pub fn list_homes(root: &Path) -> io::Result<Vec<SubmitterFolder>> {
    let mut homes = Vec::new();
    for division in folders(root)?.into_iter().filter(|name| DIVISIONS.contains(&name.as_str())) {
        let submitters = folders(&root.join(&division))?;
        homes.extend(submitters.iter().map(|name| find_home(root, &division, name, Layout::A)));
    }
    Ok(homes)
}

/// Finds a submitter's folder in the tree `root`. If the contents of the folder do not show its
/// layout, it gets the layout `layout`.
pub(crate) fn find_home(
    root: &Path,
    division: &str,
    submitter: &str,
    layout: Layout,
) -> SubmitterFolder {
    let folder = root.join(division).join(submitter);
    let layout = detect_layout(&folder).unwrap_or(layout);
    let names = [layout, Layout::A, Layout::B].map(Layout::code);
    let code = names.into_iter().find(|name| folder.join(name).is_dir()).unwrap_or(layout.code());
    SubmitterFolder { code, ..SubmitterFolder::new(layout, division, submitter) }
}

/// Returns the layout that the submitter's folder shows; `None` if it contains nothing that is
/// specific to a layout.
pub(crate) fn detect_layout(folder: &Path) -> Option<Layout> {
    let has = |name: &&str| folder.join(name).is_dir();
    if ["measurements", "compliance"].iter().any(has) {
        return Some(Layout::A);
    }
    let is_of_b = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("TEST") || ["measurements.json", "user.conf"].contains(&&*name)
    };
    let holds = |folder: &PathBuf| {
        let inside = entries(folder).unwrap_or_default();
        inside.iter().any(|(name, _)| is_of_b(name))
    };
    let scenarios = results(&folder.join("results")).unwrap_or_default();
    let is_b = has(&Layout::B.code()) || scenarios.iter().any(holds);
    is_b.then_some(Layout::B)
}

/// Lists the folders of scenarios in the folder `results`, three levels below it:
/// SYSTEM/BENCHMARK/SCENARIO.
fn results(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut level = vec![folder.to_path_buf()];
    for _ in 0..3 {
        let mut below = Vec::new();
        for folder in &level {
            below.extend(folders(folder)?.iter().map(|name| folder.join(name)));
        }
        level = below;
    }
    Ok(level)
}

/// Lists all results of a submitter in the tree `root`, in order: one for each folder of a scenario
/// below `results`.
///
/// # Errors
///
/// Fails if a folder cannot be read; the message names it.
pub fn list_results(root: &Path, home: &SubmitterFolder) -> io::Result<Vec<ResultPaths>> {
    let folder = root.join(home.root()).join("results");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let place = |path: PathBuf| {
        let path = path.strip_prefix(&folder).ok()?;
        let mut parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        let (system, benchmark, scenario) = (parts.next()?, parts.next()?, parts.next()?);
        Some(ResultPaths { home: home.clone(), system, benchmark, scenario })
    };
    Ok(results(&folder)?.into_iter().filter_map(place).collect())
}

/// Lists the paths of all files under `root`, relative to it and in order. Links count as files and
/// are not followed.
///
/// # Errors
///
/// Fails if a folder cannot be read; the message names it.
pub fn list_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        for (name, is_folder) in entries(&root.join(&folder))? {
            let path = folder.join(name);
            if is_folder { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// Lists the names of the folders in `path`. Names that are not text are left out; a separate check
/// reports them.
fn folders(path: &Path) -> io::Result<Vec<String>> {
    let folders = entries(path)?.into_iter().filter(|(_, is_folder)| *is_folder);
    Ok(folders.filter_map(|(name, _)| name.into_string().ok()).collect())
}

/// Lists the entries of a folder in order: the name of each, and true if it is a folder.
fn entries(path: &Path) -> io::Result<BTreeSet<(OsString, bool)>> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()))
    };
    fs::read_dir(path)
        .map_err(named)?
        .map(|entry| {
            let entry = entry.map_err(named)?;
            let is_folder = entry.file_type().map_err(named)?.is_dir();
            Ok((entry.file_name(), is_folder))
        })
        .collect()
}
