//! Benchmarks of the table. The fields are the keys of `table.toml`.

use std::collections::BTreeMap;

use netdiv_node_common::words::{PartName, SpeculativeDecoding};
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::{element_type::ElementType, round::RoundName};
use crate::Scenario;

/// A benchmark of the suite with one quality target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Name in `--benchmark`, and folder name in a submission.
    pub name: String,
    /// Name in the official checker, if it differs.
    pub(super) checker_name: Option<String>,
    /// Key in LoadGen's mlperf.conf.
    pub loadgen_model: String,
    /// First release of LoadGen whose mlperf.conf has the benchmark; `None` if all releases have
    /// it.
    pub loadgen_since: Option<String>,
    /// Part of the suite.
    pub suite: Suite,
    /// Rounds whose datacenter suite contains the benchmark.
    #[serde(default)]
    pub rounds: Vec<RoundName>,
    /// Name of the benchmark whose interactive variant this is; `None` if it is not a variant.
    pub interactive_of: Option<String>,
    /// Area, as named in the rules.
    pub area: String,
    /// Task, as named in the rules.
    pub task: String,
    /// Model, as named in the rules.
    pub model: String,
    /// Data set, as named in the rules.
    pub dataset: String,
    /// Description of a sample (section 3).
    #[serde(default)]
    pub sample: String,
    /// Number of samples in the validation data set, and in an accuracy run.
    pub dataset_samples: u64,
    /// Minimum number of samples in performance mode ("QSL Size").
    pub qsl_size: u64,
    /// True if the performance run has a separate data set of `qsl_size` samples.
    #[serde(default)]
    pub own_performance_set: bool,
    /// Maximum number of output tokens in performance runs that submitters use, besides the rules'
    /// `max_new_tokens_performance`.
    pub performance_output_tokens: Option<u64>,
    /// True if tokens are drawn at random, so that two answers to a sample differ. Otherwise they
    /// are the likeliest.
    #[serde(default)]
    pub sampled: bool,
    /// Number of tokens of the longest prompt in accuracy runs, if they have a separate data set.
    pub(super) accuracy_prompt_tokens: Option<u64>,
    /// Mean number of output tokens in performance runs, if no quality target states it.
    pub(super) mean_output_tokens: Option<f64>,
    /// True if a performance run may be shorter than the round's minimum duration.
    #[serde(default)]
    pub no_min_duration: bool,
    /// Reason why netdiv cannot run the benchmark, with the missing prerequisites.
    pub cannot_run: Option<String>,
    /// Share of the reference implementation's quality that a result must reach. A [`Quality`] may
    /// override it.
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
    /// Method by which LoadGen counts the tokens of a language model; `None` for other benchmarks.
    pub token_latencies: Option<TokenLatencies>,
    /// Vocabulary size of a language model: all token ids are below it.
    pub vocabulary: Option<u32>,
    /// Speculative decoding that the rules allow, if any.
    pub speculative_decoding: Option<AllowedDrafts>,
    /// Number of classes: all class numbers in the labels are below it. `None` if labels are not
    /// classes.
    pub classes: Option<u32>,
    /// Scenarios that the suite requires.
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// Minimum number of samples in Offline's query: 24,576, or the size of a smaller data set.
    #[serde(default)]
    pub offline_samples: u64,
    /// True if LoadGen issues every sample equally often (`sample_concatenate_permutation`).
    #[serde(default)]
    pub equal_issue: bool,
    /// First round in which every LoadGen release does so; `None`: each round of the benchmark.
    pub(crate) equal_issue_since: Option<RoundName>,
    /// Form of a sample.
    #[serde(default)]
    pub form: SampleForm,
    /// Permitted contents of a sample: each entry is one possible list of tensors.
    #[serde(default)]
    pub inputs: Vec<Vec<String>>,
    /// Permitted element types of the tensors in a sample.
    #[serde(default)]
    pub input_types: Vec<ElementType>,
    /// Description of the contents of a response.
    #[serde(default)]
    pub output: String,
    /// Element type of the responses in the accuracy log.
    pub accuracy_dtype: Option<ElementType>,
    /// Parameters of the inference that the Closed division prescribes (section 4.1.3), or that the
    /// reference implementation has.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Sizes of a sample and its response (Appendix B). The first entry is for the usual encoding
    /// of samples, the others are for other encodings.
    #[serde(default)]
    pub bandwidth: Vec<Bandwidth>,
    /// Number of model parameters, in millions.
    pub weights_millions: Option<f64>,
    /// Permitted compression of samples (section 6.2.4).
    #[serde(default)]
    pub compression: Compression,
    /// Compression of the original data set, if samples may be sent in that form.
    pub original_compression: Option<String>,
    /// Scenarios in which a query may be compressed as a whole.
    #[serde(default)]
    pub per_query_compression: Vec<Scenario>,
    /// Compliance tests that a submission needs.
    #[serde(default)]
    pub compliance: Vec<Test>,
    /// Data set and threshold of TEST07; `None` without this test.
    pub test07: Option<AccuracyTest>,
    /// Bounds of TEST09; `None` without this test.
    pub test09: Option<LengthTest>,
    /// Names of required compliance tests that netdiv cannot run; `check` reads only their verdicts.
    #[serde(default)]
    pub other_tests: Vec<String>,
    /// Number of responses that LoadGen is to log in TEST01 (`accuracy_log_sampling_target`); 0
    /// without TEST01.
    #[serde(default)]
    pub sampling: u32,
    /// Figures that differ between the rules and the official checker.
    #[serde(default)]
    pub differences: Vec<Difference>,
    /// Remarks about the benchmark that no other field contains.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Sources of the figures: source by the key of the figure.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

