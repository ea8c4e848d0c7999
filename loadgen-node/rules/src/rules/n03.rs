//! N3: every log is of a tagged release of LoadGen, unaltered (rules, section 5.1).

use super::{RuleEntry, Same, same};
use crate::{
    Rule,
    book::{Round, Table},
    facts::{files::sha256_of, machines::said},
    judge::release::{self, Known},
    official_log::DetailLog,
    record::RunResult,
    subject::{Findings, Subject},
};

pub(super) const RULE: RuleEntry = RuleEntry {
    id: Rule::N3,
    section: "5.1",
    title: "LoadGen unmodified, from a tagged revision",
    in_closed: true,
    in_open: true,
    kept_in: "`loadgen-sys/build.rs`: pinned source distributions that were compared with tags, checked by SHA-256, compiled as \
         they are; `policy/` refuses a LoadGen of no tag, and a round that none is for",
    looked_at: "version, git status and the SHA-1 of each source file that LoadGen logs, against those of the tags; one release \
         in all logs and in the record. Of the package 5.0.13, whose `mlperf.conf` is not quite the tag's, it says what \
         differs and cannot tell",
    shown_by: "every end-to-end test runs it; `complete.rs`",
    same: &SAME,
    judge,
};

const SAME: [Same; 1] = [Same::Logged {
    key: "loadgen_version",
    log: same::text,
    record: |_, record, _| Some(record.versions.loadgen.clone()),
}];

const CONF_HEADER: &str = "/mlperf_conf.h";

fn judge(subject: &Subject, found: &mut Findings) {
    let mut first: Option<(&str, &str)> = None;
    for (_, run, detail) in subject.details() {
        let mut at = found.at(&run.place);
        let known = match release_of(detail, subject.table) {
            Ok(known) => known,
            Err(wrong) => {
                at.fail_each(wrong);
                continue;
            }
        };
        let tag = known.release.tag.as_str();
        let (other, place) = *first.get_or_insert((tag, &run.place));
        if tag != other {
            at.fail(format!("it is of LoadGen {tag}, and {place} of {other}: use one release"));
        }
        if let Some(Round { name, loadgen, .. }) = subject.round
            && !loadgen.iter().any(|release| release.tag == tag)
        {
            let text = format!("it is of LoadGen {tag}, which is not one of round {name}");
            if loadgen.is_empty() { at.unknown(text) } else { at.fail(text) }
        }
        if let Some(doubt) = known.doubt() {
            at.unknown(doubt);
        }
        at.or_pass(format!("every log is of LoadGen's tag {tag}"));
    }
    let versions = |record: &RunResult| {
        (record.versions.loadgen.clone(), record.versions.loadgen_origin.clone())
    };
    same::one_value(subject, "origin of one LoadGen is", versions, found);
    found.records(subject, other_versions);
}

/// Returns where the record names another LoadGen than its machine, or than its own origin.
fn other_versions(record: &RunResult) -> impl Iterator<Item = String> {
    let versions = &record.versions;
    let machine = record.evidence.as_ref().map(|evidence| &evidence.loadgen_node);
    let named = machine.and_then(|machine| said(&machine.framework));
    let other = same::other_version("the LoadGen node", named, "LoadGen ", &versions.loadgen);
    let number = versions.loadgen.split(' ').next().unwrap_or_default();
    let origin = versions.loadgen_origin.strip_prefix("mlcommons-loadgen ");
    let released = origin.and_then(|origin| origin.split(' ').next());
    let released = released.filter(|released| *released != number).map(|released| {
        format!("loadgen_origin is of release {released}, and LoadGen was {number}")
    });
    other.into_iter().chain(released)
}

/// The release that wrote the log, or all that speaks against it.
fn release_of<'t>(log: &DetailLog, table: &'t Table) -> Result<Known<'t>, Vec<String>> {
    let Some(version) = log.text("loadgen_version") else {
        return Err(vec!["the log does not say which LoadGen wrote it (loadgen_version)".into()]);
    };
    let known = release::known(table, version).map_err(|why| vec![why])?;
    let Known { release, package } = known;
    let mut wrong = Vec::new();
    match log.text("loadgen_git_status_message") {
        Some("" | "NA") => (),
        Some(changes) => wrong.push(format!("it was built with uncommitted changes: {changes}")),
        None => wrong.push("the log has no loadgen_git_status_message".into()),
    }
    let (of, sources, header) = match package {
        None => {
            let of = format!("tag {}", release.tag);
            (of, &release.sources_sha256, &release.mlperf_conf_h_sha1)
        }
        Some(package) => {
            let of = format!("package {}", release.version);
            (of, &package.sources_sha256, &package.mlperf_conf_h_sha1)
        }
    };
    wrong.extend(sources_differ(&of, sources, header, log));
    if wrong.is_empty() { Ok(known) } else { Err(wrong) }
}

