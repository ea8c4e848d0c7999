//! Run folders as `loadgen-node run` and `loadgen-node audit` make them, for tests: whole, consistent and valid. A test
//! then changes what it is about, in the specification or in the files.

pub(crate) mod loadgen_files;
mod logs;
mod machines;
mod record;
mod submission;

use netdiv_words::Mode;
use std::{fs, path::Path};

use crate::{
    Scenario,
    facts::files::sha256_of,
    result::{Division, RunResult},
    sources_digest::Source,
    tree,
};
pub(crate) use submission::{
    performance_runs, submission_folder, submission_folder_of, submission_tree,
};

/// Time that Name() took.
const NAME_NS: u64 = 293_086;
/// Tokens of each answer of a language model.
const TOKENS: u64 = 294;
/// The seeds of round v5.0: QSL, sample index, schedule.
pub(crate) const SEEDS_5_0: [u64; 3] =
    [6_023_615_788_873_153_749, 15_036_839_855_038_426_416, 9_933_818_062_894_767_841];
/// The seeds of round v5.1.
pub(crate) const SEEDS_5_1: [u64; 3] =
    [1_780_908_523_862_526_354, 14_771_362_308_971_278_857, 18_209_322_760_996_052_031];
/// The seeds of round v6.0.
pub(crate) const SEEDS_6_0: [u64; 3] =
    [2_465_351_861_681_999_779, 14_276_810_075_590_677_512, 3_936_089_224_930_324_775];

/// A run.
#[derive(Debug, Clone)]
pub(crate) struct RunSpec {
    pub(crate) benchmark: &'static str,
    pub(crate) scenario: Scenario,
    /// performance or accuracy.
    pub(crate) mode: Mode,
    /// TEST01, TEST04 or TEST06, for a run of a compliance test.
    pub(crate) test: Option<&'static str>,
    pub(crate) nodes: Vec<&'static str>,
    /// Of each node.
    pub(crate) accelerators: usize,
    /// What LoadGen reports as its version.
    pub(crate) loadgen: &'static str,
    pub(crate) seeds: [u64; 3],
    pub(crate) dataset_samples: u64,
    pub(crate) performance_samples: u64,
    pub(crate) sample_bytes: u64,
    /// Samples per second.
    pub(crate) target: f64,
    pub(crate) latency_ns: u64,
    /// The bounds for the first token and for each further one.
    pub(crate) token_bounds_ns: [u64; 2],
    pub(crate) min_duration_ms: u64,
    pub(crate) division: Division,
    pub(crate) digests: bool,
    /// What the accuracy script printed; none where labels were given, so that top-1 was counted.
    pub(crate) accuracy_txt: Option<&'static str>,
    /// The benchmark's compliance tests.
    pub(crate) tests: &'static [&'static str],
    /// Whether LoadGen measures the latencies of tokens.
    pub(crate) tokens: bool,
    /// Whether every sample is issued equally often.
    pub(crate) equal_issue: bool,
    pub(crate) valid: bool,
}

impl RunSpec {
    /// A valid run of the Network division: resnet50's figures, two nodes with two accelerators each.
    pub(crate) fn new(benchmark: &'static str, scenario: Scenario, mode: Mode) -> Self {
        Self {
            benchmark,
            scenario,
            mode,
            test: None,
            nodes: vec!["node-a", "node-b"],
            accelerators: 2,
            loadgen: "5.0.11 @ ef1bd3b95e",
            seeds: SEEDS_5_0,
            dataset_samples: 50_000,
            performance_samples: 1024,
            sample_bytes: 150_528,
            target: if scenario == Scenario::Server { 18_000.0 } else { 20_000.0 },
            latency_ns: 15_000_000,
            token_bounds_ns: [100_000_000; 2],
            min_duration_ms: 600_000,
            division: Division::Network,
            digests: false,
            accuracy_txt: None,
            tests: &["TEST01", "TEST04"],
            tokens: false,
            equal_issue: false,
            valid: true,
        }
    }

    /// The same of 3d-unet-99, in Offline.
    pub(crate) fn unet(mode: Mode) -> Self {
        Self {
            dataset_samples: 43,
            performance_samples: 43,
            sample_bytes: 4 * 32_944_795,
            target: 30.0,
            accuracy_txt: Some("Accuracy: mean = 0.86320, kidney = 0.9347, tumor = 0.7917\n"),
            tests: &["TEST01"],
            equal_issue: true,
            ..Self::new("3d-unet-99", Scenario::Offline, mode)
        }
    }

