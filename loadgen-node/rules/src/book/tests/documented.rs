//! The language models in docs/TOKENS.md.

use std::path::Path;

use crate::book::{Benchmark, Table, TokenLatencies};

fn row(table: &Table, benchmark: &Benchmark) -> String {
    let list = |words: Vec<String>| if words.is_empty() { "none".into() } else { words.join(", ") };
    let rounds = list(benchmark.rounds.iter().map(ToString::to_string).collect());
    let releases = table.releases_of(benchmark).into_iter();
    let releases = list(releases.map(|release| release.version.clone()).collect());
    let bounds = match (benchmark.token_latencies, benchmark.ttft_ms.zip(benchmark.tpot_ms)) {
        (Some(TokenLatencies::Measured), Some((first, further))) => format!("{first} / {further}"),
        _ => format!("{} in all", benchmark.server_latency_ms.unwrap()),
    };
    format!("| `{}` | {rounds} | {releases} | {bounds} |", benchmark.name)
}

#[test]
fn language_models_are_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TOKENS.md");
    let text = std::fs::read_to_string(path).unwrap();
    let table = Table::builtin().unwrap();
    let models = table.benchmarks.iter().filter(|one| one.token_latencies.is_some());
    let rows: Vec<_> = models.map(|benchmark| row(table, benchmark)).collect();
    let head =
        "| benchmark | rounds | releases of LoadGen | TTFT / TPOT, ms |\n|---|---|---|---|\n";
    let want = format!("{head}{}\n", rows.join("\n"));
    assert!(text.contains(&want), "docs/TOKENS.md has to have:\n{want}");
}
