//! N35: links in the documents of a submission lead somewhere in it.

use super::{
    checked_folder::{Subject, Tree},
    findings::Findings,
};
use crate::{
    Rule::N35,
    facts::markdown_links::{headings, local, resolved, targets},
    tree::{documents, list_files},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    // What cannot be listed is told with the names of files.
    let files = list_files(&tree.path(&tree.home.root())).unwrap_or_default();
    let documents = files.iter().filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    for path in documents {
        let place = format!("{}/{}", tree.home.root(), path.display());
        let Some(text) = tree.text(&place) else { continue };
        let mut at = found.at(N35, &place);
        let links = targets(&text).into_iter().map(|range| &text[range]);
        at.fail_each(links.filter_map(|target| dead(tree, &place, &text, target)));
        at.or_pass("every link leads somewhere");
    }
}

/// Why a link of a document leads nowhere.
fn dead(tree: &Tree, place: &str, text: &str, target: &str) -> Option<String> {
    let (path, heading) = local(target)?;
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    let end = match path.as_str() {
        "" => Some(place.to_owned()),
        path => resolved(folder, path),
    };
    if end.as_ref().is_some_and(|end| is_told_elsewhere(tree, end)) {
        return None;
    }
    let end = end.filter(|end| tree.path(end).exists());
    let Some(end) = end else {
        return Some(format!(
            "links to {target}, which is not there: add it, or take the link out"
        ));
    };
    let heading = heading.filter(|_| end.ends_with(".md"))?;
    let there = if end == place { Some(text.to_owned()) } else { tree.text(&end) };
    let leads = there.is_some_and(|text| headings(&text).iter().any(|name| name == heading));
    (!leads)
        .then(|| format!("links to {target}, and {end} has no such heading: write one that it has"))
}

/// Whether another rule says that a file is not there.
fn is_told_elsewhere(tree: &Tree, path: &str) -> bool {
    let sources = tree.home.sources();
    let is_missing = |path: &str| !tree.path(path).exists();
    let mut documents = documents::ALL.iter().map(|name| tree.home.document(name));
    (path.starts_with(&sources) && is_missing(&sources))
        || (documents.any(|document| document == path) && is_missing(path))
}