impl Benchmark {
    /// Name in the official checker, such as "resnet" for resnet50.
    pub fn checker_name(&self) -> &str {
        self.checker_name.as_deref().unwrap_or(&self.name)
    }

    /// Name of the family, whose variants have one model and one data set.
    pub fn family(&self) -> &str {
        self.bandwidth.first().map_or(&self.name, |of_family| &of_family.name)
    }

    /// Returns the number of samples in the data set of accuracy runs, or of performance runs.
    pub fn set_samples(&self, accuracy: bool) -> u64 {
        if accuracy || !self.own_performance_set { self.dataset_samples } else { self.qsl_size }
    }

    /// Returns the names of all compliance tests that a submission needs.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &str> {
        let made = self.compliance.iter().map(|test| test.name());
        made.chain(self.other_tests.iter().map(String::as_str))
    }

    /// Returns the number of samples of a test that issues the whole of its data set, each sample
    /// once; `None` for other tests.
    pub fn test_samples(&self, test: Test) -> Option<u64> {
        match test {
            Test::Test07 => self.test07.as_ref().map(|test| test.samples),
            Test::Test09 => Some(self.qsl_size),
            Test::Test01 | Test::Test04 | Test::Test06 => None,
        }
    }

    /// Describes the permitted contents of a sample: the alternative lists of tensors, and the
    /// permitted element types joined by `between`.
    pub fn inputs(&self, between: &str) -> String {
        let lists: Vec<_> = self.inputs.iter().map(|tensors| tensors.join(" + ")).collect();
        let types: Vec<_> = self.input_types.iter().map(|one| one.word()).collect();
        format!("{}, as {}", lists.join(", or "), types.join(between))
    }

    /// Lists the scenarios that the suite requires, such as `server and offline`.
    pub(crate) fn required_scenarios(&self) -> String {
        let words: Vec<_> = self.scenarios.iter().map(|scenario| scenario.word()).collect();
        words.join(" and ")
    }

    /// Returns the limits of a language model's prompts and outputs; `None` for other benchmarks.
    pub fn tokens(&self) -> Option<TokenLimits> {
        let parameter = |name| self.parameters.get(name)?.parse().ok();
        Some(TokenLimits {
            prompt: self.bandwidth.first()?.ingress.first()?.elements,
            output_min: parameter("min_new_tokens").unwrap_or(1),
            output_max: parameter("max_new_tokens")?,
            vocabulary: self.vocabulary?,
        })
    }

    /// Returns the limits of prompts and outputs in performance runs.
    pub fn performance_tokens(&self) -> Option<TokenLimits> {
        let limits = self.tokens()?;
        let output_max = self.output_limits(PartName::Performance).into_iter().max()?;
        Some(TokenLimits { output_max, ..limits })
    }

    /// Returns the number of tokens of the longest prompt and its longest output.
    pub fn context_tokens(&self) -> Option<u64> {
        let (limits, performance) = (self.tokens()?, self.performance_tokens()?);
        let prompt = self.accuracy_prompt_tokens.unwrap_or(limits.prompt);
        Some((prompt + limits.output_max).max(performance.prompt + performance.output_max))
    }

    /// Returns the maximum numbers of output tokens, any of which runs with a part of the data set
    /// may have. The first is that of the rules.
    pub(crate) fn output_limits(&self, part: PartName) -> Vec<u64> {
        let parameter = |name: &str| self.parameters.get(name)?.parse::<u64>().ok();
        match (part, parameter("max_new_tokens_performance")) {
            (PartName::Performance | PartName::Test07, Some(most)) => {
                [most].into_iter().chain(self.performance_output_tokens).collect()
            }
            _ => parameter("max_new_tokens").into_iter().collect(),
        }
    }

    /// Mean number of output tokens in performance runs, if it is known.
    pub fn mean_output_tokens(&self) -> Option<f64> {
        let of_tokens = self.quality.iter().find(|quality| quality.metric == "TOKENS_PER_SAMPLE");
        of_tokens.map(|quality| quality.reference).or(self.mean_output_tokens)
    }

    /// Lists the quality targets that `values` miss; each value has the name of its metric. Every
    /// value of a metric must reach the target, so that an edited file gains nothing. The official
    /// checker accepts a metric if at least one of its values reaches the target.
    pub fn missed_targets(&self, values: &[(String, f64)]) -> Vec<String> {
        let of_metric = |Quality { metric, least, most, .. }: &Quality| {
            let mut of_metric = values.iter().filter(|(name, _)| name == metric).peekable();
            let is_missing = of_metric.peek().is_none();
            let least_written = rounded_target(*least);
            let missing = format!("{metric} is missing; at least {least_written} is required");
            let beyond = of_metric.filter_map(|(_, value)| match most {
                _ if value < least => {
                    Some(format!("{metric} is {value}, less than {least_written}"))
                }
                Some(most) if value > most => {
                    Some(format!("{metric} is {value}, more than {}", rounded_target(*most)))
                }
                _ => None,
            });
            is_missing.then_some(missing).into_iter().chain(beyond).collect::<Vec<_>>()
        };
        self.quality.iter().flat_map(of_metric).collect()
    }

    /// Returns the official checker's value of a figure, if it differs from the rules. `figure` is
    /// a key of the benchmark, or the name of a metric for that metric's reference value.
    pub fn checker(&self, figure: &str) -> Option<f64> {
        self.differences.iter().find(|difference| difference.figure == figure)?.checker
    }

    /// Returns the rules' value of a figure, if it differs from the official checker's.
    pub fn rules(&self, figure: &str) -> Option<f64> {
        self.differences.iter().find(|difference| difference.figure == figure)?.rules
    }
}

