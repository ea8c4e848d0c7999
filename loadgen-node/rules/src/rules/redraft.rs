//! Drafts the documents of a submission again from its `submission.toml` and its runs, and compares
//! them with those in the tree.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::{
    Outcome, Rule, Scenario,
    book::Test,
    drafting::{
        draft::redraft,
        folder::FileTree,
        results::RecordedResult,
        submission_toml::{HEAD, ResultSettings, SubmissionSettings},
        systems::stated_text,
    },
    input::json,
    subject::{AllFindings, ResultEntry, RunFiles, RunKind, Subject, SubmissionTree, list_first},
    tree::documents,
};

const MISSING: &str = "is missing or empty: make the submission again";

/// Documents that a submission needs, each with the rule that requires it.
const REQUIRED: [(&str, Rule); 3] = [
    (documents::DIAGRAM, Rule::N23),
    (documents::ARCHITECTURE, Rule::N28),
    (documents::BANDWIDTH, Rule::N27),
];

/// Rules that cannot be judged if the documents cannot be drafted again.
const RULES: [Rule; 6] = [Rule::N22, Rule::N23, Rule::N27, Rule::N28, Rule::N35, Rule::N36];

/// Judges each drafted file under the rule that requires it. If a record is unusable, which is a
/// separate finding, nothing is drafted.
pub(super) fn judge(subject: &Subject, found: &mut AllFindings) {
    let Some(tree) = subject.tree.as_ref().filter(|_| !subject.is_foreign()) else { return };
    for (name, rule) in REQUIRED {
        if tree.document(name).is_none() {
            found.of(rule).fail(tree.home.document(name), MISSING);
        }
    }
    let place = tree.home.document(documents::SETTINGS);
    match settings(subject, tree) {
        Ok(settings) => {
            // The measurement is copied into the tree, not drafted.
            if let Some(name) = &settings.architecture.measurement
                && name.starts_with("evidence/")
                && tree.document(name).is_none()
            {
                found.of(Rule::N28).fail(tree.home.document(name), MISSING);
            }
            let Some(files) = drafted(subject, tree, &settings) else { return };
            for (path, bytes) in &files {
                compare(tree, path, &String::from_utf8_lossy(bytes), found);
            }
            for text in reworded(&settings, &files) {
                found.of(Rule::N36).fail(&place, text);
            }
        }
        Err((Outcome::Fail, text)) => found.of(Rule::N35).fail(place, text),
        Err((_, text)) => {
            let text = format!("{text}: check by hand that the documents agree with the runs");
            RULES.into_iter().for_each(|rule| found.of(rule).unknown(&place, &text));
        }
    }
}

/// Drafts the files of a submission again; none, if that is not possible. Only for tests.
pub(crate) fn files(subject: &Subject) -> FileTree {
    let files = subject.tree.as_ref().and_then(|tree| {
        let settings = settings(subject, tree).ok()?;
        drafted(subject, tree, &settings)
    });
    files.unwrap_or_default()
}

/// Reads the settings in a tree. The error is an outcome and its reason.
fn settings(
    subject: &Subject,
    tree: &SubmissionTree,
) -> Result<SubmissionSettings, (Outcome, String)> {
    let unknown = |why: &str| (Outcome::CannotTell, why.to_owned());
    let Some(text) = tree.document(documents::SETTINGS) else {
        return Err(unknown("is missing, so that nothing can be drafted from it"));
    };
    let text = text.replace("\r\n", "\n");
    if !text.starts_with(HEAD) {
        return Err(unknown("does not have this program's format"));
    }
    if subject.systems.len() > 1 {
        return Err(unknown("describes one system, and the results are of several"));
    }
    let settings = SubmissionSettings::of_text(&text)
        .map_err(|why| (Outcome::Fail, format!("cannot be read: {why}")))?;
    let listed: BTreeSet<_> =
        settings.results.iter().map(|result| name_of(subject, result)).collect();
    let there: BTreeSet<_> = subject.results.iter().map(name_in_tree).collect();
    let differ: Vec<_> = listed.symmetric_difference(&there).collect();
    if !differ.is_empty() {
        // The finding about the record names the cause.
        if subject.runs().any(|(_, run)| run.result().is_none()) {
            return Err(unknown("lists other results, and a record is unusable"));
        }
        let differ = list_first(&differ);
        let text = format!("lists other results than the submission has: {differ}");
        return Err((Outcome::Fail, text + "; make the submission again"));
    }
    Ok(settings)
}

