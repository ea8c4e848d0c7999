//! Compares the built-in table with the text of the rules of July 2026
//! (`inference_rules_2026-07.adoc` in `NETDIV_RULES_TEXT`), row by row.

use std::path::PathBuf;

use netdiv_node_common::words::SpeculativeDecoding;

use super::against_rules_text::{check_bytes, compression_of, in_rules, numbers};
use crate::{
    Scenario,
    book::{AllowedDrafts, Benchmark, Compression, Suite, Table},
};

const ROUND: &str = "v6.1";

fn rules() -> String {
    let folder = std::env::var_os("NETDIV_RULES_TEXT").expect("NETDIV_RULES_TEXT names the folder");
    let path = PathBuf::from(folder).join("inference_rules_2026-07.adoc");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the rows of the first table after a text, without the title row. A row starts at a line
/// that begins with a bar and ends before the next such line.
fn rows(text: &str, behind: &str) -> Vec<Vec<String>> {
    let (_, text) = text.split_once(behind).unwrap_or_else(|| panic!("no `{behind}`"));
    let table = text.split("|===").nth(1).unwrap().replace("\\|", "/");
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines().map(str::trim) {
        match rows.last_mut() {
            _ if line.starts_with('|') => rows.push(line.to_owned()),
            Some(row) => *row = format!("{row} {line}"),
            None => {}
        }
    }
    let cells = |row: &String| row.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect();
    rows.iter().skip(1).map(cells).collect()
}

/// Returns the benchmarks of the round, except the database of E2E-RAG, for which the rules have no
/// row.
fn benchmarks() -> impl Iterator<Item = &'static Benchmark> {
    let round = ROUND.parse().unwrap();
    let is_of =
        move |one: &&Benchmark| one.suite == Suite::Datacenter && one.rounds.contains(&round);
    let all = Table::builtin().unwrap().benchmarks.iter();
    all.filter(is_of).filter(|one| one.name != "e2e-rag-db")
}

/// Returns the row whose cell is the model of a benchmark.
fn row_of<'r>(
    rows: &'r [Vec<String>],
    cell: usize,
    benchmark: &Benchmark,
) -> Option<&'r Vec<String>> {
    rows.iter().find(|row| row[cell].eq_ignore_ascii_case(&benchmark.model))
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn suites_sizes_qualities_and_bounds() {
    let text = rules();
    let rows = rows(&text, "The Datacenter suite includes the following benchmarks");
    for benchmark in benchmarks() {
        let Benchmark { name, .. } = benchmark;
        let row = row_of(&rows, 2, benchmark).unwrap_or_else(|| panic!("{name} has no row"));
        let [area, task, _, dataset, qsl, quality, latency] = &row[..] else { panic!("{row:?}") };
        assert_eq!([&benchmark.area, &benchmark.task, &benchmark.dataset], [area, task, dataset]);
        let size = in_rules(benchmark, "qsl_size", benchmark.qsl_size as f64);
        // The rules do not state the size of the interactive variant's separate data set.
        if name != "qwen3-vl-235b-a22b-interactive" {
            assert_eq!(size, qsl.parse::<f64>().unwrap(), "{name}");
        }
        qualities(benchmark, quality);
        bounds(benchmark, latency);
    }
}

/// Checks the quality targets. The rules state a reference, the required share of it, or an error
/// rate.
fn qualities(benchmark: &Benchmark, cell: &str) {
    let said = numbers(cell);
    let is_said = |number: f64| said.iter().any(|said| (said - number).abs() < 1e-4 * number);
    for target in &benchmark.quality {
        // Only the checker bounds output lengths, and a language model judges E2E-RAG.
        let is_unsaid =
            ["TOKENS_PER_SAMPLE", "E2E_ACCURACY", "ROUGELSUM"].contains(&target.metric.as_str());
        let is_interactive = benchmark.name == "qwen3-vl-235b-a22b-interactive";
        let reference = in_rules(benchmark, &target.metric, target.reference);
        let forms = [reference, reference * 100.0, 100.0 - reference, target.least];
        assert!(
            is_unsaid || is_interactive || forms.into_iter().any(is_said),
            "{}: {} in {cell}",
            benchmark.name,
            target.metric
        );
    }
}