/// Default of `quality_share`: the whole quality of the reference implementation.
fn whole() -> f64 {
    1.0
}

/// Part of the benchmark suite that contains a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Datacenter suite, the only suite that the Network division uses (section 6.2).
    Datacenter,
    /// Edge suite only.
    Edge,
    /// No longer a benchmark.
    Retired,
}

/// A quality target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Name of the metric in the official checker: acc, mAP, F1, AUC, DICE, ROUGE1 and so on.
    pub metric: String,
    /// Quality of the reference implementation, in the unit of accuracy.txt.
    pub reference: f64,
    /// Required share of the reference implementation's quality, if it differs from the benchmark's
    /// `quality_share`.
    pub share: Option<f64>,
    /// Minimum value: the reference times the share. Computed when the table is read; not in the
    /// file.
    #[serde(skip_deserializing)]
    pub least: f64,
    /// Maximum value; `None` if the metric has no upper bound.
    pub most: Option<f64>,
}

/// Rounds a quality target to six decimals, to remove the rounding errors of its floating-point
/// product.
pub fn rounded_target(target: f64) -> f64 {
    (target * 1e6).round() / 1e6
}

/// Form of a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleForm {
    /// Tensors.
    #[default]
    Tensors,
    /// Token ids of a prompt.
    Prompt,
    /// Sound.
    Waveform,
}

/// Method by which LoadGen counts tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenLatencies {
    /// The SUT reports tokens (`use_token_latencies`).
    Measured,
    /// LoadGen infers tokens by a factor (`infer_token_latencies`).
    Inferred,
}

