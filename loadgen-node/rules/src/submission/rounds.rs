//! The runs' seeds and LoadGen are those of the round (N31 and N3).

use super::{problems::Problems, runs::Run};
use crate::benchmarks::{Round, Table};

/// Says where they are not: once, where all runs are of one other round.
pub(super) fn check(runs: &[&Run], round: &Round, table: &Table, problems: &mut Problems) {
    let of = |run: &Run| table.rounds.iter().find(|round| differing(run, round).is_empty());
    let rounds: Option<Vec<_>> = runs.iter().map(|run| of(run)).collect();
    if let Some([first, others @ ..]) = rounds.as_deref()
        && others.iter().all(|other| other.name == first.name)
        && first.name != round.name
    {
        return problems.broken(31, "", other_round(runs, first, round, table));
    }
    for run in runs {
        for text in differing(run, round) {
            problems.broken(31, &run.name, text);
        }
        let known: Vec<_> = round.loadgen.iter().map(|release| release.version.as_str()).collect();
        if !known.is_empty() && !known.contains(&version(run)) {
            let (loadgen, known) = (&run.result.versions.loadgen, known.join(", "));
            let text = format!("LoadGen is {loadgen}; round {} has {known}", round.name);
            problems.broken(3, &run.name, text);
        }
    }
}

/// Seeds of the run that are not those of the round.
fn differing(run: &Run, round: &Round) -> Vec<String> {
    let seeds = [
        ("qsl_rng_seed", round.seeds.qsl),
        ("sample_index_rng_seed", round.seeds.sample_index),
        ("schedule_rng_seed", round.seeds.schedule),
    ];
    let differ = |(key, seed): (&str, u64)| {
        let found = run.result.test_settings.get(key).map_or("absent", String::as_str);
        let text = || format!("{key} is {found}; round {} has {seed}", round.name);
        (found != seed.to_string()).then(text)
    };
    seeds.into_iter().filter_map(differ).collect()
}

fn version(run: &Run) -> &str {
    run.result.versions.loadgen.split_whitespace().next().unwrap_or_default()
}

fn other_round(runs: &[&Run], of: &Round, round: &Round, table: &Table) -> String {
    let mut versions: Vec<_> = runs.iter().map(|run| version(run)).collect();
    versions.dedup();
    let releases = table
        .rounds
        .iter()
        .filter_map(|round| Some(format!("{} for {}", round.loadgen.first()?.version, round.name)));
    let releases: Vec<_> = releases.collect();
    let build = match round.loadgen.first() {
        Some(release) => format!("build with NETDIV_LOADGEN_RELEASE={}", release.version),
        None => format!("build with a LoadGen of round {}, once there is one,", round.name),
    };
    format!(
        "the runs were made with LoadGen {}, which is of round {}; write round = \"{}\", or {build} and run again \
         (releases: {})",
        versions.join(" and "),
        of.name,
        of.name,
        releases.join(", ")
    )
}