/// Returns the benchmark and the scenario of a result in the settings.
fn name_of(subject: &Subject, result: &ResultSettings) -> String {
    let written = result.benchmark.as_deref().unwrap_or_default();
    let benchmark = subject.table.find(written).map_or(written, |one| one.name.as_str());
    format!("{benchmark} {}", result.scenario.map_or("", Scenario::official_name))
}

/// Returns the benchmark and the scenario of a result in the tree.
fn name_in_tree(entry: &ResultEntry) -> String {
    format!("{} {}", entry.name, entry.scenario.map_or("", Scenario::official_name))
}

/// Drafts all files that the settings and the records determine; `None` if a record or a detail log
/// is unusable.
fn drafted(
    subject: &Subject,
    tree: &SubmissionTree,
    settings: &SubmissionSettings,
) -> Option<FileTree> {
    let results = settings.results.iter().map(|result| {
        let name = name_of(subject, result);
        let entry = subject.results.iter().find(|entry| name_in_tree(entry) == name)?;
        recorded(subject, tree, result, entry)
    });
    let results: Vec<_> = results.collect::<Option<_>>()?;
    Some(redraft(settings, &tree.home, &subject.systems.first()?.name, &results))
}

/// Returns a result with the records of its runs; `None` if one of them is unusable.
fn recorded<'a>(
    subject: &'a Subject,
    tree: &SubmissionTree,
    settings: &'a ResultSettings,
    entry: &'a ResultEntry,
) -> Option<RecordedResult<'a>> {
    let place = entry.tree.clone()?;
    let performance = entry.run(RunKind::Performance)?;
    let tests = Test::ALL.map(|test| (Some(test), RunKind::Test(test), test.name()));
    let mut others = BTreeMap::new();
    for (test, kind, name) in tests.into_iter().chain([(None, RunKind::Digests, "digests")]) {
        let run = entry.run(kind);
        match run.and_then(RunFiles::result) {
            Some(record) => drop(others.insert(test, record)),
            None if run.is_some() || tree.path(&place.record(name)).exists() => return None,
            None => {}
        }
    }
    let record = performance.result()?;
    Some(RecordedResult {
        settings,
        name: name_in_tree(entry),
        benchmark: subject.table.find(settings.benchmark.as_deref()?),
        place,
        performance: record,
        accuracy: entry.run(RunKind::Accuracy)?.result()?,
        others,
        rate: performance.detail()?.throughput(record.scenario),
    })
}

/// Compares a file with `ours`, its drafted text.
fn compare(tree: &SubmissionTree, path: &str, ours: &str, found: &mut AllFindings) {
    let name = path.strip_prefix(&tree.home.document(""));
    let required = REQUIRED.iter().find(|(required, _)| name == Some(*required));
    let mut found = found.of(match (required, name) {
        (Some((_, rule)), _) => *rule,
        (None, Some(name)) if name.starts_with("evidence/") => Rule::N22,
        (None, None) if path.starts_with(&format!("{}/systems/", tree.home.root())) => Rule::N36,
        (None, _) => Rule::N35,
    });
    let Some(text) = tree.text(path) else {
        // Other findings report files outside of the documentation, and required ones.
        if name.is_some() && required.is_none() {
            found.fail(path, MISSING);
        }
        return;
    };
    let (ours, text) = if path.ends_with(".json") {
        match json::from_slice::<Map<String, Value>>(text.as_bytes()) {
            Ok(object) => (ours.to_owned(), format!("{:#}", Value::Object(object))),
            Err(why) if name.is_some() => {
                return found.fail(path, format!("cannot be read: {why}"));
            }
            Err(_) => return,
        }
    } else {
        let text = text.replace("\r\n", "\n");
        match name {
            Some(documents::DIAGRAM) => without_own_paragraphs(ours, &text),
            _ => (ours.to_owned(), text),
        }
    };
    if ours.trim_end() == text.trim_end() {
        found.pass(path, "is what loadgen-node submission makes of submission.toml and the runs");
    } else {
        found.fail(path, difference(&ours, &text));
    }
}

