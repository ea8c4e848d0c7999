//! Benchmarks as text, for the terminal.

use comfy_table::{ContentArrangement, presets::NOTHING};

use netdiv_rules::book::{
    AccuracyTest, AllowedDrafts, Benchmark, Compression, Difference, LengthTest, Quality, Suite,
    Table, TokenLatencies, rounded_target,
};

/// Returns all benchmarks, one per line, or folded to the columns of a terminal.
pub(crate) fn list(table: &Table, columns: Option<u16>) -> String {
    let titles = ["benchmark", "suite", "scenarios", "QSL", "Server, ms", "compression", "tests"];
    let rows = table.benchmarks.iter().map(|benchmark| {
        let (suite, compression) = match benchmark.suite {
            Suite::Datacenter => ("datacenter", allowed(benchmark)),
            Suite::Edge => ("edge", allowed(benchmark)),
            Suite::Retired => ("retired", "-".into()),
        };
        let [server_latency, _] = server_latency(benchmark);
        [
            benchmark.name.clone(),
            suite.into(),
            or_dash(words(&benchmark.scenarios, |scenario| scenario.word())),
            benchmark.qsl_size.to_string(),
            or_dash(server_latency),
            compression,
            or_dash(words(&benchmark.compliance, |test| test.name())),
        ]
    });
    let mut list = comfy_table::Table::new();
    list.load_preset(NOTHING).set_header(titles).add_rows(rows);
    if let Some(columns) = columns {
        list.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
    }
    for column in list.column_iter_mut() {
        column.set_padding((0, 2));
    }
    list.trim_fmt()
}

/// Returns all facts of the table about one benchmark. The source of a figure is in brackets: a
/// section of the rules, or another source in words.
pub(crate) fn describe(benchmark: &Benchmark) -> String {
    let mut lines = vec![format!(
        "{}: {} ({}), {}",
        benchmark.name,
        benchmark.task,
        benchmark.area,
        match benchmark.suite {
            Suite::Datacenter => "datacenter suite",
            Suite::Edge => "edge suite only, which netdiv does not support",
            Suite::Retired => "retired: part of no round",
        }
    )];
    for (label, figure, value) in facts(benchmark) {
        if value.is_empty() || benchmark.suite == Suite::Retired && figure == "compression" {
            continue;
        }
        let source = benchmark.sources.get(figure).map(|source| format!(" [{source}]"));
        lines.push(format!("  {label:<17}{value}{}", source.unwrap_or_default()));
    }
    lines.join("\n")
}

/// Returns the facts: the label of each, the figure whose source it has, and its text, which is
/// empty if the fact is unknown.
fn facts(benchmark: &Benchmark) -> Vec<(&'static str, &'static str, String)> {
    let (checker, loadgen) = (benchmark.checker_name(), &benchmark.loadgen_model);
    let since = benchmark.loadgen_since.as_deref();
    let quality: Vec<_> = benchmark.quality.iter().map(|q| target(benchmark, q)).collect();
    let [_, server_latency] = server_latency(benchmark);
    let latency_source = if benchmark.ttft_ms.is_some() { "ttft_ms" } else { "server_latency_ms" };
    let offline = Some(benchmark.offline_samples).filter(|count| *count > 0);
    let inputs = Some(benchmark).filter(|of| !of.inputs.is_empty());
    let accuracy_log = benchmark.accuracy_dtype;
    let parameters = benchmark.parameters.iter().map(|(key, value)| format!("{key} = {value}"));
    let mut facts = vec![
        (
            "names",
            "names",
            format!("{checker} in the official checker, {loadgen} in LoadGen's configuration"),
        ),
        ("rounds", "rounds", rounds(benchmark)),
        ("LoadGen", "loadgen_since", text(since, |from| format!("available since package {from}"))),
        ("model", "model", benchmark.model.clone()),
        ("data set", "dataset", benchmark.dataset.clone()),
        ("sample", "sample", benchmark.sample.clone()),
        ("accuracy run", "dataset_samples", format!("{} samples", benchmark.dataset_samples)),
        ("QSL size", "qsl_size", qsl_size(benchmark)),
        ("quality", "quality", quality.join(&format!(",\n{:19}", ""))),
        ("scenarios", "scenarios", words(&benchmark.scenarios, |scenario| scenario.word())),
        ("Server latency", latency_source, server_latency),
        ("Offline samples", "offline_samples", text(offline, |count| count.to_string())),
        ("issue", "equal_issue", issue(benchmark)),
        ("input", "inputs", text(inputs, |of| of.inputs(", "))),
        (
            "accuracy log",
            "accuracy_dtype",
            text(accuracy_log, |dtype| format!("{dtype}: {}", benchmark.output)),
        ),
        ("parameters", "parameters", parameters.collect::<Vec<_>>().join(", ")),
        ("decoding", "sampled", decoding(benchmark)),
        (
            "outputs",
            "performance_output_tokens",
            text(benchmark.performance_output_tokens, |most| {
                format!("{most} tokens, also permitted in performance runs")
            }),
        ),
        (
            "prompt",
            "bandwidth",
            text(benchmark.tokens(), |tokens| format!("at most {} tokens", tokens.prompt)),
        ),
        ("vocabulary", "vocabulary", text(benchmark.vocabulary, |n| format!("{n} token ids"))),
        ("drafts", "speculative_decoding", drafts(benchmark)),
        ("classes", "classes", text(benchmark.classes, |count| count.to_string())),
        ("compression", "compression", compression(benchmark)),
        ("compliance", "compliance", compliance(benchmark)),
        ("other tests", "other_tests", other_tests(benchmark)),
        ("cannot run", "cannot_run", benchmark.cannot_run.clone().unwrap_or_default()),
    ];
    facts.extend(benchmark.bandwidth.iter().map(|bandwidth| {
        let (ingress, egress) = (bandwidth.ingress_bytes(), bandwidth.egress_bytes());
        let (formula, name) = (&bandwidth.formula, &bandwidth.name);
        let bytes = format!("{ingress} bytes per sample to the SUT, {egress} back");
        ("network", "bandwidth", format!("{bytes}: {formula} ({name})"))
    }));
    facts.extend(benchmark.differences.iter().map(|d| ("sources differ", "", difference(d))));
    facts.extend(benchmark.notes.iter().map(|note| ("note", "", note.clone())));
    facts
}

