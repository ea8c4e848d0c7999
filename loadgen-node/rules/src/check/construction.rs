//! N11, N12, N16, N19 and N21: what the program's own sources keep, where they are the sources of the program that ran
//! (rules, sections 6.2.1 and 6.2.3).

use std::path::Path;

use super::{
    checked_folder::{Run, Subject, Tree},
    findings::Findings,
    logs::disagreements,
    machines::NO_RECORD,
};
use crate::{Rule, facts::files, official_log, sources_digest::sources_sha256, tree};

const N11: Rule = Rule::new(11);
const N12: Rule = Rule::new(12);
const N16: Rule = Rule::new(16);
const N19: Rule = Rule::new(19);
const N21: Rule = Rule::new(21);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let before = found.problems(N16);
    match &subject.tree {
        Some(tree) => sources(subject, tree, found),
        None => {
            let text = "the sources are in a submission's code/netdiv: make one of the run and \
                        check that";
            found.unknown(N16, "", text);
        }
    }
    let proven = found.problems(N16) == before;
    by_construction(proven, found);
    for (_, run) in subject.runs() {
        single_test(run, found);
        figures(run, found);
    }
}

/// The sources in the tree are those of every program that ran.
fn sources(subject: &Subject, tree: &Tree, found: &mut Findings) {
    let place = tree.home.sources();
    let folder = tree.path(&place);
    let files = match read_sources(&folder) {
        Ok(files) if files.is_empty() => {
            let text = "the sources of the Query Dispatch Library are missing: add those that the \
                        program brings along";
            return found.fail(N16, place, text);
        }
        Ok(files) => files,
        Err(error) => return found.fail(N16, place, format!("cannot be read: {error}")),
    };
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let here = sources_sha256(&files);
    if !files.iter().any(|(path, _)| path.starts_with("qdl/")) {
        found.fail(
            N16,
            &place,
            "no file of the Query Dispatch Library (qdl/) is among the sources",
        );
    }
    let revision = tree.home.revision();
    if tree.text(&revision).is_some_and(|text| text.trim() != here) {
        let text = format!("is not the SHA-256 of the sources beside it, which is {here}");
        found.fail(N16, revision, text);
    }
    for (_, run) in subject.runs() {
        let Some(record) = run.result() else {
            found.unknown(N16, &run.record_place, NO_RECORD);
            continue;
        };
        let ran = &record.versions.sources_sha256;
        if *ran != here {
            let text = format!(
                "the program that ran was made of sources with SHA-256 {ran}, those in {place} \
                 have {here}: submit the sources of the program that ran"
            );
            found.fail(N16, &run.record_place, text);
        } else {
            let text = "the sources in the tree are those of the program that ran";
            found.pass(N16, &run.record_place, text);
        }
    }
}

/// All sources by their path; the file with the hash is none of them.
fn read_sources(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let files = tree::list_files(folder)?.into_iter().map(|path| {
        let text = files::read(&folder.join(&path))?;
        let path = path.to_string_lossy().replace('\\', "/");
        Ok((path, String::from_utf8_lossy(&text).into_owned()))
    });
    let files: std::io::Result<Vec<_>> = files.collect();
    Ok(files?.into_iter().filter(|(path, _)| path != "REVISION").collect())
}

fn by_construction(proven: bool, found: &mut Findings) {
    let claims = [
        (N11, "a response is decoded before LoadGen is told of it (qdl/src/incoming.rs)"),
        (N12, "LoadGen has one QDL and one test at a time (loadgen-sys)"),
        (N19, "the QDL forms no batch and knows no tensor; the nodes do (sut-node/)"),
        (N21, "times and verdicts are LoadGen's, taken from its log (official_log.rs)"),
    ];
    for (rule, claim) in claims {
        if proven {
            found.pass(rule, "", format!("{claim}, and the sources are those that ran"));
        } else {
            let text = format!(
                "{claim}, but that these are the sources of the program that ran is not shown \
                 (N16): make a submission of the run and check that"
            );
            found.unknown(rule, "", text);
        }
    }
}

fn single_test(run: &Run, found: &mut Findings) {
    let Some(detail) = run.detail() else { return };
    match detail.tests() {
        1 => found.pass(N12, &run.place, "one test in each log"),
        0 => found.fail(N12, &run.place, "the detail log has no test_datetime"),
        tests => {
            let text = format!("the detail log is of {tests} tests: give each run its own folder");
            found.fail(N12, &run.place, text);
        }
    }
}

/// LoadGen's own figures are what the summary and the record say.
fn figures(run: &Run, found: &mut Findings) {
    let Some(detail) = run.detail() else { return };
    let before = found.problems(N21);
    match run.logs.as_ref().map(|logs| &logs.summary) {
        Some(Ok(summary)) => {
            for text in disagreements(summary, detail) {
                found.fail(N21, &run.place, format!("the summary is not of this log: {text}"));
            }
        }
        Some(Err(why)) => found.fail(N21, &run.place, why),
        None => {}
    }
    if let Some(record) = run.result()
        && let Some(metric) = &record.metric
    {
        let logged = official_log::metric(record.scenario, detail).map(|metric| metric.value);
        if logged.is_none_or(|logged| (logged - metric.value).abs() > logged.abs() * 1e-9) {
            let text = format!(
                "result.json has {} {}, LoadGen's log {}",
                metric.value,
                metric.unit,
                logged.map_or_else(|| "nothing".into(), |logged| logged.to_string())
            );
            found.fail(N21, &run.record_place, text);
        }
    }
    let text = "the detail log, the summary and result.json have the same figures";
    found.pass_unless_more(N21, before, &run.place, text);
}
