//! Determines the round that a submission is judged by, and the source of that round.

use std::collections::BTreeMap;

use super::{JudgedRound, ResultEntry, RoundSource, RunFiles, Subject, findings::AllFindings};
use crate::{
    Rule::{self, N1, N2, N3, N25, N26, N27, N30, N31, N32, N34, N35, N36},
    book::{Round, RoundName, Table},
    tree::Layout,
};

/// Rules whose figures, files or fields change from round to round. They cannot be judged for a
/// round that the table lacks.
const DEPENDENT: [Rule; 12] = [N1, N2, N3, N25, N26, N27, N30, N31, N32, N34, N35, N36];

/// Determines the round of results. Returns the round if the table has it, and the round's name
/// with its source. `option` is the value of `--round`, and `layout` the layout of the folders.
pub(crate) fn round<'t>(
    table: &'t Table,
    option: Option<RoundName>,
    results: &[ResultEntry],
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

/// Returns the rounds that measurements files name: the path of each file, and the name of the
/// round.
pub(crate) fn stated<'a>(results: &'a [ResultEntry]) -> impl Iterator<Item = (&'a str, &'a str)> {
    results.iter().filter_map(|entry| {
        let (place, json) = entry.measurements.as_ref()?.as_ref().ok()?;
        Some((place.as_str(), json.get("round")?.as_str()?))
    })
}

fn runs<'a>(results: &'a [ResultEntry]) -> impl Iterator<Item = &'a RunFiles> {
    results.iter().flat_map(|entry| &entry.runs)
}

/// Returns the most frequent item; of several equally frequent items, the smallest.
fn most_frequent<T: Ord>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(one, _)| one)
}

/// Determines the round by the seeds in the logs, or without a log, by the seeds that the record
/// requested.
fn of_seeds(table: &Table, results: &[ResultEntry]) -> Option<RoundName> {
    let logged = |run: &RunFiles| {
        let marks = run.logs.as_ref()?.marks.as_ref()?;
        Some(table.round_of_seeds(|setting| marks.seeds.get(setting).copied())?.name)
    };
    let asked_for = |run: &RunFiles| {
        let settings = &run.result()?.test_settings;
        Some(table.round_of_seeds(|setting| settings.get(setting)?.parse().ok())?.name)
    };
    most_frequent(runs(results).filter_map(logged))
        .or_else(|| most_frequent(runs(results).filter_map(asked_for)))
}

/// Determines the name of the round by the newest LoadGen in the table that is not newer than the
/// logged version. For a version before the first LoadGen in the table, the name has the numbers of
/// the version. For a version after the last one, no round is known, and the name is `of LoadGen
/// VERSION`.
fn of_loadgen(table: &Table, results: &[ResultEntry]) -> Option<String> {
    let version = |run: &RunFiles| run.logs.as_ref()?.marks.as_ref()?.version.clone();
    let version = most_frequent(runs(results).filter_map(version))?;
    let numbers = numbers(&version)?;
    let rows = table.loadgens.iter().flat_map(|row| {
        let versions = row.versions.iter().filter_map(|version| self::numbers(version));
        versions.map(move |version| (version, row))
    });
    let newest = rows.clone().map(|(version, _)| version).max();
    // Of equal versions the first row counts: a version is published with the files of the commit
    // before it.
    let rows = rows.filter(|(version, _)| *version <= numbers).collect::<Vec<_>>();
    let last = rows.iter().rev().max_by_key(|(version, _)| *version);
    Some(match last {
        _ if newest.is_some_and(|newest| numbers > newest) => format!("of LoadGen {version}"),
        Some((_, row)) => table.round_of_loadgen(row)?.name.to_string(),
        None => format!("v{}.{}", numbers[0], numbers[1]),
    })
}

/// Parses the numbers of a version such as `5.0.11`.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?])
}

/// Replaces the findings about rules that depend on a round, if the table lacks the round.
pub(crate) fn without_round(subject: &Subject, found: &mut AllFindings) {
    if subject.round.is_some() {
        return;
    }
    let JudgedRound { name, by, .. } = &subject.judged_round;
    let text = format!(
        "round {name} ({by}) is not in the table, which has {}: rules that change from round to round cannot be judged; \
         choose another round with --round, or your own table with --benchmarks",
        subject.table.round_names()
    );
    found.forget(&DEPENDENT);
    for rule in DEPENDENT {
        found.of(rule).unknown("", text.as_str());
    }
}
