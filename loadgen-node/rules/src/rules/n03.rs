//! N3: an unaltered LoadGen that the round accepts wrote every log (rules, section 5.1).

use std::collections::BTreeMap;

use crate::{
    book::{BuiltLoadGen, LoadGen, Round, Sources, Table},
    facts::machines::non_empty,
    official_log::DetailLog,
    record::RunResult,
    subject::{Findings, ResultEntry, Subject},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        judge_result(subject, entry, found);
    }
    let versions = |record: &RunResult| {
        (record.versions.loadgen.clone(), record.versions.loadgen_origin.clone())
    };
    find_conflicting_values(subject, "origin of one LoadGen is", versions, found);
    found.records(subject, other_versions);
}

/// Judges the logs of a result, which must come from one LoadGen.
fn judge_result(subject: &Subject, entry: &ResultEntry, found: &mut Findings) {
    let mut first: Option<(BuiltLoadGen, &str)> = None;
    let logs = entry.runs.iter().filter_map(|run| Some((run, run.detail()?)));
    for (run, log) in logs {
        let mut at = found.at(&run.place);
        let built = match built(log) {
            Ok(built) => built,
            Err(missing) => {
                at.fail(missing);
                continue;
            }
        };
        if let Some((other, place)) = &first
            && other.sources.sha256 != built.sources.sha256
        {
            at.fail(format!(
                "its LoadGen {} has other files than LoadGen {} of {place}: make all runs of a result with one LoadGen",
                built.version, other.version
            ));
        }
        let seed = log.seed("schedule_rng_seed");
        match look_up(subject.table, &built, seed) {
            LoadGenMatch::Altered(why) => at.fail(why),
            LoadGenMatch::Unlisted(why) => at.unknown(why),
            LoadGenMatch::Listed(row) => {
                match subject.round.and_then(|round| other_round(subject.table, row, round)) {
                    Some(why) => at.fail(why),
                    // The two documents that define which LoadGen is accepted.
                    None => at.or_pass(format!(
                        "LoadGen's files are those of {row}: rules 5.1 require \"a tagged approved revision\", and the README of \
                         mlcommons/inference accepts \"any commit since\" the round's seed release"
                    )),
                }
            }
        }
        first.get_or_insert((built, &run.place));
    }
}

/// Returns the LoadGen that wrote a log. Fails with the key that the log lacks.
fn built(log: &DetailLog) -> Result<BuiltLoadGen, String> {
    let text = |key: &str| {
        log.text(key)
            .map(str::to_owned)
            .ok_or_else(|| format!("the log has no {key}: submit it as LoadGen wrote it"))
    };
    let (version, changes) = (text("loadgen_version")?, text("loadgen_git_status_message")?);
    let files = log.value("loadgen_file_sha1").and_then(|value| value.as_object());
    let files =
        files.ok_or("the log has no map loadgen_file_sha1: submit it as LoadGen wrote it")?;
    let files = files.iter().map(|(path, sha1)| (path, sha1.as_str().unwrap_or_default()));
    Ok(BuiltLoadGen { version, changes, sources: Sources::of(files) })
}

#[derive(Debug, PartialEq)]
enum LoadGenMatch<'t> {
    /// Its files match a row of the table.
    Listed(&'t LoadGen),
    /// Its files match no row; the text describes how to add a row.
    Unlisted(String),
    /// It was changed or contradicts itself; the text describes that.
    Altered(String),
}

/// Looks up a LoadGen in the table by its source files. If no row has them, the returned text
/// contains a row to add, with `schedule_seed`.
fn look_up<'t>(
    table: &'t Table,
    built: &BuiltLoadGen,
    schedule_seed: Option<u64>,
) -> LoadGenMatch<'t> {
    let BuiltLoadGen { version, changes, sources } = built;
    if !["", "NA"].contains(&changes.as_str()) {
        return LoadGenMatch::Altered(format!("it was built with uncommitted changes: {changes}"));
    }
    let is_it = |known: &&LoadGen| known.sources_sha256 == sources.sha256;
    let Some(row) = table.loadgens.iter().find(is_it) else {
        return LoadGenMatch::Unlisted(unlisted(table, built, schedule_seed));
    };
    if let Some(header) = &sources.conf_header_sha1
        && *header != row.mlperf_conf_h_sha1
    {
        return LoadGenMatch::Unlisted(format!(
            "its sources are those of {row}, but its mlperf_conf.h (SHA-1 {header}) is not what LoadGen's build generates from that \
             mlperf.conf (SHA-1 {}): compare them, or rebuild LoadGen",
            row.mlperf_conf_h_sha1
        ));
    }
    if !row.versions.iter().any(|version| version == built.number()) {
        return LoadGenMatch::Altered(format!(
            "it reports version {version}, but its files are those of {row}, version {}: rebuild it from unmodified sources",
            row.versions.join(", ")
        ));
    }
    LoadGenMatch::Listed(row)
}

/// Returns a text if a LoadGen belongs to another round than `round`.
fn other_round(table: &Table, row: &LoadGen, round: &Round) -> Option<String> {
    let own = table.round_of_loadgen(row);
    if own.is_some_and(|own| own.name == round.name) {
        return None;
    }
    let own = own.map_or_else(|| "none in the table".to_owned(), |own| own.name.to_string());
    Some(format!(
        "its files are those of {row}, with the seeds of round {own}, not of round {}: {}",
        round.name,
        table.build_for(round)
    ))
}