    /// The same of llama2-70b-99.
    pub(crate) fn llama(scenario: Scenario, mode: Mode) -> Self {
        Self {
            dataset_samples: 24_576,
            performance_samples: 24_576,
            sample_bytes: 4096,
            target: 50.0,
            latency_ns: 0,
            token_bounds_ns: [2_000_000_000, 200_000_000],
            accuracy_txt: Some(
                "{'rouge1': 44.5, 'rouge2': 22.1, 'rougeL': 28.7, 'tokens_per_sample': 294.0}\n",
            ),
            tests: &["TEST06"],
            equal_issue: true,
            tokens: true,
            ..Self::new("llama2-70b-99", scenario, mode)
        }
    }

    /// The runs of round v5.1 of llama2-70b-99 in Offline, and of its interactive variant.
    pub(crate) fn chat() -> [Self; 2] {
        let of_5_1 = |scenario| Self {
            seeds: SEEDS_5_1,
            loadgen: "5.0.22 @ 75f297d44c",
            ..Self::llama(scenario, Mode::Performance)
        };
        let chat = Self {
            benchmark: "llama2-70b-interactive-99",
            token_bounds_ns: [450_000_000, 40_000_000],
            ..of_5_1(Scenario::Server)
        };
        [of_5_1(Scenario::Offline), chat]
    }

    /// The same run as one of a compliance test.
    pub(crate) fn of_test(mut self, test: &'static str) -> Self {
        self.mode = Mode::Performance;
        self.test = Some(test);
        if test == "TEST06" {
            self.min_duration_ms = 0;
        }
        self
    }

    /// The settings of its audit.config: seed and number of logged responses, whether and which sample is repeated.
    fn audit(&self) -> (u64, u64, bool, u64) {
        let seed = 720_381_539_243_781_796;
        match self.test {
            Some("TEST01") => {
                (seed, if self.benchmark == "3d-unet-99" { 64 } else { 4096 }, false, 0)
            }
            Some("TEST04") => (0, 0, true, 3),
            Some("TEST06") => (seed, 100, false, 0),
            _ => (0, 0, false, 0),
        }
    }

    /// LoadGen's least number of queries; of samples in Offline, where they are one query.
    fn min_queries(&self) -> u64 {
        match self.scenario {
            _ if self.test == Some("TEST06") => 100,
            Scenario::Server => 100,
            _ => self.dataset_samples.min(24_576),
        }
    }

    fn sut_name(&self) -> String {
        format!("acme Network SUT [{}]", self.nodes.join(", "))
    }

    /// Samples per second; a little less in compliance tests.
    fn rate(&self) -> f64 {
        let share = if self.test.is_some() { 0.97 } else { 0.9995 };
        (self.target * share * 10.0).round() / 10.0
    }

    /// Tokens per second. As LoadGen counts them, Server's last sample is not in the rate of samples.
    fn token_rate(&self) -> f64 {
        let samples = self.samples();
        let counted = if self.scenario == Scenario::Server { samples - 1 } else { samples };
        self.rate() * (samples * TOKENS) as f64 / counted as f64
    }

    /// Samples that LoadGen issues.
    fn samples(&self) -> u64 {
        match (self.mode, self.scenario) {
            (Mode::Accuracy, _) => self.dataset_samples,
            _ if self.test == Some("TEST06") => 100,
            (_, Scenario::Server) => (self.rate() * 601.0) as u64,
            _ if self.equal_issue => {
                self.query_samples().div_ceil(self.performance_samples) * self.performance_samples
            }
            _ => self.query_samples(),
        }
    }

    /// Samples in Offline's query, as LoadGen's settings have them.
    fn query_samples(&self) -> u64 {
        (self.target * 660.0) as u64
    }

    /// Time of the test in nanoseconds: that in which so many samples come back at that rate.
    fn duration_ns(&self) -> u64 {
        (self.samples() as f64 / self.rate() * 1e9) as u64
    }

