//! Compares the README of a result with the records beside it.

use crate::{
    Scenario,
    book::Test,
    derived::readme::{DIGESTS, of_test, text},
    input::files,
    placeholder::is_placeholder,
    record::RunResult,
    subject::{Findings, RunFiles, Subject, SubmissionTree},
    tree::ResultPaths,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let Some(place) = &entry.tree else { continue };
        if entry.runs.iter().any(RunFiles::has_unusable_record) {
            continue;
        }
        let known = entry.scenario.map(Scenario::official_name);
        let scenario = known.unwrap_or(&place.scenario);
        let wanted = made(tree, place, &format!("{} {scenario}", entry.name));
        // Another finding covers a missing or unwritten README.
        let written = tree.text(&place.readme()).filter(|text| !is_placeholder(text));
        let (Some(wanted), Some(written)) = (wanted, written) else { continue };
        if !written.contains(&wanted) {
            let mut lines = written.lines();
            let missing = wanted.lines().find(|wanted| lines.all(|line| line != *wanted));
            let line = missing.unwrap_or("its lines in this order, and no others between them");
            let text = format!(
                "differs from the records beside it, which require `{line}`: keep the text as loadgen-node submission wrote \
                 it, and write yours above it"
            );
            found.fail(place.readme(), text);
        }
    }
}

/// Returns the text that the README must contain, generated from the records of a result; `None` if
/// one of them cannot be read. Looks for the records' files, because the record of a compliance
/// test may be its only file.
fn made(tree: &SubmissionTree, place: &ResultPaths, name: &str) -> Option<String> {
    let record = |run: &str| {
        let path = tree.path(&place.record(run));
        path.exists().then(|| RunResult::of(&files::read(&path).ok()?).ok())
    };
    let tests = [Test::Test01, Test::Test04, Test::Test06];
    let tests = tests.map(|test| (of_test(test), record(test.name())));
    let others = std::iter::once((DIGESTS.to_owned(), record("digests"))).chain(tests);
    let others = others.filter_map(|(what, run)| run.map(|run| Some((what, run?))));
    let others: Vec<_> = others.collect::<Option<_>>()?;
    let others: Vec<_> = others.iter().map(|(what, run)| (what.clone(), run)).collect();
    Some(text(name, &record("performance")??, &record("accuracy")??, &others))
}