fn bounds(benchmark: &Benchmark, cell: &str) {
    let Benchmark { name, server_latency_ms, ttft_ms, tpot_ms, .. } = benchmark;
    let is_interactive = benchmark.interactive_of.is_some();
    if cell == "N/A" {
        assert_eq!((server_latency_ms, ttft_ms), (&None, &None), "{name}");
    } else if cell.contains("TTFT") {
        let (server, interactive) = cell.split_once("Interactive").unwrap();
        let said = numbers(if is_interactive { interactive } else { server });
        let further = in_rules(benchmark, "tpot_ms", tpot_ms.unwrap());
        assert_eq!(said[..2], [ttft_ms.unwrap(), further], "{name}: {cell}");
    } else if !is_interactive {
        let unit = if cell.ends_with(" ms") { 1.0 } else { 1000.0 };
        assert_eq!(server_latency_ms.unwrap(), numbers(cell)[0] * unit, "{name}");
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn scenarios() {
    let text = rules();
    let rows = rows(&text, "Each Datacenter benchmark *requires* the following scenarios");
    for benchmark in benchmarks().filter(|one| one.interactive_of.is_none()) {
        // The task of gpt-oss-120b is text generation, with the kinds in parentheses.
        let task = benchmark.task.split(" (").next().unwrap();
        let row = rows.iter().find(|row| row[1] == task);
        let row = row.unwrap_or_else(|| panic!("{} has no row", benchmark.name));
        let words = row[2]
            .replace("(Server/ Interactive)", "Server")
            .replace("Single Stream", "SingleStream");
        let scenarios: Vec<_> =
            words.split(", ").map(|word| Scenario::of_official_name(word).unwrap()).collect();
        assert_eq!(benchmark.scenarios, scenarios, "{}", benchmark.name);
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn parameters() {
    let text = rules();
    let rows = rows(&text, "it is necessary to use the following inference parameters");
    let mut said = 0;
    for row in &rows {
        let model = row[0].split(['(', ')']).nth(1).unwrap().replace("DeepSeek", "DeepSeek-r1");
        let name = match row[1].as_str() {
            "max_new_tokens (accuracy)" => "max_new_tokens",
            "max_new_tokens (performance)" => "max_new_tokens_performance",
            name => name,
        };
        for benchmark in benchmarks().filter(|one| one.model == model) {
            assert_eq!(benchmark.parameters.get(name), Some(&row[2]), "{} {name}", benchmark.name);
            said += 1;
        }
    }
    // Whisper's are those of the reference.
    let ours = benchmarks().filter(|one| one.name != "whisper").map(|one| one.parameters.len());
    assert_eq!(ours.sum::<usize>(), said);
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn compression() {
    let text = rules();
    let rows = rows(&text, "==== Benchmarks and QSL Preprocessing");
    for benchmark in benchmarks() {
        let row = row_of(&rows, 2, benchmark);
        let compression = row.map_or(Compression::Unstated, |row| compression_of(&row[3]));
        assert_eq!(benchmark.compression, compression, "{}", benchmark.name);
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn bytes_of_appendix_b() {
    let text = rules();
    for (title, is_ingress) in [("=== Ingress Bandwidth", true), ("=== Egress Bandwidth", false)] {
        let rows = rows(&text, title);
        for benchmark in benchmarks() {
            let Some(row) = row_of(&rows, 1, benchmark) else {
                assert!(benchmark.bandwidth.is_empty(), "{} has no row", benchmark.name);
                continue;
            };
            // In a cell with several formulas, the last one is for performance runs; the first one
            // counts.
            let formula = row[4].split("footnote:").next().unwrap().trim_matches('_');
            let formula = formula.split("__ (").next().unwrap();
            check_bytes(benchmark, formula, is_ingress);
        }
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn speculative_decoding() {
    let text = rules();
    let rows = rows(&text, "== Speculative Decoding");
    let said = benchmarks().filter_map(|benchmark| {
        let row = rows.iter().find(|row| row[0].eq_ignore_ascii_case(&benchmark.model))?;
        (row[1] == "Interactive" && benchmark.interactive_of.is_some()).then(|| {
            let steps = numbers(row[3].split_once("num-steps=").unwrap().1)[0];
            let top_k = numbers(row[3].split_once("topk=").unwrap().1)[0];
            let head = row[4].strip_prefix("https://huggingface.co/").unwrap().to_owned();
            (&benchmark.name, head, steps as u32, top_k as u32)
        })
    });
    let round = ROUND.parse().unwrap();
    let allowed = benchmarks().filter_map(|benchmark| {
        let AllowedDrafts { rounds, configuration } = benchmark.speculative_decoding.as_ref()?;
        assert!(rounds.contains(&round), "{}", benchmark.name);
        let SpeculativeDecoding { head, steps, top_k } = configuration.clone();
        Some((&benchmark.name, head, steps, top_k))
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(allowed.collect::<Vec<_>>(), said);
}