/// Speculative decoding that the rules allow for a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedDrafts {
    /// Rounds whose rules allow speculative decoding.
    pub rounds: Vec<RoundName>,
    /// The only permitted head and configuration.
    pub configuration: SpeculativeDecoding,
}

/// Limits of the prompts and outputs of a language model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TokenLimits {
    /// Maximum number of prompt tokens.
    pub prompt: u64,
    /// Minimum number of output tokens.
    pub output_min: u64,
    /// Maximum number of output tokens.
    pub output_max: u64,
    /// Vocabulary size: all token ids are below it.
    pub vocabulary: u32,
}

/// Bandwidth requirement of a sample (Appendix B).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bandwidth {
    /// Name of the family (a benchmark with its variants), or of one of its encodings.
    pub name: String,
    /// Formula for the bytes of a sample, with its numbers and element types.
    pub formula: String,
    /// Formula of section B.1 for the bytes that the SUT receives, with numbers.
    pub rules_ingress: String,
    /// Formula of section B.2 for the bytes that the SUT sends, with numbers.
    pub rules_egress: String,
    /// Elements that are sent to the SUT for a sample; empty if negligible.
    #[serde(default)]
    pub ingress: Vec<Elements>,
    /// Elements of the response; empty if negligible.
    #[serde(default)]
    pub egress: Vec<Elements>,
    /// True if the sizes are means, because samples differ in size.
    #[serde(default)]
    pub mean: bool,
}

impl Bandwidth {
    /// Returns the number of bytes that are sent to the SUT for a sample.
    pub fn ingress_bytes(&self) -> u64 {
        sum(&self.ingress)
    }

    /// Returns the number of bytes in the response to a sample.
    pub fn egress_bytes(&self) -> u64 {
        sum(&self.egress)
    }
}

fn sum(elements: &[Elements]) -> u64 {
    elements.iter().map(Elements::bytes).fold(0, u64::saturating_add)
}

/// Number of elements of one type in a sample or a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elements {
    /// Number of elements.
    pub elements: u64,
    /// Element type.
    pub data_type: ElementType,
}

impl Elements {
    /// Total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.data_type.bytes())
    }
}

/// Permitted compression of samples (section 6.2.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// Lossless compression.
    Lossless,
    /// Lossless compression, or the data set's original compression.
    LosslessOrOriginal,
    /// The rules have no row for the benchmark.
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
    /// Responses in performance mode equal those in accuracy mode
    Test01,
    /// Repeating a sample is not faster: nothing is cached
    Test04,
    /// Responses of language models are consistent
    Test06,
    /// Responses in performance mode reach a score
    Test07,
    /// Outputs in performance mode are as long as the reference's
    Test09,
}

impl Test {
    /// All tests, in order.
    pub const ALL: [Self; 5] =
        [Self::Test01, Self::Test04, Self::Test06, Self::Test07, Self::Test09];

    /// Name of the test, as in folder names.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns true if the test compares its speed with that of the performance run.
    pub const fn compares_speed(self) -> bool {
        matches!(self, Self::Test01 | Self::Test04)
    }

    /// Returns true if the test compares responses of both modes one by one.
    pub(crate) const fn compares_responses(self) -> bool {
        matches!(self, Self::Test01 | Self::Test06)
    }

    /// Returns true if an official script, which netdiv does not replace, verifies the test.
    pub const fn needs_script(self) -> bool {
        matches!(self, Self::Test07 | Self::Test09)
    }
}

/// TEST07: the accuracy in performance mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccuracyTest {
    /// Number of samples in the test's data set.
    pub samples: u64,
    /// Minimum score (`test07_accuracy_threshold`).
    pub least: f64,
}

/// TEST09: the mean number of tokens of an output in performance mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthTest {
    /// Minimum (`test09_min_output_tokens`).
    pub least: f64,
    /// Maximum (`test09_max_output_tokens`).
    pub most: f64,
}

/// A figure that differs between the rules and the official checker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Key of the figure, or name of the metric.
    pub figure: String,
    /// Value in the rules; `None` if they do not state it.
    pub rules: Option<f64>,
    /// Value in the submission checker; `None` if it does not check the figure.
    pub checker: Option<f64>,
}
