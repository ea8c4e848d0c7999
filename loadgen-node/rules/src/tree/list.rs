//! What is in a tree, found by its folders.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use super::{DIVISIONS, Home, Layout, Place};

/// All submitters of the tree in the folder `root`, in order.
///
/// # Errors
///
/// When a folder cannot be read; the message names it.
pub fn list_homes(root: &Path) -> io::Result<Vec<Home>> {
    let mut homes = Vec::new();
    for division in folders(root)?.into_iter().filter(|name| DIVISIONS.contains(&name.as_str())) {
        for submitter in folders(&root.join(&division))? {
            let folder = root.join(&division).join(&submitter);
            let is_there = |name: &&str| folder.join(name).exists();
            let is_a = ["measurements", "compliance", "code"].iter().any(is_there);
            let layout = if is_a { Layout::A } else { Layout::B };
            homes.push(Home { layout, division: division.clone(), submitter });
        }
    }
    Ok(homes)
}

/// All results of the tree in the folder `root`, in order: one for each folder of a scenario below `results`.
///
/// # Errors
///
/// When a folder cannot be read; the message names it.
pub fn list_results(root: &Path) -> io::Result<Vec<Place>> {
    let mut places = Vec::new();
    for home in list_homes(root)? {
        let results = root.join(home.root()).join("results");
        if !results.is_dir() {
            continue;
        }
        for system in folders(&results)? {
            for benchmark in folders(&results.join(&system))? {
                for scenario in folders(&results.join(&system).join(&benchmark))? {
                    let (home, system, benchmark) =
                        (home.clone(), system.clone(), benchmark.clone());
                    places.push(Place { home, system, benchmark, scenario });
                }
            }
        }
    }
    Ok(places)
}

/// Paths of all files under `root`, relative to it and in order. Links are files here: they are not followed.
///
/// # Errors
///
/// When a folder cannot be read; the message names it.
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

/// Folders by their names, as far as these are text; the check of names finds the others.
fn folders(path: &Path) -> io::Result<Vec<String>> {
    let folders = entries(path)?.into_iter().filter(|(_, is_folder)| *is_folder);
    Ok(folders.filter_map(|(name, _)| name.into_string().ok()).collect())
}

/// Names of a folder's entries in order, and whether each is a folder.
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
