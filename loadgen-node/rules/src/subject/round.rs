//! The round that a submission is judged by, and what tells it.

use std::collections::BTreeMap;

use super::{
    Entry, Run, Subject,
    findings::AllFindings,
    judged::{JudgedRound, RoundSource},
};
use crate::{
    Rule::{self, N1, N2, N3, N25, N26, N27, N30, N31, N32, N34, N35, N36},
    book::{Round, RoundName, Table},
    tree::Layout,
};

/// Rules whose figures, files or fields change from round to round: of a round that the table lacks they cannot be told.
const DEPENDENT: [Rule; 12] = [N1, N2, N3, N25, N26, N27, N30, N31, N32, N34, N35, N36];

/// The round of these results.
pub(crate) fn round<'t>(
    table: &'t Table,
    option: Option<RoundName>,
    results: &[Entry],
    layout: Option<Layout>,
) -> (Option<&'t Round>, JudgedRound) {
    let named = |name: String, by| {
        let round = name.parse().ok().and_then(|name| table.round(name));
        (round, JudgedRound { name, by, in_table: round.is_some() })
    };
    if let Some(name) = option {
        return named(name.to_string(), RoundSource::Option);
    }
    if let Some((_, name)) = stated(results).next() {
        return named(name.to_owned(), RoundSource::Record);
    }
    if let Some(name) = of_seeds(table, results) {
        return named(name.to_string(), RoundSource::Seeds);
    }
    if let Some(name) = of_loadgen(table, results) {
        return named(name, RoundSource::LoadgenVersion);
    }
    let fits = |round: &&Round| layout.is_none_or(|layout| round.layout == layout);
    let first = table.rounds.iter().find(fits).or(table.rounds.first());
    named(first.map_or_else(String::new, |round| round.name.to_string()), RoundSource::Layout)
}

/// The rounds that measurements files name, each with the file.
pub(crate) fn stated<'a>(results: &'a [Entry]) -> impl Iterator<Item = (&'a str, &'a str)> {
    results.iter().filter_map(|entry| {
        let (place, json) = entry.measurements.as_ref()?.as_ref().ok()?;
        Some((place.as_str(), json.get("round")?.as_str()?))
    })
}

fn runs<'a>(results: &'a [Entry]) -> impl Iterator<Item = &'a Run> {
    results.iter().flat_map(|entry| &entry.runs)
}

/// The most frequent one; of several, the smallest.
fn most_frequent<T: Ord>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(one, _)| one)
}

/// By the seeds in the logs, or where there is no log, by those that the record asked for.
fn of_seeds(table: &Table, results: &[Entry]) -> Option<RoundName> {
    let logged = |run: &Run| {
        let marks = run.logs.as_ref()?.marks.as_ref()?;
        Some(table.round_of_seeds(|setting| marks.seed(setting))?.name)
    };
    let asked_for = |run: &Run| {
        let settings = &run.result()?.test_settings;
        Some(table.round_of_seeds(|setting| settings.get(setting)?.parse().ok())?.name)
    };
    most_frequent(runs(results).filter_map(logged))
        .or_else(|| most_frequent(runs(results).filter_map(asked_for)))
}

/// The round of the newest LoadGen in the table that is not newer than the logged version. Before the first of the table a round has
/// the number of its LoadGen; after the last one it is not known.
fn of_loadgen(table: &Table, results: &[Entry]) -> Option<String> {
    let version = |run: &Run| run.logs.as_ref()?.marks.as_ref()?.version.clone();
    let version = most_frequent(runs(results).filter_map(version))?;
    let numbers = numbers(&version)?;
    let rows = table.loadgens.iter().flat_map(|row| {
        let versions = row.versions.iter().filter_map(|version| self::numbers(version));
        versions.map(move |version| (version, row))
    });
    let newest = rows.clone().map(|(version, _)| version).max();
    // Of equal versions the first row counts: a version is published with the files that the commit before had.
    let rows = rows.filter(|(version, _)| *version <= numbers).collect::<Vec<_>>();
    let last = rows.iter().rev().max_by_key(|(version, _)| *version);
    Some(match last {
        _ if newest.is_some_and(|newest| numbers > newest) => format!("of LoadGen {version}"),
        Some((_, row)) => table.round_of_loadgen(row)?.name.to_string(),
        None => format!("v{}.{}", numbers[0], numbers[1]),
    })
}

/// The numbers of a version such as `5.0.11`.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?])
}

/// Puts one finding in place of all that depends on a round that the table lacks.
pub(crate) fn without_round(subject: &Subject, found: &mut AllFindings) {
    if subject.round.is_some() {
        return;
    }
    let JudgedRound { name, by, .. } = &subject.judged_round;
    let text = format!(
        "round {name} ({by}) is not in the table, which has {}: what changes from round to round cannot be told; --round \
         judges by another one, --benchmarks by a table of your own",
        subject.table.round_names()
    );
    found.forget(&DEPENDENT);
    for rule in DEPENDENT {
        found.of(rule).unknown("", text.as_str());
    }
}
