//! Compares the built-in table with the text of the rules v5.0, cell by cell.
//!
//! The text is not part of the project. The environment variable `NETDIV_RULES_TEXT` names its
//! folder, both when the crate is built and when the tests run.

use std::path::PathBuf;

use crate::{
    Scenario,
    book::{Benchmark, Compression, Suite, Table},
};

/// Returns the non-empty lines of the text.
fn rules() -> Vec<String> {
    let folder = std::env::var_os("NETDIV_RULES_TEXT");
    let folder = folder.expect("NETDIV_RULES_TEXT names the folder with inference_rules_v5.0.txt");
    let path = PathBuf::from(folder).join("inference_rules_v5.0.txt");
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::trim).filter(|l| !l.is_empty()).map(String::from).collect()
}

/// Returns the rows of the table after the line that starts with `before`, up to the line that
/// starts with `end`.
fn rows<const N: usize>(lines: &[String], before: &str, end: &str) -> Vec<[String; N]> {
    let start = lines.iter().position(|line| line.starts_with(before)).unwrap() + 1;
    let length = lines[start..].iter().position(|line| line.starts_with(end)).unwrap();
    let cells = &lines[start..start + length];
    assert_eq!(cells.len() % N, 0, "{before}");
    // The first row has the titles.
    cells.chunks_exact(N).skip(1).map(|row| row.to_vec().try_into().unwrap()).collect()
}

/// Returns the benchmarks that the rules v5.0 describe.
fn of_v5_0() -> impl Iterator<Item = &'static Benchmark> {
    let round = "v5.0".parse().unwrap();
    let is_known = move |b: &&Benchmark| b.suite != Suite::Datacenter || b.rounds.contains(&round);
    Table::builtin().unwrap().benchmarks.iter().filter(is_known)
}

fn datacenter() -> impl Iterator<Item = &'static Benchmark> {
    of_v5_0().filter(|benchmark| benchmark.suite == Suite::Datacenter)
}

/// Returns the benchmarks of a model, at least one.
fn of_model(model: &str) -> Vec<&'static Benchmark> {
    let of = |b: &&Benchmark| b.suite != Suite::Retired && b.model == model;
    let found: Vec<_> = of_v5_0().filter(of).collect();
    assert!(!found.is_empty(), "no benchmark has the model {model}");
    found
}

/// Extracts the numbers from a text, except footnotes and numbers at the end of a word (rouge1,
/// FP32).
pub(super) fn numbers(text: &str) -> Vec<f64> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_ascii_digit() {
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        let footnote = before == '[' && rest[length..].starts_with(']');
        if c.is_ascii_digit() && !before.is_alphabetic() && !footnote {
            found.push(rest[..length].trim_end_matches('.').parse().unwrap());
        }
        before = c;
        rest = &rest[length..];
    }
    found
}