fn text<T>(fact: Option<T>, shown: impl Fn(T) -> String) -> String {
    fact.map_or_else(String::new, shown)
}

fn qsl_size(benchmark: &Benchmark) -> String {
    let size = benchmark.qsl_size;
    match benchmark.own_performance_set {
        true => format!("{size} samples of another data set than the accuracy run's"),
        false => format!("at least {size} samples"),
    }
}

fn decoding(benchmark: &Benchmark) -> String {
    let sampled = "sampled: temperature 1, without top_p and top_k; two answers to a sample differ";
    if benchmark.sampled { sampled.into() } else { String::new() }
}

fn rounds(benchmark: &Benchmark) -> String {
    let rounds: Vec<_> = benchmark.rounds.iter().map(ToString::to_string).collect();
    let of = benchmark.interactive_of.as_ref();
    let variant = text(of, |of| format!("; the interactive variant of {of}"));
    format!("{}{variant}", rounds.join(", "))
}

fn drafts(benchmark: &Benchmark) -> String {
    let allowed = |AllowedDrafts { rounds, configuration }: &AllowedDrafts| {
        let rounds: Vec<_> = rounds.iter().map(ToString::to_string).collect();
        let rounds = rounds.join(" and ");
        format!("speculative decoding is allowed in {rounds}, with {configuration}")
    };
    text(benchmark.speculative_decoding.as_ref(), allowed)
}

fn other_tests(benchmark: &Benchmark) -> String {
    let tests = benchmark.other_tests.join(", ");
    if tests.is_empty() { tests } else { format!("{tests}: not supported by netdiv") }
}

fn compliance(benchmark: &Benchmark) -> String {
    let Benchmark { sampling, qsl_size, test07, test09, .. } = benchmark;
    let mut parts = vec![words(&benchmark.compliance, |test| test.name())];
    if *sampling > 0 {
        parts.push(format!("TEST01 logs about {sampling} responses"));
    }
    parts.extend(test07.as_ref().map(|AccuracyTest { samples, least }| {
        format!("TEST07 requires a score of {least} over {samples} samples")
    }));
    parts.extend(test09.as_ref().map(|LengthTest { least, most }| {
        format!("TEST09 requires {least} to {most} tokens per output over {qsl_size} samples")
    }));
    parts.join("; ")
}

fn words<T: Copy>(all: &[T], word: impl Fn(T) -> &'static str) -> String {
    all.iter().map(|one| word(*one)).collect::<Vec<_>>().join(", ")
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".into() } else { text }
}

fn target(benchmark: &Benchmark, quality: &Quality) -> String {
    let Quality { metric, reference, least, most, .. } = quality;
    let share = quality.share.unwrap_or(benchmark.quality_share) * 100.0;
    let most = most.map(|most| format!(" and at most {most}")).unwrap_or_default();
    if share == 100.0 {
        return format!("{metric} at least {least}{most}");
    }
    // Shares such as 99.9 % have at most one decimal.
    let least = rounded_target(*least);
    format!("{metric} at least {least}{most} ({share:.1} % of {reference})")
}

/// Returns LoadGen's bound in Server, for the list and in a sentence; both are empty without it.
fn server_latency(benchmark: &Benchmark) -> [String; 2] {
    match (benchmark.server_latency_ms, benchmark.ttft_ms, benchmark.tpot_ms) {
        (Some(ms), ..) => [ms.to_string(), format!("{ms} ms for 99 % of queries")],
        (None, Some(first), Some(each)) => [
            format!("{first} / {each}"),
            format!(
                "{first} ms to the first token and {each} ms for each further token, for 99 % of queries"
            ),
        ],
        _ => Default::default(),
    }
}

