//! One benchmark: the keys of `table.toml`.

use std::collections::BTreeMap;

use netdiv_node_common::words::SpeculativeDecoding;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::{element_type::ElementType, round::RoundName};
use crate::Scenario;

/// A benchmark of the suite, of one quality target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Its name: `--benchmark`, and the folder in a submission.
    pub name: String,
    /// Its name in the official checker, where that is another.
    pub(super) checker_name: Option<String>,
    /// Its key in LoadGen's mlperf.conf.
    pub loadgen_model: String,
    /// The first release of LoadGen whose mlperf.conf has it; none where all have.
    pub loadgen_since: Option<String>,
    /// Where it belongs.
    pub suite: Suite,
    /// The rounds whose datacenter suite has it.
    #[serde(default)]
    pub rounds: Vec<RoundName>,
    /// The benchmark that it is the interactive variant of.
    pub interactive_of: Option<String>,
    /// The area, as the rules name it.
    pub area: String,
    /// The task, as the rules name it.
    pub task: String,
    /// The model, as the rules name it.
    pub model: String,
    /// The data set, as the rules name it.
    pub dataset: String,
    /// What a sample is (section 3).
    #[serde(default)]
    pub sample: String,
    /// Samples of the validation data set: as many as an accuracy run has.
    pub dataset_samples: u64,
    /// "QSL Size": least number of samples in performance mode.
    pub qsl_size: u64,
    /// True if the performance run has a data set of its own, with as many samples.
    #[serde(default)]
    pub own_performance_set: bool,
    /// True if a performance run may be shorter than the round's minimum.
    #[serde(default)]
    pub no_min_duration: bool,
    /// Reason why netdiv cannot run it, and what would be needed first.
    pub cannot_run: Option<String>,
    /// The share of the reference's quality that counts where [`Quality`] names no other.
    #[serde(default = "whole")]
    pub quality_share: f64,
    /// Quality targets; all must be met.
    pub quality: Vec<Quality>,
    /// Latency that 99 % of Server's queries must meet, in milliseconds.
    pub server_latency_ms: Option<f64>,
    /// Time to the first token that 99 % of Server's queries must meet, in milliseconds.
    pub ttft_ms: Option<f64>,
    /// Time for each further token that 99 % of Server's queries must meet, in milliseconds.
    pub tpot_ms: Option<f64>,
    /// How LoadGen counts tokens, for language models.
    pub token_latencies: Option<TokenLatencies>,
    /// Ids of tokens are below it, for language models.
    pub vocabulary: Option<u32>,
    /// Speculative decoding, where it is allowed.
    pub speculative_decoding: Option<AllowedDrafts>,
    /// Numbers of classes, in its labels, are below it; `None` where labels are something else.
    pub classes: Option<u32>,
    /// The scenarios that its suite requires.
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// Least number of samples in Offline's query: 24,576, or the data set's where that has fewer.
    #[serde(default)]
    pub offline_samples: u64,
    /// Whether every sample is issued equally often (`sample_concatenate_permutation`).
    #[serde(default)]
    pub equal_issue: bool,
    /// What a sample may hold: each entry is one possible list of tensors.
    #[serde(default)]
    pub inputs: Vec<Vec<String>>,
    /// Element types that these tensors may have.
    #[serde(default)]
    pub input_types: Vec<ElementType>,
    /// What the response holds.
    #[serde(default)]
    pub output: String,
    /// Element type of the responses in the accuracy log.
    pub accuracy_dtype: Option<ElementType>,
    /// Parameters of the inference that the Closed division prescribes (section 4.1.3).
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Bytes of a sample (Appendix B). The first entry is the usual one, the others are further encodings.
    #[serde(default)]
    pub bandwidth: Vec<Bandwidth>,
    /// Numbers that the model has learnt, in millions.
    pub weights_millions: Option<f64>,
    /// How samples may be compressed (section 6.2.4).
    #[serde(default)]
    pub compression: Compression,
    /// The data set's own compression, where it may stay.
    pub original_compression: Option<String>,
    /// Scenarios in which a whole query may be compressed at once.
    #[serde(default)]
    pub per_query_compression: Vec<Scenario>,
    /// Compliance tests that a submission needs.
    #[serde(default)]
    pub compliance: Vec<Test>,
    /// Names of further tests, which netdiv cannot make. `check` reads only their verdicts.
    #[serde(default)]
    pub other_tests: Vec<String>,
    /// TEST01's `accuracy_log_sampling_target`; 0 without TEST01.
    #[serde(default)]
    pub sampling: u32,
    /// Where the rules and the official checker differ.
    #[serde(default)]
    pub differences: Vec<Difference>,
    /// What else there is to know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where each figure comes from, by its key.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

impl Benchmark {
    /// Its name in the official checker: "resnet" for resnet50.
    pub fn checker_name(&self) -> &str {
        self.checker_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the names of all compliance tests that a submission needs.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        let made = self.compliance.iter().map(|test| test.name());
        made.chain(self.other_tests.iter().map(String::as_str))
    }

    /// What a sample may hold: the lists of tensors, and their types with such a word between them.
    pub fn inputs(&self, between: &str) -> String {
        let lists: Vec<_> = self.inputs.iter().map(|tensors| tensors.join(" + ")).collect();
        let types: Vec<_> = self.input_types.iter().map(|one| one.word()).collect();
        format!("{}, as {}", lists.join(", or "), types.join(between))
    }

    /// The scenarios that its suite requires, as words.
    pub(crate) fn required_scenarios(&self) -> String {
        let words: Vec<_> = self.scenarios.iter().map(|scenario| scenario.word()).collect();
        words.join(" and ")
    }

