//! A LoadGen's files against the commits that its round accepts, for N3 (rules, section 5.1).

use crate::book::{BuiltLoadGen, LoadGen, Round, Table};

/// The outcome for one LoadGen.
#[derive(Debug, PartialEq)]
pub(crate) enum Known<'t> {
    /// Its files are those of a row of the table.
    Listed(&'t LoadGen),
    /// No row has its files; the text says so, and how to add one.
    Unlisted(String),
    /// It was changed, or contradicts itself; the text says in what.
    Altered(String),
}

/// Looks a LoadGen up in the table. `schedule_seed` goes into the row to add where none has its files.
pub(crate) fn known<'t>(
    table: &'t Table,
    built: &BuiltLoadGen,
    schedule_seed: Option<u64>,
) -> Known<'t> {
    let BuiltLoadGen { version, changes, sources } = built;
    if !["", "NA"].contains(&changes.as_str()) {
        return Known::Altered(format!("it was built with uncommitted changes: {changes}"));
    }
    let is_it = |known: &&LoadGen| known.sources_sha256 == sources.sha256;
    let Some(row) = table.loadgens.iter().find(is_it) else {
        return Known::Unlisted(unlisted(table, built, schedule_seed));
    };
    if let Some(header) = &sources.conf_header_sha1
        && *header != row.mlperf_conf_h_sha1
    {
        return Known::Unlisted(format!(
            "its sources are those of {row}, but its mlperf_conf.h (SHA-1 {header}) is not what LoadGen's build makes of that \
             mlperf.conf (SHA-1 {}): compare them, or build LoadGen again",
            row.mlperf_conf_h_sha1
        ));
    }
    if !row.versions.iter().any(|version| version == built.number()) {
        return Known::Altered(format!(
            "it reports version {version}, but its files are those of {row}, version {}: build it again from unmodified sources",
            row.versions.join(", ")
        ));
    }
    Known::Listed(row)
}

/// Says that a LoadGen belongs to another round than the one that it is used for.
pub(crate) fn of_another_round(table: &Table, row: &LoadGen, round: &Round) -> Option<String> {
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

/// The two texts that say which LoadGen is accepted, and how one that is listed meets them.
pub(crate) fn accepted(row: &LoadGen) -> String {
    format!(
        "LoadGen's files are those of {row}: rules 5.1 ask for \"a tagged approved revision\", and the README of \
         mlcommons/inference accepts \"any commit since\" the round's seed release"
    )
}

fn unlisted(table: &Table, built: &BuiltLoadGen, schedule_seed: Option<u64>) -> String {
    let last = table.loadgens.last().map_or_else(String::new, |row| format!(", up to {row}"));
    let header = built.sources.conf_header_sha1.as_deref().unwrap_or("SHA1");
    let seed = schedule_seed.map_or_else(|| "SEED".into(), |seed| seed.to_string());
    format!(
        "the files of LoadGen {} are not those of any commit that the table lists{last}. If they are of a later commit of \
         mlcommons/inference, put this line above the first table of a copy of table.toml, for --benchmarks: loadgen = [{{ \
         versions = [\"{}\"], commit = \"COMMIT\", date = \"DATE\", schedule_seed = \"{seed}\", sources_sha256 = \"{}\", \
         mlperf_conf_h_sha1 = \"{header}\" }}]",
        built.version,
        built.number(),
        built.sources.sha256
    )
}
