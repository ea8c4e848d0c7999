//! Compares the table with the language models and the benchmarks in docs/ENGINES.md, and the tags
//! of rounds with docs/SUBMISSION.md.

use std::path::Path;

use crate::book::{Benchmark, Formats, SampleForm, Suite, Table, TokenLatencies};

fn row(table: &Table, benchmark: &Benchmark) -> String {
    let list = |words: Vec<String>| if words.is_empty() { "none".into() } else { words.join(", ") };
    let rounds = list(benchmark.rounds.iter().map(ToString::to_string).collect());
    let packages = table.packages_of(benchmark).into_iter();
    let releases = list(packages.map(str::to_owned).collect());
    let bounds = match (benchmark.token_latencies, benchmark.ttft_ms.zip(benchmark.tpot_ms)) {
        (Some(TokenLatencies::Measured), Some((first, further))) => format!("{first} / {further}"),
        _ => format!("{} in all", benchmark.server_latency_ms.unwrap()),
    };
    format!("| `{}` | {rounds} | {releases} | {bounds} |", benchmark.name)
}

#[test]
fn language_models_are_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ENGINES.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table = Table::builtin().unwrap();
    let models = table
        .benchmarks
        .iter()
        .filter(|one| one.form == SampleForm::Prompt && one.cannot_run.is_none());
    let rows: Vec<_> = models.map(|benchmark| row(table, benchmark)).collect();
    let head =
        "| benchmark | rounds | releases of LoadGen | TTFT / TPOT, ms |\n|---|---|---|---|\n";
    let want = format!("{head}{}\n", rows.join("\n"));
    assert!(text.contains(&want), "docs/ENGINES.md has to have:\n{want}");
}

#[test]
fn every_benchmark_of_the_suite_has_a_row() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ENGINES.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rows) = text.split_once("| benchmark | at a node |\n|---|---|\n").unwrap();
    let (rows, _) = rows.split_once("\n\n").unwrap();
    let names = rows.lines().filter_map(|row| row.split(" | ").next());
    let names = names.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect::<Vec<_>>();
    for benchmark in &Table::builtin().unwrap().benchmarks {
        let is_there = names.iter().any(|name| benchmark.name.starts_with(name));
        let is_run = benchmark.cannot_run.is_none() && benchmark.suite == Suite::Datacenter;
        assert!(is_there || !is_run, "{} has no row", benchmark.name);
    }
    let (_, reasons) = text
        .split_once("| benchmark | reason, and what would be needed first |\n|---|---|\n")
        .unwrap();
    for benchmark in &Table::builtin().unwrap().benchmarks {
        let Some(why) = &benchmark.cannot_run else { continue };
        let is_there =
            reasons.lines().any(|row| row.contains(&benchmark.name) && row.contains(why.as_str()));
        assert!(is_there, "docs/ENGINES.md has to have: | `{}` | {why} |", benchmark.name);
    }
    for name in names {
        let table = Table::builtin().unwrap();
        assert!(table.benchmarks.iter().any(|one| one.name.starts_with(name)), "{name}");
    }
}

#[test]
fn the_tag_of_every_round_is_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SUBMISSION.md");
    let text = std::fs::read_to_string(path).unwrap();
    for round in &Table::builtin().unwrap().rounds {
        let row = format!("| {} | `{}`", round.name, Formats::reference(round.name).unwrap());
        assert!(text.contains(&row), "docs/SUBMISSION.md has to have: {row}");
    }
}