fn issue(benchmark: &Benchmark) -> String {
    let equal = benchmark.equal_issue.then_some("every sample equally often");
    let tokens = benchmark.token_latencies.map(|how| match how {
        TokenLatencies::Measured => "tokens are measured",
        TokenLatencies::Inferred => "tokens are inferred",
    });
    equal.into_iter().chain(tokens).collect::<Vec<_>>().join("; ")
}

fn allowed(benchmark: &Benchmark) -> String {
    let original = benchmark.original_compression.as_deref().unwrap_or("the data set's");
    match benchmark.compression {
        Compression::None => "none".to_owned(),
        Compression::Unstated => "not stated".to_owned(),
        Compression::Lossless => "lossless".to_owned(),
        Compression::LosslessOrOriginal => format!("lossless or {original}"),
    }
}

fn compression(benchmark: &Benchmark) -> String {
    match words(&benchmark.per_query_compression, |scenario| scenario.word()).as_str() {
        "" => allowed(benchmark),
        scenarios => format!("{}; whole queries in {scenarios}", allowed(benchmark)),
    }
}

fn difference(difference: &Difference) -> String {
    let say = |number: Option<f64>| number.map_or("nothing".into(), |number| number.to_string());
    let Difference { figure, rules, checker } = difference;
    format!("{figure}: the rules say {}, the submission checker {}", say(*rules), say(*checker))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_is_on_a_line_of_its_own() {
        let text = list(Table::builtin().unwrap(), None);
        assert_eq!(text.lines().count(), Table::builtin().unwrap().benchmarks.len() + 1, "{text}");
        let words = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for want in [
            "resnet50 datacenter server, offline 1024 15 lossless or JPEG TEST01, TEST04",
            "llama2-70b-interactive-99 datacenter server, offline 24576 450 / 40 none TEST06",
            "rnnt retired - 2513 1000 - -",
        ] {
            assert_eq!(words(want.split_inclusive(' ').next().unwrap()), want);
        }
        assert!(text.lines().all(|line| line.len() < 125), "{text}");
        let narrow = list(Table::builtin().unwrap(), Some(80));
        assert!(narrow.lines().all(|line| line.len() <= 80), "{narrow}");
    }

    #[test]
    fn a_description_names_its_sources() {
        let of = |name: &str| describe(Table::builtin().unwrap().find(name).unwrap());
        let text = of("3d-unet-99.9");
        for want in [
            "DICE at least 0.862437 (99.9 % of 0.8633) [4.1.1]",
            "at least 43 samples [4.1.1]",
            "qsl_size: the rules say 42, the submission checker 43",
            "131779180 bytes per sample to the SUT, 32944795 back",
            "TEST01; TEST01 logs about 64 responses [checker (check_compliance_dir)]",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
        let text = of("llama2-70b-99");
        for want in [
            "2000 ms to the first token",
            "TOKENS_PER_SAMPLE at least 265.005 and at most 323.895 (90.0 % of 294.45)",
            "token ids + input mask + input lengths, or token ids, as int32, int64 [6.2.4]",
            "max_new_tokens = 1024 [4.1.3]",
            "v5.0, v5.1, v6.0 [4.1.1; the checkers",
            "at most 1024 tokens [Appendix B]",
            "32000 token ids [vocab_size",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
        let text = of("llama3.1-8b-interactive");
        for want in [
            "v5.1, v6.0, v6.1; the interactive variant of llama3.1-8b [",
            "available since package 5.1.1",
            "500 ms to the first token and 30 ms for each further token, for 99 % of queries [policies",
            "note             The checker of tag v5.1 cannot pass it",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
        let text = of("gpt-oss-120b");
        for want in [
            "QSL size         6396 samples of another data set than the accuracy run's [policies, 4.1.1]",
            "decoding         sampled: temperature 1, without top_p and top_k",
            "outputs          10240 tokens, also permitted in performance runs [published results",
            "compression      not stated [6.2.4 has no row for it]",
            "TEST07, TEST09; TEST07 requires a score of 60.698 over 990 samples; ",
            "TEST09 requires 1150.38 to 1406.02 tokens per output over 6396 samples [checker (",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
        assert!(
            of("dlrm-v3").contains("TEST08: not supported by netdiv [checker (models_TEST08)]")
        );
        assert!(of("rgat").contains("classes          2983 [graph/R-GAT/tools/split_seeds.py"));
        assert!(of("dlrm-v2-99").contains("lossless; whole queries in server [6.2.4]"));
        assert!(of("bert-99").contains("edge suite only"));
        assert!(!of("rnnt").contains("compression"));
    }
}
