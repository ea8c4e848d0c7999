//! Reads a table of benchmarks: expands each family (a benchmark with its variants) into
//! benchmarks, and reports all problems at once.

use std::{path::Path, sync::LazyLock};

use serde::Deserialize;

use super::{
    benchmark::{Benchmark, Compression, SampleForm, Suite, Test, TokenLatencies},
    loadgen::LoadGen,
    round::Round,
    table::Table,
};
use crate::{Scenario, input::files};

/// Error for an invalid table, with all its problems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not a valid table of benchmarks: {}", problems.join("; "))]
pub struct TableError {
    name: String,
    problems: Vec<String>,
}

impl Table {
    /// Returns the built-in table, parsed once.
    ///
    /// # Errors
    ///
    /// Fails if the built-in `table.toml` is invalid, which a test excludes.
    pub fn builtin() -> Result<&'static Self, TableError> {
        static TABLE: LazyLock<Result<Table, TableError>> = LazyLock::new(|| {
            let name = "the built-in table.toml".to_owned();
            table(include_str!("table.toml")).map_err(|problems| TableError { name, problems })
        });
        TABLE.as_ref().map_err(Clone::clone)
    }

    /// Reads a table from a file in the form of `table.toml`. The file replaces the built-in table,
    /// but its `loadgen` rows are added to the built-in list of LoadGen builds.
    ///
    /// # Errors
    ///
    /// Fails with all problems of the file.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let error = |problems| TableError { name: path.display().to_string(), problems };
        let text = files::read_toml(path).map_err(|why| error(vec![why.to_string()]))?;
        table(&text).map_err(error)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    defaults: toml::Table,
    rounds: Vec<Round>,
    benchmarks: Vec<toml::Table>,
    #[serde(default)]
    loadgen: Vec<LoadGen>,
}

#[derive(Deserialize)]
struct LoadGenList {
    loadgen: Vec<LoadGen>,
}

/// Parses a table, or returns all its problems.
fn table(text: &str) -> Result<Table, Vec<String>> {
    let file: File = toml::from_str(text).map_err(|error| vec![error.to_string()])?;
    let mut problems = Vec::new();
    let mut benchmarks: Vec<Benchmark> = Vec::new();
    for mut family in file.benchmarks {
        let variants = match family.remove("variants") {
            None => vec![toml::Value::Table(toml::Table::new())],
            Some(toml::Value::Array(variants)) => variants,
            Some(_) => {
                problems.push("`variants` must be a list of tables".into());
                continue;
            }
        };
        for variant in variants {
            let mut merged = toml::Value::Table(file.defaults.clone());
            merge(&mut merged, toml::Value::Table(family.clone()));
            merge(&mut merged, variant);
            match benchmark(merged) {
                Ok(benchmark) => benchmarks.push(benchmark),
                Err(problem) => problems.push(problem),
            }
        }
    }
    for (place, benchmark) in benchmarks.iter().enumerate() {
        let name = &benchmark.name;
        let is_it = |other: &Benchmark| {
            [&other.name, other.checker_name()]
                .into_iter()
                .any(|n| n == name || n == benchmark.checker_name())
        };
        if benchmarks[..place].iter().any(is_it) {
            problems.push(format!("{name} is listed twice"));
        }
        problems.extend(
            benchmark_problems(benchmark).into_iter().map(|problem| format!("{name}: {problem}")),
        );
    }
    for (place, round) in file.rounds.iter().enumerate() {
        if file.rounds[..place].iter().any(|before| before.name == round.name) {
            problems.push(format!("round {} is listed twice", round.name));
        }
    }
    if benchmarks.is_empty() || file.rounds.is_empty() {
        problems.push("there must be at least one benchmark and one round".into());
    }
    let listed: LoadGenList =
        toml::from_str(include_str!("loadgens.toml")).map_err(|error| vec![error.to_string()])?;
    let loadgens = listed.loadgen.into_iter().chain(file.loadgen).collect();
    let table = Table { benchmarks, rounds: file.rounds, loadgens };
    problems.extend(check_references(&table));
    if problems.is_empty() { Ok(table) } else { Err(problems) }
}

/// Returns the invalid references from benchmarks to rounds and to other benchmarks.
fn check_references(table: &Table) -> Vec<String> {
    let mut wrong = Vec::new();
    for benchmark in &table.benchmarks {
        let Benchmark { name, rounds, interactive_of, suite, .. } = benchmark;
        for round in rounds.iter().filter(|round| table.round(**round).is_none()) {
            wrong.push(format!("{name}: there is no round {round}"));
        }
        if rounds.is_empty() == (*suite == Suite::Datacenter) {
            wrong.push(format!(
                "{name}: rounds are required in the datacenter suite and invalid elsewhere"
            ));
        }
        let of = interactive_of.as_deref().map(|of| (of, table.find(of)));
        if let Some((of, None)) = of {
            wrong.push(format!("{name}: interactive_of names {of}, which does not exist"));
        }
    }
    wrong
}

