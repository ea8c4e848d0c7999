//! Compares the table of benchmarks with the `mlperf.conf` of the LoadGen in this program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;

use loadgen_sys::{Mode, Scenario, TestSettings};
use netdiv_rules::book::{Benchmark, Round, Sources, Suite, Table, TokenLatencies};

fn settings(model: &str, scenario: Scenario) -> BTreeMap<String, String> {
    let mut settings = TestSettings::new(scenario, Mode::Performance);
    settings.from_config(None, model).unwrap();
    settings.fields().into_iter().collect()
}

/// Returns the version of the LoadGen that was built, and its round.
fn built() -> (String, &'static Round) {
    let version = loadgen_sys::version();
    let number = version.split(" @ ").next().unwrap().to_owned();
    let seeds = settings("*", Scenario::Server);
    let round = Table::builtin().unwrap().round_of_seeds(|seed| seeds[seed].parse().ok());
    (number, round.unwrap_or_else(|| panic!("LoadGen {version} is of no round")))
}

const SAMPLES: &str = "performance_sample_count_override";

fn check(benchmark: &Benchmark, round: &Round, scenario: Scenario) {
    let model = &benchmark.loadgen_model;
    let fields = settings(model, scenario);
    let is = |field: &str, want: String| {
        assert_eq!(fields[field], want, "{}: {model} {scenario} {field}", benchmark.name);
    };
    let ns = |ms: Option<f64>| ((ms.unwrap_or(0.0) * 1e6) as u64).to_string();
    let tokens = benchmark.token_latencies;
    // Without a number, all samples are loaded.
    if benchmark.qsl_size < benchmark.dataset_samples || fields[SAMPLES] != "0" {
        is(SAMPLES, benchmark.qsl_size.to_string());
    }
    is("sample_concatenate_permutation", benchmark.equal_issue.to_string());
    is("use_token_latencies", (tokens == Some(TokenLatencies::Measured)).to_string());
    is("infer_token_latencies", (tokens == Some(TokenLatencies::Inferred)).to_string());
    is("min_duration_ms", round.min_duration_ms.to_string());
    is("qsl_rng_seed", round.seeds.qsl.to_string());
    is("sample_index_rng_seed", round.seeds.sample_index.to_string());
    is("schedule_rng_seed", round.seeds.schedule.to_string());
    match scenario {
        // mlperf.conf has no number for interactive variants and benchmarks with two data sets; equal
        // issue makes their run a whole pass.
        Scenario::Offline
            if benchmark.interactive_of.is_some() || benchmark.own_performance_set =>
        {
            is("min_query_count", "100".into());
        }
        Scenario::Offline => is("min_query_count", benchmark.offline_samples.to_string()),
        Scenario::Server => {
            is("server_target_latency_ns", ns(benchmark.server_latency_ms));
            if tokens == Some(TokenLatencies::Measured) {
                is("server_ttft_latency", ns(benchmark.ttft_ms));
                is("server_tpot_latency", ns(benchmark.tpot_ms));
            }
        }
        Scenario::SingleStream | Scenario::MultiStream => {}
    }
}

#[test]
fn the_build_and_the_table_name_the_same_releases() {
    let table = Table::builtin().unwrap();
    let packages: Vec<_> = table.rounds.iter().flat_map(|round| &round.packages).collect();
    assert_eq!(packages, loadgen_sys::releases().collect::<Vec<_>>());
    let (version, round) = built();
    if loadgen_sys::origin() != "a checkout of the user's" {
        assert!(round.packages.contains(&version), "{version} is not a package of {}", round.name);
    }
}

#[test]
fn the_files_of_the_build_are_listed() {
    let files = loadgen_sys::file_sha1();
    let sources = Sources::of(&files);
    let rows = &Table::builtin().unwrap().loadgens;
    let row = rows.iter().find(|row| row.sources_sha256 == sources.sha256).unwrap();
    let (version, round) = built();
    assert!(row.versions.contains(&version), "{version} is not of {row}");
    assert_eq!(row.schedule_seed, round.seeds.schedule);
    assert_eq!(
        sources.conf_header_sha1.unwrap_or(row.mlperf_conf_h_sha1.clone()),
        row.mlperf_conf_h_sha1
    );
}

#[test]
fn what_the_table_says_of_a_benchmark_loadgen_says_too() {
    let (version, round) = built();
    let table = Table::builtin().unwrap();
    let mut tried = 0;
    let releases: Vec<_> = loadgen_sys::releases().collect();
    let place = |release: &str| releases.iter().position(|one| *one == release);
    // For benchmarks that cannot be run, mlperf.conf may lack figures; the table has the checker's.
    let is_run = |one: &&Benchmark| one.suite == Suite::Datacenter && one.cannot_run.is_none();
    for benchmark in table.benchmarks.iter().filter(is_run) {
        let since = benchmark.loadgen_since.as_deref();
        if table.packages_of(benchmark).contains(&version.as_str()) {
            benchmark.scenarios.iter().for_each(|scenario| check(benchmark, round, *scenario));
            tried += 1;
        } else if since.is_some_and(|since| place(since) > place(&version)) {
            let fields = settings(&benchmark.loadgen_model, Scenario::Server);
            // An earlier release may know the benchmark, but not issue its samples equally often.
            let is_other =
                fields["sample_concatenate_permutation"] != benchmark.equal_issue.to_string();
            assert!(is_other || fields["use_token_latencies"] == "false", "{}", benchmark.name);
        }
    }
    assert!(tried > 6, "{tried} benchmarks");
}
