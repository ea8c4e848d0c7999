//! Each target on its corpus and on mutations of it: the same ones every time.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use std::{fs, path::PathBuf};

use fuzz_targets::TARGETS;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// Mutations of each target's corpus.
const MUTATIONS: usize = 30_000;

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

#[test]
fn no_decoder_falls_over_its_corpus_or_mutations_of_it() {
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        corpus.iter().for_each(|seed| target(seed));
        let mut random = StdRng::seed_from_u64(0);
        for n in 0..MUTATIONS {
            target(&mutate(&corpus[n % corpus.len()], &mut random));
        }
    }
}