    /// What its prompts and outputs may be, for language models.
    pub fn tokens(&self) -> Option<TokenLimits> {
        let parameter = |name| self.parameters.get(name)?.parse().ok();
        self.token_latencies?;
        Some(TokenLimits {
            prompt: self.bandwidth.first()?.ingress.first()?.elements,
            output_least: parameter("min_new_tokens").unwrap_or(1),
            output_most: parameter("max_new_tokens")?,
            vocabulary: self.vocabulary?,
        })
    }

    /// Tokens of an output on average, as in the reference implementation, where the rules name them.
    pub fn mean_output_tokens(&self) -> Option<f64> {
        let of_tokens = self.quality.iter().find(|quality| quality.metric == "TOKENS_PER_SAMPLE");
        of_tokens.map(|quality| quality.reference)
    }

    /// What values of metrics, by name, miss of the targets. The official checker takes any value that reaches the target; all
    /// of a metric's have to here, so that an edited file is no better.
    pub fn missed(&self, values: &[(String, f64)]) -> Vec<String> {
        let of_metric = |Quality { metric, least, most, .. }: &Quality| {
            let mut of_metric = values.iter().filter(|(name, _)| name == metric).peekable();
            let is_missing = of_metric.peek().is_none();
            let least_written = as_written(*least);
            let missing = format!("{metric} is missing; at least {least_written} is asked for");
            let beyond = of_metric.filter_map(|(_, value)| match most {
                _ if value < least => {
                    Some(format!("{metric} is {value}, less than {least_written}"))
                }
                Some(most) if value > most => {
                    Some(format!("{metric} is {value}, more than {}", as_written(*most)))
                }
                _ => None,
            });
            is_missing.then_some(missing).into_iter().chain(beyond).collect::<Vec<_>>()
        };
        self.quality.iter().flat_map(of_metric).collect()
    }

    /// The official checker's value of a figure, where it differs from the rules; a metric's name stands for its
    /// reference.
    pub fn checker(&self, figure: &str) -> Option<f64> {
        self.differences.iter().find(|difference| difference.figure == figure)?.checker
    }
}

/// The whole of the reference's quality.
fn whole() -> f64 {
    1.0
}

/// A part of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// The datacenter suite: all that the Network division has (section 6.2).
    Datacenter,
    /// The edge suite only.
    Edge,
    /// No longer a benchmark.
    Retired,
}

/// A quality target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// The official checker's name of the metric: acc, mAP, F1, AUC, DICE, ROUGE1 and so on.
    pub metric: String,
    /// The reference implementation's quality, in the unit of accuracy.txt.
    pub reference: f64,
    /// The share of it that is enough, where it is not the benchmark's.
    pub share: Option<f64>,
    /// Least value: the reference times the share. Not in the file.
    #[serde(skip_deserializing)]
    pub least: f64,
    /// Greatest value.
    pub most: Option<f64>,
}

/// A target as people write it: products of decimal fractions have long tails.
pub fn as_written(target: f64) -> f64 {
    (target * 1e6).round() / 1e6
}

/// How LoadGen counts tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenLatencies {
    /// The SUT reports them (`use_token_latencies`).
    Measured,
    /// By a factor (`infer_token_latencies`).
    Inferred,
}

/// The speculative decoding that the rules allow a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedDrafts {
    /// The rounds whose rules allow it.
    pub rounds: Vec<RoundName>,
    /// The only head and configuration.
    pub configuration: SpeculativeDecoding,
}

/// What prompts and outputs of a language model may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimits {
    /// Tokens of the longest prompt.
    pub prompt: u64,
    /// Tokens of the shortest output.
    pub output_least: u64,
    /// Tokens of the longest output.
    pub output_most: u64,
    /// Ids are below it.
    pub vocabulary: u32,
}

/// What Appendix B asks for a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// The family, or one of its encodings.
    pub name: String,
    /// The formula with its numbers and element types.
    pub formula: String,
    /// Numeric formula of section B.1.
    pub rules_ingress: String,
    /// Numeric formula of section B.2.
    pub rules_egress: String,
    /// What goes to the SUT; nothing where it is negligible.
    #[serde(default)]
    pub ingress: Vec<Elements>,
    /// What comes back.
    #[serde(default)]
    pub egress: Vec<Elements>,
    /// Whether the figures are means: samples differ in size.
    #[serde(default)]
    pub mean: bool,
}

impl Bandwidth {
    /// Bytes of a sample to the SUT.
    pub fn ingress_bytes(&self) -> u64 {
        sum(&self.ingress)
    }

    /// Bytes of its response.
    pub fn egress_bytes(&self) -> u64 {
        sum(&self.egress)
    }
}

fn sum(elements: &[Elements]) -> u64 {
    elements.iter().map(Elements::bytes).fold(0, u64::saturating_add)
}

/// Elements of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elements {
    /// How many.
    pub elements: u64,
    /// Their type.
    pub data_type: ElementType,
}

impl Elements {
    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.data_type.bytes())
    }
}

/// How samples may be compressed (section 6.2.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Without loss.
    Lossless,
    /// Without loss, or as the data set is.
    LosslessOrOriginal,
    /// The rules have no row for it.
    Unstated,
}

/// A compliance test.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "UPPER"))]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Test {
    /// Answers in performance mode are those of accuracy mode
    Test01,
    /// One sample repeated is not faster: nothing is cached
    Test04,
    /// Answers of language models are consistent
    Test06,
}

impl Test {
    /// Its name, as folders have it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A figure that the rules and the official checker give differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The key, or the metric.
    pub figure: String,
    /// In the rules; absent where they say nothing.
    pub rules: Option<f64>,
    /// In the submission checker; absent where it does not look.
    pub checker: Option<f64>,
}
