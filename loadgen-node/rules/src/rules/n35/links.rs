//! Requires that the documents of a submission can be read, and that their links lead to files and
//! headings in the submission.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    facts::markdown_links::{headings, local, resolved, targets},
    input::files::{DOCUMENT_BYTES, is_document},
    subject::{Findings, Subject, SubmissionTree, list_first},
    tree::{documents, list_files},
};

/// Names of headings, by the path of the document.
type Headings = BTreeMap<String, BTreeSet<String>>;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    // Submissions of other programs need not have such links.
    if subject.is_foreign() {
        return;
    }
    // `files.rs` reports a folder that cannot be listed.
    let files = list_files(&tree.path(&tree.home.root())).unwrap_or_default();
    let documents = files.iter().filter(|path| is_document(path));
    let mut headings = Headings::new();
    for path in documents {
        let place = format!("{}/{}", tree.home.root(), path.display());
        if is_of_others(tree, &place) {
            continue;
        }
        let bytes = tree.path(&place).symlink_metadata().map_or(0, |file| file.len());
        if bytes > DOCUMENT_BYTES {
            let text = "the maximum that is read: shorten it";
            found.fail(&place, format!("has {bytes} bytes, more than {DOCUMENT_BYTES}, {text}"));
            continue;
        }
        if path.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        let Some(text) = tree.text(&place) else { continue };
        let mut at = found.at(&place);
        let links: BTreeSet<_> = targets(&text).into_iter().collect();
        let dead = links.into_iter().filter_map(|target| {
            let why = dead(tree, &place, target, &mut headings)?;
            Some(format!("`{target}` ({why})"))
        });
        let dead: Vec<_> = dead.collect();
        if !dead.is_empty() {
            let dead = list_first(&dead);
            at.fail(format!("has dead links: {dead}; correct or remove them"));
        }
        at.or_pass("every link has a target");
    }
}

/// Returns true if a file is in the folder of sources, where links are not judged, unless it is the
/// README of netdiv's own sources.
fn is_of_others(tree: &SubmissionTree, place: &str) -> bool {
    place.starts_with(&format!("{}/", tree.home.code()))
        && place != format!("{}/README.md", tree.home.sources())
}

/// Returns the reason why a link of a document leads nowhere; `None` if it has a target, leads out
/// of the submission to a URL, or leads to a file that another rule reports as missing. `known`
/// caches the headings of documents.
fn dead(
    tree: &SubmissionTree,
    place: &str,
    target: &str,
    known: &mut Headings,
) -> Option<&'static str> {
    let (path, heading) = local(target)?;
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    let end = match path.as_str() {
        "" => Some(place.to_owned()),
        path => resolved(folder, path),
    };
    if end.as_ref().is_some_and(|end| is_reported_elsewhere(tree, end)) {
        return None;
    }
    let Some(end) = end.filter(|end| tree.path(end).exists()) else { return Some("no such file") };
    let heading = heading.filter(|_| end.ends_with(".md"))?;
    let read = |end: &String| headings(&tree.text(end).unwrap_or_default());
    let names = known.entry(end).or_insert_with_key(read);
    (!names.contains(&heading)).then_some("no such heading")
}

/// Returns true if the file at `path` is missing and another rule reports it.
fn is_reported_elsewhere(tree: &SubmissionTree, path: &str) -> bool {
    let sources = tree.home.sources();
    let is_missing = |path: &str| !tree.path(path).exists();
    let mut documents = documents::ALL.iter().map(|name| tree.home.document(name));
    (path.starts_with(&sources) && is_missing(&sources))
        || (documents.any(|document| document == path) && is_missing(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::subject::AllFindings;
    use crate::{
        Rule,
        book::Table,
        subject::{JudgedDivision, JudgedRound, RoundSource},
        tree::{Layout, SubmitterFolder},
    };

    /// Returns the findings about a submission with these files, each with its places.
    fn said(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let root = tempfile::tempdir().unwrap();
        let home = SubmitterFolder::new(Layout::B, "network", "acme");
        fs::create_dir_all(root.path().join(home.sources())).unwrap();
        for (path, text) in files {
            let path = root.path().join(home.root()).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let subject = Subject {
            table: Table::builtin().unwrap(),
            round: None,
            judged_round: JudgedRound {
                name: "v5.0".into(),
                by: RoundSource::Layout,
                in_table: true,
            },
            division: JudgedDivision::Network,
            tree: Some(SubmissionTree { root: root.path().into(), home }),
            systems: Vec::new(),
            idle_systems: Vec::new(),
            results: Vec::new(),
            generated_documents: std::cell::OnceCell::new(),
            is_first: false,
            against: None,
        };
        let mut found = AllFindings::default();
        judge(&subject, &mut found.of(Rule::N35));
        let of_links = found.into_grouped().into_iter().filter(|finding| finding.rule == Rule::N35);
        of_links.map(|finding| (finding.places.join(" "), finding.text)).collect()
    }

    #[test]
    fn the_dead_links_of_a_document_are_said_together() {
        let links = "[a](a.md) [b](b.md) [c](#c) [c](#c) [d](d.md) [e](e.md) [up](#) [k](k%C3%bc.md#%C3%bc)";
        let there = ("documentation/k\u{fc}.md", "# \u{dc}\n");
        let text = "has dead links: `#c` (no such heading), `a.md` (no such file), `b.md` (no such file) and 2 more; \
                    correct or remove them";
        let place = "network/acme/documentation/x.md";
        assert_eq!(said(&[("documentation/x.md", links), there])[0], (place.into(), text.into()));
    }

    #[test]
    fn documents_and_drawings_have_a_longest_length() {
        for name in ["x.md", "x.svg"] {
            let place = format!("documentation/{name}");
            let said = said(&[(&place, &"a".repeat((1 << 20) + 1))]);
            let text = "has 1048577 bytes, more than 1048576, the maximum that is read: shorten it";
            assert_eq!(said, [(format!("network/acme/{place}"), text.to_owned())]);
        }
    }

    #[test]
    fn links_among_the_sources_of_others_are_let_be() {
        let link = "[a](a.md)";
        let text = "nothing here shows it; the findings above say what could not be read";
        assert_eq!(said(&[("src/resnet50/README.md", link)]), [("".into(), text.into())]);
        let own = said(&[("src/netdiv/README.md", link), ("src/netdiv/vendor/x.md", link)]);
        assert_eq!(own[0].0, "network/acme/src/netdiv/README.md");
    }
}