/// What is not of that tag or package, by the SHA-256 over its sources and the SHA-1 of the header made of its mlperf.conf.
fn sources_differ(
    of: &str,
    sources_sha256: &str,
    header_sha1: &str,
    log: &DetailLog,
) -> Option<String> {
    let Some(files) = log.value("loadgen_file_sha1").and_then(|value| value.as_object()) else {
        return Some("the log has no map loadgen_file_sha1".into());
    };
    let header = files.get(CONF_HEADER).and_then(|sha1| sha1.as_str());
    if header.is_some_and(|sha1| sha1 != header_sha1) {
        return Some(format!("mlperf_conf.h is not what the mlperf.conf of {of} makes"));
    }
    let is_source = |path: &str| {
        path != CONF_HEADER && [".cc", ".h", ".conf"].iter().any(|end| path.ends_with(end))
    };
    let mut lines: Vec<_> = files
        .iter()
        .filter(|(path, _)| is_source(path))
        .map(|(path, sha1)| format!("{path} {}\n", sha1.as_str().unwrap_or_default()))
        .collect();
    lines.sort();
    let digest = sha256_of(lines.concat());
    (digest != sources_sha256).then(|| {
        format!("its sources (loadgen_file_sha1) are not those of {of}: build it from the tag")
    })
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

    #[test]
    fn the_package_is_the_tag() {
        let table = Table::builtin().unwrap();
        assert_eq!(table.releases().count(), 4);
        for version in ["5.0.11 @ ef1bd3b95e", "5.0.11 @ dcd0c3eadb", "5.0.11 @ NA"] {
            let Known { release, package } = release_of(&log(version, "", MAP), table).unwrap();
            assert_eq!((release.tag.as_str(), package), ("v5.0", None));
        }
        let later = log("5.0.22 @ 75f297d44c", "", &of_release(MAP, "5.0.22"));
        assert_eq!(release_of(&later, table).unwrap().release.tag, "v5.1");
    }

    #[test]
    fn a_package_that_is_not_quite_the_tag_is_known_by_its_revision_and_files() {
        let found = |revision: &str, map: &str| {
            let log = log(&format!("5.0.13 @ {revision}"), "", map);
            let found = release_of(&log, Table::builtin().unwrap());
            found.map(|known| (known.release.tag.as_str(), known.doubt().is_some()))
        };
        let package = of_release(MAP, "5.0.13");
        assert_eq!(found("be4314b08f", &package), Ok(("v5.0.1", true)));
        // Its sources are not those of the tag, whose revision is another.
        assert!(
            found("e618c314fc", &package).unwrap_err()[0].contains("mlperf.conf of tag v5.0.1")
        );
        assert!(found("be4314b08f", MAP).unwrap_err()[0].contains("of package 5.0.13"));
        assert!(found("ef1bd3b95e", &package).unwrap_err()[0].contains("not that of tag v5.0.1"));
    }

    #[test]
    fn anything_else_is_told() {
        let version = "5.0.11 @ ef1bd3b95e";
        let results = "239835696a1abe2cac9e866122d1dddc367e3548";
        let header = "3d6fc18ef366524e751b68039699e0e48951167d";
        let zeros = "0000000000000000000000000000000000000000";
        let broken = [
            log("5.0.12 @ 0000000000", "", MAP),
            log("5.0.11 @ 0123456789", "", MAP),
            log("5.0.22 @ 5c282545dc", "", MAP),
            log(version, "M loadgen.cc", MAP),
            log(version, "", &MAP.replace(results, zeros)),
            log(version, "", &MAP.replace(header, zeros)),
            log(version, "", &MAP.replace("\"/results.cc\"", "\"/more.cc\"")),
            log(version, "", "null"),
        ];
        for log in broken {
            assert_eq!(release_of(&log, Table::builtin().unwrap()).unwrap_err().len(), 1);
        }
        // What is not compiled into the program does not count.
        let readme = MAP.replace("20a55bb946c2c0bbb564ced2af1e48efd096b3a8", zeros);
        assert!(release_of(&log(version, "", &readme), Table::builtin().unwrap()).is_ok());
    }
}