/// Returns findings about keys of `[system]` that have another value than the drafted description,
/// which the runs and the links determine.
fn reworded(settings: &SubmissionSettings, files: &FileTree) -> Vec<String> {
    let descriptions = files.iter().filter(|(path, _)| path.contains("/systems/"));
    let descriptions: Vec<Map<String, Value>> =
        descriptions.filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect();
    let value = |name: &String| descriptions.iter().find_map(|fields| fields.get(name)?.as_str());
    let differ = settings.system.iter().filter_map(|(name, stated)| {
        let (stated, drafted) = (stated_text(stated)?, value(name)?);
        (stated != drafted).then(|| {
            format!("[system] {name} is `{stated}`, and the runs and links have `{drafted}`: remove the key")
        })
    });
    differ.collect()
}

/// Returns a generated Markdown document, and the same document in the tree without the paragraphs
/// that the submitter has written between its parts. Headings, tables, HTML and blocks of code
/// stay: they could hide or contradict a part.
fn without_own_paragraphs(ours: &str, text: &str) -> (String, String) {
    let generated: BTreeSet<_> = parts(ours).collect();
    let is_kept = |part: &&str| generated.contains(part) || !is_paragraph(part);
    let kept: Vec<_> = parts(text).filter(is_kept).collect();
    (parts(ours).collect::<Vec<_>>().join("\n\n"), kept.join("\n\n"))
}

/// Returns the parts of a Markdown document that blank lines separate.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.trim_end().split("\n\n").map(|part| part.trim_matches('\n'))
}

/// Returns true if a part of a Markdown document is a paragraph or a list, without HTML.
fn is_paragraph(part: &str) -> bool {
    let is_tag = |rest: &str| {
        rest.starts_with(|first: char| first.is_ascii_alphabetic() || "/!?".contains(first))
    };
    let is_other =
        |line: &str| ["#", "```", "~~~"].iter().any(|sign| line.trim_start().starts_with(sign));
    !part.contains('|') && !part.split('<').skip(1).any(is_tag) && !part.lines().any(is_other)
}

/// Describes the lines of `ours` that `text` lacks, and the lines that only `text` has.
fn difference(ours: &str, text: &str) -> String {
    let only_in = |one: &str, other: &str| -> Vec<String> {
        let others: BTreeSet<_> = other.lines().collect();
        let is_said = |line: &&str| !line.trim().is_empty() && !others.contains(line);
        one.lines().filter(is_said).map(|line| format!("`{}`", line.trim())).collect()
    };
    let (missing, surplus) = (only_in(ours, text), only_in(text, ours));
    let mut found = String::from(
        "differs from what loadgen-node submission makes of submission.toml and the runs",
    );
    if missing.is_empty() && surplus.is_empty() {
        found += "; lines were added, moved or repeated";
    }
    for (what, lines) in [("missing", missing), ("not drafted", surplus)] {
        if !lines.is_empty() {
            found += &format!("; {what}: {}", list_first(&lines));
        }
    }
    found + "; make the submission again"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture::submission_tree, input::files::sha256_of};

    #[test]
    fn lines_that_differ_are_listed() {
        let moved = difference("a\nb\n", "b\na\n");
        assert!(moved.contains("; lines were added, moved or repeated; "), "{moved}");
        let other = difference("a\nb\n", "a\nc\n");
        assert!(other.contains("; missing: `b`; not drafted: `c`; "), "{other}");
    }

    /// SHA-256 of the three required documents of the test submission, in the format of [`HEAD`].
    const OF_FORMAT: &str = "e055fa6d049d2c4076cf759f10f5a12d684409fbdc5f90e2e3a65aded5944230";

    #[test]
    fn documents_that_look_otherwise_have_another_format() {
        let folder = tempfile::tempdir().unwrap();
        let root = submission_tree(folder.path(), "network", "v5.0");
        let path = |name| root.join("network/acme/documentation").join(name);
        let texts = REQUIRED.map(|(name, _)| std::fs::read_to_string(path(name)).unwrap());
        let here = sha256_of(texts.concat());
        assert_eq!(here, OF_FORMAT, "raise the number in HEAD, and write this digest");
    }
}