    /// LoadGen's name of the statistic, and its value in nanoseconds. Offline's greatest latency is the time of the test.
    fn latencies(&self) -> [(&'static str, u64); 9] {
        let server = self.scenario == Scenario::Server;
        let unit = if server { 1_000_000 } else { self.duration_ns() / 10 };
        [
            ("min_latency", unit / 10),
            ("max_latency", unit * 10),
            ("mean_latency", unit * 4),
            ("50.00_percentile_latency", unit * 4),
            ("90.00_percentile_latency", unit * 7),
            ("95.00_percentile_latency", unit * 8),
            ("97.00_percentile_latency", unit * 8 + 1),
            ("99.00_percentile_latency", unit * 9),
            ("99.90_percentile_latency", unit * 9 + 1),
        ]
    }
}

/// The label of a sample.
fn label(sample: u64) -> u32 {
    (sample % 1000) as u32
}

/// The SUT's answer to it: right for 77 of 100.
fn answer(sample: u64) -> u32 {
    if sample % 100 < 77 { label(sample) } else { label(sample + 1) }
}

fn sha256(bytes: &[u8]) -> String {
    sha256_of(bytes)
}

/// Makes the run's folder and fills it.
pub(crate) fn run(dir: &Path, spec: &RunSpec) -> RunResult {
    fs::create_dir_all(dir).unwrap();
    let files = [
        (tree::DETAIL, logs::detail(spec)),
        (tree::SUMMARY, logs::summary(spec)),
        (tree::ACCURACY_LOG, logs::accuracy(spec)),
    ];
    for (name, text) in &files {
        fs::write(dir.join(name), text).unwrap();
    }
    if spec.mode == Mode::Accuracy && spec.test.is_none() && spec.accuracy_txt.is_none() {
        let labels = (0..spec.dataset_samples).map(|sample| (sample, label(sample)));
        let map: String =
            labels.map(|(sample, label)| format!("sample_{sample:06} {label}\n")).collect();
        fs::write(dir.join("val_map.txt"), map).unwrap();
    }
    let hashes = files.iter().map(|(name, text)| ((*name).to_owned(), sha256(text.as_bytes())));
    let result = record::result(spec, hashes.collect());
    write_result(dir, &result);
    result
}

/// Writes `result.json` anew, as tests do that change it.
pub(crate) fn write_result(dir: &Path, result: &RunResult) {
    fs::write(dir.join("result.json"), serde_json::to_string_pretty(result).unwrap()).unwrap();
}

/// Writes a log anew and notes its hash in `result.json`, as though the run had made it so.
pub(crate) fn replace_log(dir: &Path, name: &str, change: impl FnOnce(String) -> String) {
    let text = change(fs::read_to_string(dir.join(name)).unwrap());
    fs::write(dir.join(name), &text).unwrap();
    let path = dir.join("result.json");
    let mut result: RunResult = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    result.logs.insert(name.into(), sha256(text.as_bytes()));
    write_result(dir, &result);
}

/// All runs of one result: the folders `performance`, `accuracy`, `digests` and `compliance/TEST…` of `dir`.
pub(crate) fn result_runs(dir: &Path, base: &RunSpec) {
    let performance =
        RunSpec { mode: Mode::Performance, test: None, digests: false, ..base.clone() };
    run(&dir.join("performance"), &performance);
    run(&dir.join("accuracy"), &RunSpec { mode: Mode::Accuracy, ..performance.clone() });
    run(&dir.join("digests"), &RunSpec { digests: true, ..performance.clone() });
    for test in base.tests {
        let folder = dir.join("compliance").join(test);
        let spec = performance.clone().of_test(test);
        run(&folder, &spec);
        let accuracy = match *test {
            "TEST01" => Some(
                "num_acc_log_entries = 50000\nnum_acc_log_duplicate_keys = 0\nnum_acc_log_data_mismatch = 0\n\
                 num_perf_log_entries = 4096\nnum_perf_log_qsl_idx_match = 4096\nnum_perf_log_data_mismatch = 0\n\
                 num_missing_qsl_idxs = 0\nTEST PASS\n\n",
            ),
            "TEST06" if base.scenario == Scenario::Offline => Some(
                "First token check pass: Skipped\nEOS check pass: True\nSample length check pass: True\n\
                 TEST06 verification complete\n",
            ),
            "TEST06" => Some(
                "First token check pass: True\nEOS check pass: True\nSample length check pass: True\n\
                 TEST06 verification complete\n",
            ),
            _ => None,
        };
        if let Some(text) = accuracy {
            fs::write(folder.join(tree::VERIFY_ACCURACY), text).unwrap();
        }
        if *test != "TEST06" {
            let (reference, seen) = (performance.rate(), spec.rate());
            let text = format!("reference score = {reference}\ntest score = {seen}\nTEST PASS\n");
            fs::write(folder.join(tree::VERIFY_PERFORMANCE), text).unwrap();
        }
    }
}

/// The sources of the program that made these runs.
pub(crate) const SOURCES: [Source<'_>; 8] = [
    ("Cargo.toml", b"[workspace]\nmembers = [\"qdl\"]\n"),
    ("Cargo.lock", b"version = 4\n"),
    ("docs/PROTOCOL.md", include_bytes!("../../../docs/PROTOCOL.md")),
    ("proto/contract/netdiv/v1/evidence.proto", b"syntax = \"proto3\";\n"),
    ("proto/contract/netdiv/v1/quic.proto", b"syntax = \"proto3\";\n"),
    ("proto/contract/netdiv/v1/sut_node.proto", b"import \"netdiv/v1/evidence.proto\";\n"),
    ("qdl/Cargo.toml", b"[package]\nname = \"qdl\"\n"),
    ("qdl/src/lib.rs", b"//! The Query Dispatch Library.\n"),
];