/// Overrides the keys of `base` by the keys of `over`; tables are merged key by key.
fn merge(base: &mut toml::Value, over: toml::Value) {
    match (base, over) {
        (toml::Value::Table(base), toml::Value::Table(over)) => {
            for (key, value) in over {
                match base.get_mut(&key) {
                    Some(old) => merge(old, value),
                    None => drop(base.insert(key, value)),
                }
            }
        }
        (base, over) => *base = over,
    }
}

fn benchmark(merged: toml::Value) -> Result<Benchmark, String> {
    let name = merged.get("name").and_then(toml::Value::as_str).unwrap_or("unnamed benchmark");
    let name = name.to_owned();
    let mut benchmark =
        Benchmark::deserialize(merged).map_err(|error| format!("{name}: {}", error.message()))?;
    for quality in &mut benchmark.quality {
        quality.least = quality.reference * quality.share.unwrap_or(benchmark.quality_share);
    }
    Ok(benchmark)
}

fn benchmark_problems(benchmark: &Benchmark) -> Vec<String> {
    let good_name = |name: &str| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "/\\".contains(c))
    };
    let mut wrong = Vec::new();
    let mut require = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    require(good_name(&benchmark.name), "a name must not contain spaces or slashes");
    require(good_name(benchmark.checker_name()), "checker_name must not contain spaces or slashes");
    require(benchmark.dataset_samples > 0, "dataset_samples must be above 0");
    require(
        benchmark.own_performance_set && benchmark.qsl_size > 0
            || (1..=benchmark.dataset_samples).contains(&benchmark.qsl_size),
        "qsl_size must be from 1 to dataset_samples",
    );
    require(benchmark.classes != Some(0), "classes must be above 0");
    require(!benchmark.quality.is_empty(), "quality must have at least one target");
    let is_needed = |test| benchmark.compliance.contains(&test);
    require(
        benchmark.test07.is_some() == is_needed(Test::Test07)
            && benchmark.test09.is_some() == is_needed(Test::Test09),
        "test07 is required with TEST07 and invalid without it, and test09 with TEST09",
    );
    require(
        benchmark.test07.as_ref().is_none_or(|test| test.samples > 0),
        "the samples of test07 must be above 0",
    );
    for quality in &benchmark.quality {
        let share = quality.share.unwrap_or(benchmark.quality_share);
        let numbers =
            quality.reference > 0.0 && quality.reference.is_finite() && share > 0.0 && share <= 1.0;
        require(numbers, "a quality needs a reference above 0 and a share above 0 and at most 1");
        require(
            quality.most.is_none_or(|most| most >= quality.least),
            "the `most` of a quality is below its minimum, reference times share",
        );
    }
    let times = [benchmark.server_latency_ms, benchmark.ttft_ms, benchmark.tpot_ms];
    require(
        times.into_iter().flatten().all(|ms| ms.is_finite() && ms > 0.0),
        "a latency must be above 0",
    );
    if benchmark.suite != Suite::Retired {
        let in_server = benchmark.scenarios.contains(&Scenario::Server);
        let tokens = benchmark.ttft_ms.is_some() && benchmark.tpot_ms.is_some();
        require(!benchmark.scenarios.is_empty(), "scenarios must not be empty");
        require(
            !in_server || tokens || benchmark.server_latency_ms.is_some(),
            "Server needs server_latency_ms, or ttft_ms and tpot_ms",
        );
        require(
            !in_server || tokens == (benchmark.token_latencies == Some(TokenLatencies::Measured)),
            "ttft_ms and tpot_ms require token_latencies = \"measured\", and vice versa",
        );
        let can_run = benchmark.cannot_run.is_none();
        let is_prompt = benchmark.form == SampleForm::Prompt;
        let is_counted = is_prompt || benchmark.form == SampleForm::Waveform;
        let counts = [benchmark.tokens().is_some(), benchmark.token_latencies.is_some()];
        require(
            benchmark.vocabulary.is_some() == is_prompt
                && (!can_run || counts == [is_prompt, is_counted]),
            "form = \"prompt\" requires token_latencies, vocabulary, max_new_tokens and the longest prompt in bandwidth, and \
             form = \"waveform\" token_latencies",
        );
        require(!benchmark.sampled || is_prompt, "sampled requires form = \"prompt\"");
        // LoadGen's configuration has no dot in the name of any model that netdiv can run.
        require(
            !can_run || !benchmark.loadgen_model.contains('.'),
            "loadgen_model must not contain dots",
        );
        require(benchmark.offline_samples > 0, "offline_samples must be above 0");
        let is_stated = benchmark.compression != Compression::Unstated;
        require(
            !can_run && !is_stated
                || !benchmark.inputs.is_empty() && !benchmark.input_types.is_empty(),
            "inputs or input_types are missing",
        );
        require(!is_stated || !benchmark.bandwidth.is_empty(), "bandwidth is missing");
        require(benchmark.accuracy_dtype.is_some(), "accuracy_dtype is missing");
        require(
            is_needed(Test::Test01) == (benchmark.sampling > 0),
            "sampling is required with TEST01 and invalid without it",
        );
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(replace: &str, by: &str) -> Vec<String> {
        let text = include_str!("table.toml");
        assert!(text.contains(replace), "{replace}");
        table(&text.replacen(replace, by, 1)).unwrap_err()
    }

    #[test]
    fn all_problems_are_said_at_once() {
        let text = include_str!("table.toml")
            .replacen("qsl_size = 1024", "qsl_size = 60000", 1)
            .replacen("server_latency_ms = 100", "server_latency = 100", 1)
            .replacen("name = \"rgat\"", "name = \"gptj-99\"", 1);
        let problems = table(&text).unwrap_err();
        let has = |text: &str| problems.iter().any(|problem| problem.contains(text));
        assert!(has("retinanet: unknown field `server_latency`"), "{problems:?}");
        assert!(has("resnet50: qsl_size must be from 1 to dataset_samples"), "{problems:?}");
        assert!(has("gptj-99 is listed twice"), "{problems:?}");
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn what_cannot_be_right_is_refused() {
        for (replace, by, want) in [
            ("quality_share = 0.99", "quality_share = 1.99", "at most 1"),
            ("most = 323.895", "most = 1", "is below its minimum"),
            ("server_latency_ms = 15", "", "Server needs server_latency_ms"),
            ("token_latencies = \"measured\"", "", "require token_latencies"),
            ("data_type = \"uint8\"", "data_type = \"byte\"", "unsupported data type `byte`"),
            ("classes = 1000", "classes = 0", "classes must be above 0"),
            ("samples = 990", "samples = 0", "the samples of test07 must be above 0"),
            ("compliance = [\"TEST07\", \"TEST09\"]", "", "test07 is required with TEST07"),
            ("sampling = 256", "", "sampling is required with TEST01"),
            ("scenarios = [\"offline\"]", "scenarios = [\"ofline\"]", "unknown variant `ofline`"),
            ("qsl = \"60236", "qsl = \"x60236", "invalid seed"),
            ("name = \"v5.1\"", "name = \"v5.0\"", "v5.0 is listed twice"),
            ("name = \"v6.0\"", "name = \"v7.0\"", "mixtral-8x7b: there is no round v6.0"),
            ("rounds = [\"v5.0\"]\n", "", "rounds are required in the datacenter suite"),
            ("\"llama3_1-405b\"", "\"llama3.1-405b\"", "loadgen_model must not contain dots"),
            ("vocabulary = 32000\n", "", "requires token_latencies"),
            ("max_new_tokens = \"1024\"", "max_new_tokens = \"many\"", "requires token_latencies"),
            (
                "interactive_of = \"llama3.1-8b\"",
                "interactive_of = \"x\"",
                "x, which does not exist",
            ),
            ("classes = 1000", "sampled = true", "sampled requires form = \"prompt\""),
            (
                "token_latencies = \"measured\"\nscenarios = [\"offline\"]",
                "",
                "\"waveform\" token_lat",
            ),
            ("input_types = [\"int16\"]", "", "whisper: inputs or input_types are missing"),
            ("name = \"retinanet\"", "name = \"resnet\"", "resnet is listed twice"),
        ] {
            let problems = with(replace, by);
            assert!(problems.iter().any(|p| p.contains(want)), "{by}: {problems:?}");
        }
        assert!(
            table("rounds = []\nbenchmarks = []").unwrap_err()[0]
                .contains("at least one benchmark")
        );
    }

    #[test]
    fn a_file_replaces_the_table() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = include_str!("table.toml")
            .replace("server_latency_ms = 15\n", "server_latency_ms = 7.5\n");
        std::fs::write(file.path(), text).unwrap();
        let table = Table::read(file.path()).unwrap();
        assert_eq!(table.find("resnet50").unwrap().server_latency_ms, Some(7.5));
        std::fs::write(file.path(), "nonsense").unwrap();
        let error = Table::read(file.path()).unwrap_err().to_string();
        assert!(error.contains(&file.path().display().to_string()), "{error}");
    }
}