/// Returns the value of a figure in the rules: `ours`, the table's own value, unless the table
/// states that the rules differ.
pub(super) fn in_rules(benchmark: &Benchmark, figure: &str, ours: f64) -> f64 {
    let difference = benchmark.differences.iter().find(|d| d.figure == figure);
    difference.and_then(|difference| difference.rules).unwrap_or(ours)
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn suites_sizes_and_qualities_are_those_of_4_1_1() {
    let lines = rules();
    let suite = rows::<7>(
        &lines,
        "The suites share multiple benchmarks",
        "Each Datacenter benchmark requires",
    );
    for [area, task, model, dataset, qsl, quality, latency] in &suite {
        for benchmark in of_model(model) {
            assert_eq!(benchmark.suite, Suite::Datacenter, "{model}");
            describe_row(benchmark, [area, task, dataset, qsl, quality]);
            server_latency(benchmark, latency);
        }
    }
    for benchmark in datacenter() {
        assert!(suite.iter().any(|row| row[2] == benchmark.model), "{}", benchmark.name);
    }
    let edge = rows::<6>(&lines, "The Edge suite includes", "Each Edge benchmark requires");
    let [area, task, _, dataset, qsl, quality] = edge.iter().find(|row| row[2] == "BERT").unwrap();
    for benchmark in of_model("BERT") {
        assert_eq!(benchmark.suite, Suite::Edge);
        describe_row(benchmark, [area, task, dataset, qsl, quality]);
    }
}

fn describe_row(benchmark: &Benchmark, [area, task, dataset, qsl, quality]: [&String; 5]) {
    let name = &benchmark.name;
    assert_eq!([&benchmark.area, &benchmark.task, &benchmark.dataset], [area, task, dataset]);
    let size = in_rules(benchmark, "qsl_size", benchmark.qsl_size as f64);
    assert_eq!(size, qsl.parse::<f64>().unwrap(), "{name}");
    let said = numbers(quality);
    let is_said = |number: f64| said.iter().any(|said| (said - number).abs() < 1e-9 * number);
    let mut known = vec![99.0, 99.9];
    for target in &benchmark.quality {
        let reference = in_rules(benchmark, &target.metric, target.reference);
        // mAP is 0.3755 in the rules and 37.55 in accuracy.txt.
        assert!(is_said(reference) || is_said(reference / 100.0), "{name} {}", target.metric);
        known.extend([reference, reference / 100.0]);
        let share = target.share.unwrap_or(benchmark.quality_share);
        assert!(share == 1.0 || is_said(share * 100.0), "{name}: {share}");
        known.push(share * 100.0);
        let figure = format!("{} most", target.metric);
        if let Some(most) = target.most.filter(|_| benchmark.checker(&figure).is_none()) {
            let share = most / target.reference * 100.0;
            assert!(is_said(most) || is_said(share), "{name}: {most}");
        }
        known.extend(target.most.into_iter().flat_map(|m| [m, m / target.reference * 100.0]));
    }
    // "65 Sample from LongBench" is not a target.
    known.push(65.0);
    for number in said {
        assert!(
            known.iter().any(|k| (k - number).abs() < 1e-9 * k),
            "{name}: {number} in {quality}"
        );
    }
}

fn server_latency(benchmark: &Benchmark, cell: &str) {
    let name = &benchmark.name;
    let Benchmark { server_latency_ms, ttft_ms, tpot_ms, .. } = benchmark;
    if cell == "N/A" {
        assert_eq!((server_latency_ms, ttft_ms), (&None, &None), "{name}");
    } else if cell.contains("TTFT") {
        let cell = if name.contains("interactive") {
            cell.split("Interactive category").nth(1).unwrap()
        } else {
            cell.split("Interactive category").next().unwrap()
        };
        let both = [ttft_ms.unwrap(), tpot_ms.unwrap()];
        assert_eq!(numbers(cell), both, "{name}: {cell}");
        assert_eq!(server_latency_ms, &None, "{name}");
    } else {
        let unit = if cell.ends_with(" ms") { 1.0 } else { 1000.0 };
        assert_eq!(server_latency_ms.unwrap(), numbers(cell)[0] * unit, "{name}");
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn scenarios_are_those_of_4_1_1() {
    let lines = rules();
    let required =
        rows::<3>(&lines, "Each Datacenter benchmark requires", "The Edge suite includes");
    for benchmark in datacenter() {
        let Some([area, _, words]) = required.iter().find(|row| row[1] == benchmark.task) else {
            assert!(benchmark.sources["scenarios"].contains("no row"), "{}", benchmark.name);
            continue;
        };
        assert_eq!(&benchmark.area, area);
        let scenarios: Vec<_> =
            words.split(", ").map(|word| Scenario::of_official_name(word).unwrap()).collect();
        assert_eq!(benchmark.scenarios, scenarios, "{}", benchmark.name);
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn parameters_are_those_of_4_1_3() {
    let lines = rules();
    let table =
        rows::<4>(&lines, "For each of the following benchmarks it is", "5. Load Generator");
    let mut said = 0;
    for [benchmark, parameter, value, _] in &table {
        let model = benchmark.split(['(', ')']).nth(1).unwrap();
        for benchmark in of_model(model) {
            assert_eq!(benchmark.parameters.get(parameter), Some(value), "{}", benchmark.name);
            said += 1;
        }
    }
    let ours = of_v5_0().map(|benchmark| benchmark.parameters.len());
    assert_eq!(ours.sum::<usize>(), said);
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn compression_and_inputs_are_those_of_6_2_4() {
    let lines = rules();
    let start = lines.iter().position(|line| line.starts_with("QSL side PreProcessing")).unwrap();
    let rest = &lines[start + 1..];
    let end = rest.iter().position(|line| line.starts_with("1. Compression scheme")).unwrap();
    let is_area = |line: &String| datacenter().any(|benchmark| &benchmark.area == line);
    let starts: Vec<_> = (0..end).filter(|place| is_area(&rest[*place])).collect();
    let mut models = Vec::new();
    for (row, place) in starts.iter().enumerate() {
        let next = starts.get(row + 1).copied().unwrap_or(end);
        let model = rest[place + 2].trim_end_matches("-large");
        let cell = rest[place + 3..next].join(" ");
        models.push(model);
        let compression = compression_of(&cell);
        let per_query: &[_] = if cell.contains("per-Query") { &[Scenario::Server] } else { &[] };
        let inputs: &[&[&str]] = match () {
            () if cell.contains("Input Masks and Segment IDs or just the Token IDs") => {
                &[&["token ids", "input mask", "segment ids"], &["token ids"]]
            }
            () if cell.contains("Input Masks and Input Lengths or just the Token IDs") => {
                &[&["token ids", "input mask", "input lengths"], &["token ids"]]
            }
            () => {
                assert!(!cell.contains("Token"), "{cell}");
                &[]
            }
        };
        for benchmark in of_model(model) {
            let name = &benchmark.name;
            assert_eq!(benchmark.compression, compression, "{name}");
            assert_eq!(benchmark.per_query_compression, per_query, "{name}");
            if !inputs.is_empty() {
                assert_eq!(benchmark.inputs, inputs, "{name}");
                assert_eq!(benchmark.sources["inputs"], "6.2.4", "{name}");
            }
        }
    }
    for benchmark in datacenter() {
        assert!(models.contains(&benchmark.model.as_str()), "{}", benchmark.name);
    }
}

#[test]
#[cfg_attr(not(netdiv_rules_text), ignore = "needs the rules' text: set NETDIV_RULES_TEXT")]
fn bytes_are_those_of_appendix_b() {
    let lines = rules();
    let start = lines.iter().position(|line| line == "B.1. Ingress Bandwidth").unwrap();
    let lines = &lines[start..];
    let ingress =
        rows::<6>(lines, "Datacenter systems must provide at least the following", "B.2.");
    let lines = &lines[lines.iter().position(|line| line.starts_with("B.2.")).unwrap()..];
    let egress = rows::<6>(lines, "Datacenter systems must provide", "1. For Llama2-70b");
    for (table, is_ingress) in [(&ingress, true), (&egress, false)] {
        for row in table {
            // A row of B.2 has its formula one cell too early.
            let formula = row[4].trim_start_matches("throughput*");
            for benchmark in of_model(&row[1]) {
                check_bytes(benchmark, formula, is_ingress);
            }
        }
    }
    for benchmark in of_v5_0().filter(|b| b.suite != Suite::Retired) {
        for table in [&ingress, &egress] {
            assert!(table.iter().any(|row| row[1] == benchmark.model), "{}", benchmark.name);
        }
    }
}

/// Parses a compression cell of section 6.2.4.
pub(super) fn compression_of(cell: &str) -> Compression {
    match () {
        () if cell.contains("No compression allowed") => Compression::None,
        () if cell.contains("The original compression") => Compression::LosslessOrOriginal,
        () if cell.contains("Lossless compression") => Compression::Lossless,
        () => panic!("{cell}"),
    }
}

/// Compares a benchmark with a formula of Appendix B: the number of elements, or of bytes if the
/// formula has no element size.
pub(super) fn check_bytes(benchmark: &Benchmark, formula: &str, is_ingress: bool) {
    for bandwidth in &benchmark.bandwidth {
        let (ours, elements, bytes) = if is_ingress {
            (&bandwidth.rules_ingress, &bandwidth.ingress, bandwidth.ingress_bytes())
        } else {
            (&bandwidth.rules_egress, &bandwidth.egress, bandwidth.egress_bytes())
        };
        assert_eq!(ours, formula, "{}", bandwidth.name);
        let elements = elements.iter().map(|part| part.elements).sum();
        let count = if formula.contains("dtype_size") { elements } else { bytes };
        assert_eq!(count, value(formula), "{}", bandwidth.name);
    }
}

/// Evaluates a formula of Appendix B with element sizes of 1. The formula is a product; its last
/// factor may be a sum of products.
fn value(formula: &str) -> u64 {
    let product = |text: &str| -> u64 {
        let factors = text.split('*').filter(|f| !f.is_empty() && !f.starts_with("dtype_size"));
        factors.map(|factor| factor.replace(',', "").parse::<u64>().unwrap()).product()
    };
    // `~` marks an estimate.
    let formula = formula.trim_start_matches('~');
    match formula.split_once('(') {
        None if formula == "negligible" => 0,
        None => product(formula),
        Some((factor, sum)) => {
            product(factor) * sum.trim_end_matches(')').split('+').map(product).sum::<u64>()
        }
    }
}
