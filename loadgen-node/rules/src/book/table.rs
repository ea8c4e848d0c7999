//! The table: benchmarks and rounds, found by their names.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    benchmark::Benchmark,
    round::{Release, Round, RoundName},
};

/// Benchmarks and rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// In the order of the rules.
    pub benchmarks: Vec<Benchmark>,
    /// The oldest first.
    pub rounds: Vec<Round>,
}

/// What a sample needs of the network (rules, Appendix B).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The family, such as "gptj", or one of its encodings, such as "resnet50-fp32".
    pub name: String,
    /// The formula with its numbers and element types.
    pub formula: String,
    /// Bytes from the LoadGen node to the SUT; 0 where the rules call them negligible.
    pub ingress_bytes: u64,
    /// Bytes back.
    pub egress_bytes: u64,
}

impl Table {
    /// The benchmark of that name, or of that name in the official checker ("resnet").
    pub fn find(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks
            .iter()
            .find(|benchmark| benchmark.name == name || benchmark.checker_name() == name)
    }

    /// The round of that name.
    pub fn round(&self, name: RoundName) -> Option<&Round> {
        self.rounds.iter().find(|round| round.name == name)
    }

    /// The round that all three seeds were announced for, each by LoadGen's setting.
    pub fn round_of_seeds(&self, seed: impl Fn(&str) -> Option<u64>) -> Option<&Round> {
        self.rounds.iter().find(|round| round.seeds.unlike(&seed).next().is_none())
    }

    /// The releases of LoadGen of all rounds.
    pub fn releases(&self) -> impl Iterator<Item = &Release> {
        self.rounds.iter().flat_map(|round| &round.loadgen)
    }

    /// What the families need of the network, each once.
    pub fn needs(&self) -> Vec<Need> {
        let mut seen = BTreeSet::new();
        let all = self.benchmarks.iter().flat_map(|benchmark| &benchmark.bandwidth);
        all.filter(|bandwidth| seen.insert(&bandwidth.name))
            .map(|bandwidth| Need {
                name: bandwidth.name.clone(),
                formula: bandwidth.formula.clone(),
                ingress_bytes: bandwidth.ingress_bytes(),
                egress_bytes: bandwidth.egress_bytes(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(table.releases().count(), 4);
    }

    #[test]
    fn the_datacenter_suite_is_whole() {
        let of = |suite| {
            let all = Table::builtin().unwrap().benchmarks.iter();
            all.filter(move |b| b.suite == suite).map(|b| b.name.as_str()).collect::<Vec<_>>()
        };
        let datacenter = [
            "resnet50",
            "retinanet",
            "3d-unet-99",
            "3d-unet-99.9",
            "gptj-99",
            "gptj-99.9",
            "llama2-70b-99",
            "llama2-70b-99.9",
            "llama2-70b-interactive-99",
            "llama2-70b-interactive-99.9",
            "llama3.1-405b",
            "mixtral-8x7b",
            "dlrm-v2-99",
            "dlrm-v2-99.9",
            "stable-diffusion-xl",
            "rgat",
        ];
        assert_eq!(of(Suite::Datacenter), datacenter);
        assert_eq!(of(Suite::Edge), ["bert-99", "bert-99.9"]);
        assert_eq!(of(Suite::Retired), ["ssd-resnet34", "ssd-mobilenet", "rnnt", "dlrm"]);
    }

    #[test]
    fn targets_are_shares_of_the_reference() {
        let quality = |name: &str, metric: &str| {
            let benchmark = Table::builtin().unwrap().find(name).unwrap();
            benchmark.quality.iter().find(|quality| quality.metric == metric).unwrap()
        };
        // As the official checker multiplies them.
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
        let want = [
            "resnet50",
            "resnet50-fp32",
            "retinanet",
            "3d-unet",
            "3d-unet-fp32",
            "bert",
            "gptj",
            "llama2-70b",
            "llama3.1-405b",
            "mixtral-8x7b",
            "dlrm-v2",
            "stable-diffusion-xl",
            "rgat",
        ];
        assert_eq!(names, want);
        let bytes = |name: &str| {
            let need = needs.iter().find(|need| need.name == name).unwrap();
            (need.ingress_bytes, need.egress_bytes)
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
