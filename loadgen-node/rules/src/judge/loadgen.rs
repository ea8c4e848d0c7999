//! Comparison of a LoadGen's source files with the commits that a round accepts, for N3 (rules,
//! section 5.1).

use crate::book::{BuiltLoadGen, LoadGen, Round, Table};

/// Result of looking up a LoadGen in the table.
#[derive(Debug, PartialEq)]
pub(crate) enum LoadGenMatch<'t> {
    /// Its files match a row of the table.
    Listed(&'t LoadGen),
    /// Its files match no row; the text describes how to add a row.
    Unlisted(String),
    /// It was changed or contradicts itself; the text describes that.
    Altered(String),
}

/// Looks up a LoadGen in the table by its source files. If no row has them, the returned text
/// contains a row to add, with `schedule_seed`.
pub(crate) fn look_up<'t>(
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
pub(crate) fn check_round(table: &Table, row: &LoadGen, round: &Round) -> Option<String> {
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

/// Returns the text of a pass for a LoadGen that the table lists. It quotes the two documents that
/// define which LoadGen is accepted.
pub(crate) fn describe_accepted(row: &LoadGen) -> String {
    format!(
        "LoadGen's files are those of {row}: rules 5.1 require \"a tagged approved revision\", and the README of \
         mlcommons/inference accepts \"any commit since\" the round's seed release"
    )
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
