//! The table of benchmarks and rounds, with lookup by name.

use std::collections::BTreeSet;

use netdiv_node_common::words::did_you_mean;
use serde::Serialize;

use super::{
    benchmark::{Bandwidth, Benchmark},
    loadgen::LoadGen,
    round::{Round, RoundName},
};

/// Table of benchmarks, rounds and LoadGen builds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Benchmarks, in the order of the rules.
    pub benchmarks: Vec<Benchmark>,
    /// Rounds, oldest first.
    pub rounds: Vec<Round>,
    /// LoadGen builds that rounds accept, oldest first.
    pub loadgens: Vec<LoadGen>,
}

/// Returns true if `name` is one of the benchmark's names: its own, the official checker's, or the
/// name in published results, such as `llama3_1-8b`.
fn is_called(benchmark: &Benchmark, name: &str) -> bool {
    let Benchmark { name: own, .. } = benchmark;
    own == name || benchmark.checker_name() == name || own.replace('.', "_") == name
}

impl Table {
    /// Finds a benchmark by its name, by its name in the official checker ("resnet"), or by its
    /// name in published results ("llama3_1-8b").
    pub fn find(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|benchmark| is_called(benchmark, name))
    }

    /// Finds a benchmark by name. The error is the message about an unknown name.
    pub fn known(&self, name: &str) -> Result<&Benchmark, String> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    /// Returns the reason why the benchmark of this name cannot be run, if there is one.
    pub fn refusal(&self, name: &str) -> Option<String> {
        let why = self.find(name)?.cannot_run.as_ref()?;
        Some(format!("{name} cannot be run: {why}"))
    }

    /// Returns the message about a name that no benchmark has, or whose benchmark cannot be run.
    pub fn unknown(&self, name: &str) -> String {
        self.refusal(name).unwrap_or_else(|| {
            let meant = self.meant(name);
            format!("there is no benchmark {name}{meant}; `loadgen-node benchmarks` lists all")
        })
    }

    /// Suggests benchmarks for an unknown name: ` (did you mean …?)`, or an empty text.
    pub fn meant(&self, name: &str) -> String {
        match self.find(name) {
            Some(_) => String::new(),
            None => did_you_mean(name, self.benchmarks.iter().map(|one| one.name.as_str())),
        }
    }

    /// Returns the interactive variant of a benchmark.
    pub fn variant_of(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|one| one.interactive_of.as_deref() == Some(name))
    }

    /// Returns the interactive variant of a benchmark, if the round contains it.
    pub fn interactive(&self, round: RoundName, name: &str) -> Option<&Benchmark> {
        self.variant_of(name).filter(|variant| variant.rounds.contains(&round))
    }

    /// Returns the versions of LoadGen's Python package whose mlperf.conf has a benchmark, in all
    /// rounds that contain the benchmark, oldest first.
    pub fn packages_of(&self, benchmark: &Benchmark) -> Vec<&str> {
        let first = benchmark.loadgen_since.as_deref();
        let of_rounds = self.rounds.iter().filter(|round| benchmark.rounds.contains(&round.name));
        let packages = of_rounds.flat_map(|round| &round.packages).map(String::as_str);
        packages.skip_while(|package| first.is_some_and(|first| first != *package)).collect()
    }

    /// Returns the round that announced the schedule seed of a LoadGen build.
    pub fn round_of_loadgen(&self, loadgen: &LoadGen) -> Option<&Round> {
        self.rounds.iter().find(|round| round.seeds.schedule == loadgen.schedule_seed)
    }

    /// Returns the instruction to build a program with the seeds of a round.
    pub fn build_for(&self, round: &Round) -> String {
        match round.packages.last() {
            Some(package) => {
                format!("build one for round {} with `make LOADGEN={package}`", round.name)
            }
            None => format!(
                "build one for round {} from a checkout of mlcommons/inference with its seeds (NETDIV_LOADGEN_DIR)",
                round.name
            ),
        }
    }

    /// Finds a round by name.
    pub fn round(&self, name: RoundName) -> Option<&Round> {
        self.rounds.iter().find(|round| round.name == name)
    }

    /// Finds a round by name. The error is for the option `--round` and lists the known rounds.
    pub fn known_round(&self, name: RoundName) -> Result<&Round, String> {
        self.round(name).ok_or_else(|| {
            format!("--round {name}: unknown round; choose one of {}", self.round_names())
        })
    }

    /// Returns the names of all rounds, separated by commas.
    pub(crate) fn round_names(&self) -> String {
        let names: Vec<_> = self.rounds.iter().map(|round| round.name.to_string()).collect();
        names.join(", ")
    }

    /// Returns the round whose three announced seeds are the seeds of a run. `seed` returns the
    /// run's seed by the name of the LoadGen setting.
    pub fn round_of_seeds(&self, seed: impl Fn(&str) -> Option<u64>) -> Option<&Round> {
        self.rounds.iter().find(|round| round.seeds.differing(&seed).next().is_none())
    }

    /// Returns the network bandwidth that each family and each of its encodings requires, each name
    /// once.
    pub fn needs(&self) -> Vec<Bandwidth> {
        let mut seen = BTreeSet::new();
        let all = self.benchmarks.iter().flat_map(|benchmark| &benchmark.bandwidth);
        all.filter(|bandwidth| seen.insert(&bandwidth.name)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use netdiv_node_common::words::PartName;

    use super::{super::benchmark::Suite, *};
    use crate::tree::Layout;

    #[test]
    fn the_built_in_table_is_read_and_names_are_found() {
        let table = Table::builtin().unwrap();
        assert_eq!(table.find("resnet").unwrap().name, "resnet50");
        assert_eq!(table.find("resnet50").unwrap().checker_name(), "resnet");
        assert_eq!(table.find("gptj-99.9").unwrap().loadgen_model, "gptj");
        assert_eq!(table.find("llama3.1-405b").unwrap().loadgen_model, "llama3_1-405b");
        assert_eq!(table.find("rnnt").unwrap().suite, Suite::Retired);
        assert!(table.find("gptj").is_none() && table.find("").is_none());
        let round = |name: &str| table.round(name.parse().unwrap());
        assert_eq!(round("v5.0").unwrap().seeds.schedule, 9_933_818_062_894_767_841);
        assert_eq!(round("v6.0").unwrap().layout, Layout::B);
        assert!(round("v4.1").is_none());
        assert_eq!(table.loadgens.len(), 30);
        let refused = table.refusal("dlrm-v3").unwrap();
        assert!(refused.starts_with("dlrm-v3 cannot be run: its queries are issued in the order"));
        assert_eq!((table.refusal("dlrm"), table.refusal("gpt-oss-120b")), (None, None));
        assert_eq!(table.unknown("dlrm-v3"), refused);
        assert_eq!(
            table.unknown("llama2-70b"),
            "there is no benchmark llama2-70b (did you mean llama2-70b-99 or llama2-70b-99.9?); \
             `loadgen-node benchmarks` lists all"
        );
    }

    #[test]
    fn packages_and_rounds_are_those_that_have_a_benchmark() {
        let table = Table::builtin().unwrap();
        let packages = |name: &str| table.packages_of(table.find(name).unwrap());
        assert_eq!(packages("llama2-70b-99"), ["5.0.11", "5.0.13", "5.0.22", "5.1.1", "6.0.10"]);
        assert_eq!(packages("llama2-70b-interactive-99"), ["5.0.13", "5.0.22", "5.1.1", "6.0.10"]);
        assert_eq!(packages("gptj-99"), ["5.0.11", "5.0.13"]);
        assert_eq!(packages("llama3.1-8b"), ["5.0.22", "5.1.1", "6.0.10", "6.0.17"]);
        assert_eq!(packages("llama3.1-8b-interactive"), ["5.1.1", "6.0.10", "6.0.17"]);
        assert_eq!(packages("deepseek-r1-interactive"), ["6.0.10", "6.0.17"]);
        let variant = |round: &str, name| Some(&table.interactive(round.parse().ok()?, name)?.name);
        assert_eq!(variant("v5.1", "llama3.1-8b").unwrap(), "llama3.1-8b-interactive");
        assert_eq!(variant("v6.0", "deepseek-r1").unwrap(), "deepseek-r1-interactive");
        assert_eq!(variant("v5.1", "deepseek-r1"), None);
        assert_eq!(variant("v5.1", "mixtral-8x7b"), None);
    }

    #[test]
    fn prompts_and_outputs_have_limits() {
        let limits = |name: &str| {
            let tokens = Table::builtin().unwrap().find(name).unwrap().tokens()?;
            Some((tokens.prompt, tokens.output_min, tokens.output_max, tokens.vocabulary))
        };
        assert_eq!(limits("gptj-99"), Some((2048, 30, 128, 50_400)));
        assert_eq!(limits("llama2-70b-interactive-99.9"), Some((1024, 1, 1024, 32_000)));
        assert_eq!(limits("mixtral-8x7b"), Some((2048, 2, 1024, 32_000)));
        assert_eq!(limits("llama3.1-405b"), Some((20_000, 2, 20_000, 128_256)));
        assert_eq!(limits("llama3.1-8b"), Some((2048, 1, 128, 128_256)));
        assert_eq!(limits("deepseek-r1"), Some((3136, 1, 20_000, 129_280)));
        assert_eq!(limits("gpt-oss-120b"), Some((15_330, 1, 32_768, 201_088)));
        assert_eq!(limits("stable-diffusion-xl"), None);
        let oss = Table::builtin().unwrap().find("gpt-oss-120b").unwrap();
        assert_eq!((oss.set_samples(false), oss.set_samples(true)), (6396, 4395));
        let of = |part| oss.output_limits(part);
        assert_eq!(
            (of(PartName::Performance), of(PartName::Accuracy)),
            (vec![10_000, 10_240], vec![32_768])
        );
        assert_eq!(oss.performance_tokens().unwrap().output_max, 10_240);
        let llama = Table::builtin().unwrap().find("llama2-70b-99").unwrap();
        assert_eq!(llama.performance_tokens(), llama.tokens());
    }

    #[test]
    fn the_datacenter_suite_is_whole() {
        let of = |suite| {
            let all = Table::builtin().unwrap().benchmarks.iter();
            all.filter(move |b| b.suite == suite).map(|b| b.name.as_str()).collect::<Vec<_>>()
        };
        let datacenter = "resnet50 retinanet 3d-unet-99 3d-unet-99.9 gptj-99 gptj-99.9 llama2-70b-99 \
             llama2-70b-99.9 llama2-70b-interactive-99 llama2-70b-interactive-99.9 \
             llama3.1-405b llama3.1-405b-interactive mixtral-8x7b llama3.1-8b \
             llama3.1-8b-interactive deepseek-r1 deepseek-r1-interactive dlrm-v2-99 \
             dlrm-v2-99.9 stable-diffusion-xl rgat gpt-oss-120b gpt-oss-120b-interactive \
             qwen3-vl-235b-a22b qwen3-vl-235b-a22b-interactive dlrm-v3 wan-2.2-t2v-a14b \
             whisper e2e-rag-qna e2e-rag-db";
        assert_eq!(of(Suite::Datacenter), datacenter.split(' ').collect::<Vec<_>>());
        assert_eq!(of(Suite::Edge), ["bert-99", "bert-99.9"]);
        assert_eq!(of(Suite::Retired), ["ssd-resnet34", "ssd-mobilenet", "rnnt", "dlrm"]);
    }

    #[test]
    fn targets_are_shares_of_the_reference() {
        let quality = |name: &str, metric: &str| {
            let benchmark = Table::builtin().unwrap().find(name).unwrap();
            benchmark.quality.iter().find(|quality| quality.metric == metric).unwrap()
        };
        // The official checker multiplies in the same way.
        assert_eq!(quality("resnet50", "acc").least, 76.46 * 0.99);
        assert_eq!(quality("gptj-99.9", "ROUGEL").least, 29.9881 * 0.999);
        assert_eq!(quality("gptj-99.9", "GEN_LEN").least, 4016878.0 * 0.9);
        assert_eq!(quality("stable-diffusion-xl", "CLIP_SCORE").least, 31.68631873);
        assert_eq!(quality("stable-diffusion-xl", "CLIP_SCORE").most, Some(31.81331801));
        let unet = Table::builtin().unwrap().find("3d-unet-99").unwrap();
        assert_eq!((unet.qsl_size, unet.checker("qsl_size")), (43, Some(43.0)));
        assert_eq!(unet.checker("DICE"), Some(0.8617));
        assert_eq!(unet.checker("dataset_samples"), None);
    }

    #[test]
    fn the_fabric_needs_what_appendix_b_says() {
        let needs = Table::builtin().unwrap().needs();
        let names: Vec<_> = needs.iter().map(|need| need.name.as_str()).collect();
        let want = "resnet50 resnet50-fp32 retinanet 3d-unet 3d-unet-fp32 bert gptj llama2-70b \
             llama3.1-405b mixtral-8x7b llama3.1-8b deepseek-r1 dlrm-v2 stable-diffusion-xl \
             rgat gpt-oss-120b qwen3-vl-235b-a22b dlrm-v3 wan-2.2-t2v-a14b e2e-rag";
        assert_eq!(names, want.split(' ').collect::<Vec<_>>());
        let bytes = |name: &str| {
            let need = needs.iter().find(|need| need.name == name).unwrap();
            (need.ingress_bytes(), need.egress_bytes())
        };
        assert_eq!(bytes("resnet50"), (150_528, 0));
        assert_eq!(bytes("resnet50-fp32"), (602_112, 0));
        assert_eq!(bytes("3d-unet"), (32_944_795, 32_944_795));
        assert_eq!(bytes("bert"), (9216, 0));
        assert_eq!(bytes("llama3.1-405b"), (80_000, 80_000));
        assert_eq!(bytes("dlrm-v2"), (42_120, 0));
        assert_eq!(bytes("stable-diffusion-xl"), (308, 3_145_728));
    }
}