fn unlisted(table: &Table, built: &BuiltLoadGen, schedule_seed: Option<u64>) -> String {
    let last = table.loadgens.last().map_or_else(String::new, |row| format!(", up to {row}"));
    let header = built.sources.conf_header_sha1.as_deref().unwrap_or("SHA1");
    let seed = schedule_seed.map_or_else(|| "SEED".into(), |seed| seed.to_string());
    format!(
        "the files of LoadGen {} match no commit in the table{last}. If they belong to a later commit of \
         mlcommons/inference, add this line above the first table in a copy of table.toml, and pass that as --benchmarks: loadgen = [{{ \
         versions = [\"{}\"], commit = \"COMMIT\", date = \"DATE\", schedule_seed = \"{seed}\", sources_sha256 = \"{}\", \
         mlperf_conf_h_sha1 = \"{header}\" }}]",
        built.version,
        built.number(),
        built.sources.sha256
    )
}

/// Returns a finding if the record and the LoadGen node's evidence name different versions of
/// LoadGen, and one if the record's `loadgen_origin` names another release.
fn other_versions(record: &RunResult) -> impl Iterator<Item = String> {
    let versions = &record.versions;
    let machine = record.evidence.as_ref().map(|evidence| &evidence.loadgen_node);
    let named = machine.and_then(|machine| non_empty(&machine.framework));
    let other = version_mismatch("the LoadGen node", named, "LoadGen ", &versions.loadgen);
    let number = versions.loadgen.split(' ').next().unwrap_or_default();
    let origin = versions.loadgen_origin.strip_prefix("mlcommons-loadgen ");
    let released = origin.and_then(|origin| origin.split(' ').next());
    let released = released.filter(|released| *released != number).map(|released| {
        format!("loadgen_origin names release {released}, and LoadGen was {number}")
    });
    other.into_iter().chain(released)
}

/// Finds records whose value differs from an earlier record with the same key, such as two versions
/// of the same sources. `of` returns the key and the value of a record. `what` names the value in
/// the finding.
pub(super) fn find_conflicting_values(
    subject: &Subject,
    what: &str,
    of: impl Fn(&RunResult) -> (String, String),
    found: &mut Findings,
) {
    let mut known: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (run, record) in subject.records() {
        let place = run.record_place.as_str();
        let (key, value) = of(record);
        let (first, there) = known.entry(key).or_insert((value.clone(), place));
        if *first != value {
            let text = format!(
                "the {what} {value} here and {first} in {there}: take the records as the runs wrote them"
            );
            found.fail(place, text);
        }
    }
}

/// Returns a finding if a machine reported another version of a program than the record has.
/// `named` is the machine's report, such as `sut-node 0.1.0`, and `program` is the part before the
/// version.
pub(super) fn version_mismatch(
    who: &str,
    named: Option<&str>,
    program: &str,
    version: &str,
) -> Option<String> {
    let other = named?.strip_prefix(program).filter(|other| *other != version)?;
    Some(format!("{who} named {program}{other}, and the record has version {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::loadgen_files::{OF_5_0_11 as MAP, of_release};

    fn log(version: &str, status: &str, map: &str) -> DetailLog {
        let line = |key: &str, value: &str| {
            let value = value.replace('\n', "");
            format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"metadata\": {{}}}}\n")
        };
        let text = line("loadgen_version", &format!("\"{version}\""))
            + &line("loadgen_git_status_message", &format!("\"{status}\""))
            + &line("loadgen_file_sha1", map);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        DetailLog::read(file.path()).unwrap()
    }

    fn judged(log: &DetailLog) -> LoadGenMatch<'static> {
        look_up(Table::builtin().unwrap(), &built(log).unwrap(), Some(7))
    }

    fn listed(log: &DetailLog) -> &'static LoadGen {
        match judged(log) {
            LoadGenMatch::Listed(row) => row,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_tell_the_commit_whatever_the_checkout() {
        for revision in ["ef1bd3b95e", "0123456789", "NA"] {
            let row = listed(&log(&format!("5.0.11 @ {revision}"), "", MAP));
            assert_eq!(row.to_string(), "tag v5.0 (commit ef1bd3b95e of 2025-01-15)");
        }
        let later = log("5.0.22 @ 75f297d44c", "NA", &of_release(MAP, "5.0.22"));
        assert_eq!(listed(&later).tag.as_deref(), Some("v5.1"));
        // The package is a commit between two tags.
        let between = log("5.0.13 @ be4314b08f", "", &of_release(MAP, "5.0.13"));
        assert_eq!(listed(&between).to_string(), "commit be4314b08f of 2025-01-28");
        // Files that are not compiled do not count.
        let zeros = "0000000000000000000000000000000000000000";
        let readme = MAP.replace("20a55bb946c2c0bbb564ced2af1e48efd096b3a8", zeros);
        listed(&log("5.0.11 @ NA", "", &readme));
    }

    #[test]
    fn unlisted_files_come_with_the_row_to_add() {
        let zeros = "0000000000000000000000000000000000000000";
        let results = "239835696a1abe2cac9e866122d1dddc367e3548";
        for map in [MAP.replace(results, zeros), MAP.replace("\"/results.cc\"", "\"/more.cc\"")] {
            let LoadGenMatch::Unlisted(why) = judged(&log("5.0.11 @ NA", "", &map)) else {
                panic!("{map}")
            };
            let row = &why[why.find("loadgen = [").unwrap()..];
            let files: BTreeMap<String, String> = serde_json::from_str(&map).unwrap();
            let sum = Sources::of(&files);
            assert!(row.contains(&sum.sha256) && row.contains("schedule_seed = \"7\""), "{row}");
        }
        let header = MAP.replace("3d6fc18ef366524e751b68039699e0e48951167d", zeros);
        let LoadGenMatch::Unlisted(why) = judged(&log("5.0.11 @ NA", "", &header)) else {
            panic!()
        };
        assert!(why.contains(&format!("its mlperf_conf.h (SHA-1 {zeros})")), "{why}");
    }
}
