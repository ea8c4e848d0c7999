//! Runs each target on its corpus and on mutations of it, the same mutations every time.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use std::{fs, io::Write as _, path::PathBuf};

use fuzz_targets::{TARGETS, Target};
use loadgen_node::{RunArgs, TableArgs};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// Number of mutations of each target's corpus.
const MUTATIONS: usize = 30_000;

/// Number of mutations for each slow target, by name. These targets read files, decode images or
/// judge whole runs.
const FEWER: [(&str, usize); 10] = [
    ("samples", 20_000),
    ("images", 2_000),
    ("settings", 10_000),
    ("nodes", 10_000),
    ("manifests", 10_000),
    ("evidence", 10_000),
    ("secrets", 10_000),
    ("served_answers", 5_000),
    ("run_folders", 2_000),
    ("submissions", 3_000),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a file")).collect()
}

fn mutate(seed: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.random()),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            3 if at < bytes.len() => {
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.random_range(0..5)]
            }
            _ => bytes.extend_from_within(at..),
        }
        bytes.truncate(1 << 14);
    }
    bytes
}

fn mutated((name, target): Target, corpus: &[Vec<u8>]) {
    assert!(!corpus.is_empty(), "{name} has no corpus");
    corpus.iter().for_each(|seed| target(seed));
    let mut random = StdRng::seed_from_u64(0);
    let fewer = FEWER.iter().find(|(slow, _)| *slow == name).map(|(_, mutations)| *mutations);
    for n in 0..fewer.unwrap_or(MUTATIONS) {
        target(&mutate(&corpus[n % corpus.len()], &mut random));
    }
}

#[test]
fn no_reader_falls_over_its_corpus_or_mutations_of_it() {
    for (name, target) in TARGETS {
        mutated((name, target), &corpus(name));
    }
}

/// Covers the settings of `loadgen-node run`, which are no target of libFuzzer.
#[test]
fn no_settings_of_a_run_make_it_fall_over() {
    fn settings(data: &[u8]) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(data).expect("room for it");
        let args = netdiv_node_common::process::read_settings::<RunArgs>(file.path());
        // Files that the settings name are not opened here.
        let _ = args
            .map(|args| RunArgs { evidence: None, table: TableArgs::default(), ..args }.resolve());
    }
    let seeds = [
        "nodes = [\"127.0.0.1:50051\"]\nscenario = \"server\"\nmode = \"find-peak\"\nbenchmark = \"resnet50\"\n\
         dataset = \"synthetic:10x64\"\nsetting = [\"min_query_count=1\"]\npolicy = \"round-robin\"\n",
        "nodes = [\"a:1\", \"b:2\"]\ninsecure = true\nscenario = \"offline\"\nconnections = 2\nstreams = 2\n\
         transport = \"quic\"\nquic_mtu = 1452\nsample_timeout = '1m'\nwindow_bytes = 1000000\n\
         connect_timeout = '9223372036854775807ms'\n",
        "nodes = [\"127.0.0.1:1\"]\nscenario = \"offline\"\ndivision = \"network\"\nrehearsal = true\ndigests = true\n",
    ];
    for seed in seeds {
        let corpus = [seed.as_bytes().to_vec()];
        mutated(("settings", settings), &corpus);
    }
}
