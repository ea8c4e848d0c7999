//! Prompts and outputs of a language model: how many tokens, and what a rate in tokens per second is in samples.

use serde::Serialize;

use crate::book::Benchmark;

/// The rate that a plan is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Samples per second.
    SamplesPerSecond(f64),
    /// Tokens of outputs per second, as LoadGen gives the result of a language model.
    TokensPerSecond(f64),
}

/// What a language model reads and writes for a sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedTokens {
    /// Tokens of the longest prompt.
    pub prompt_most: u64,
    /// Tokens of the shortest output.
    pub output_least: u64,
    /// Tokens of the longest output.
    pub output_most: u64,
    /// Tokens of an output on average, where that is known.
    pub output_mean: Option<f64>,
}

impl PlannedTokens {
    /// Those of a language model.
    pub(super) fn of(benchmark: &Benchmark, output_mean: Option<f64>) -> Option<Self> {
        benchmark.tokens().map(|limits| Self {
            prompt_most: limits.prompt,
            output_least: limits.output_least,
            output_most: limits.output_most,
            output_mean,
        })
    }
}

/// Samples per second at a rate, and tokens of an output on average.
pub(super) fn rates(
    benchmark: &Benchmark,
    rate: Rate,
    output_tokens: Option<f64>,
) -> Result<(f64, Option<f64>), String> {
    let name = &benchmark.name;
    let (Rate::SamplesPerSecond(given) | Rate::TokensPerSecond(given)) = rate;
    if !(given.is_finite() && given > 0.0) {
        return Err(format!("a rate of {given}: it must be above 0"));
    }
    let Some(limits) = benchmark.tokens() else {
        return match (rate, output_tokens) {
            (Rate::SamplesPerSecond(rate), None) => Ok((rate, None)),
            _ => Err(format!("{name} is no language model: give --rate, without tokens")),
        };
    };
    let range = limits.output_least as f64..=limits.output_most as f64;
    if let Some(tokens) = output_tokens.filter(|tokens| !range.contains(tokens)) {
        return Err(format!(
            "--output-tokens {tokens}: an output of {name} has {} to {} tokens",
            limits.output_least, limits.output_most
        ));
    }
    let mean = output_tokens.or_else(|| benchmark.mean_output_tokens());
    match (rate, mean) {
        (Rate::SamplesPerSecond(rate), mean) => Ok((rate, mean)),
        (Rate::TokensPerSecond(rate), Some(mean)) => Ok((rate / mean, Some(mean))),
        (Rate::TokensPerSecond(_), None) => Err(format!(
            "the table does not say how many tokens an output of {name} has on average: give --output-tokens"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Table;

    fn of(
        name: &str,
        rate: Rate,
        output_tokens: Option<f64>,
    ) -> Result<(f64, Option<f64>), String> {
        rates(Table::builtin().unwrap().find(name).unwrap(), rate, output_tokens)
    }

    #[test]
    fn a_rate_in_tokens_is_one_in_samples_by_the_mean_output() {
        use Rate::{SamplesPerSecond, TokensPerSecond};
        let mean = Some(294.45);
        assert_eq!(of("llama2-70b-99", TokensPerSecond(29_445.0), None), Ok((100.0, mean)));
        assert_eq!(of("llama2-70b-99", TokensPerSecond(300.0), Some(3.0)), Ok((100.0, Some(3.0))));
        assert_eq!(of("llama2-70b-99", SamplesPerSecond(7.0), None), Ok((7.0, mean)));
        // GPT-J's and Llama3.1-8B's outputs are counted in characters.
        assert_eq!(of("llama3.1-8b", SamplesPerSecond(7.0), None), Ok((7.0, None)));
        assert_eq!(of("resnet50", SamplesPerSecond(7.0), None), Ok((7.0, None)));
        for (name, rate, tokens, want) in [
            ("llama3.1-8b", TokensPerSecond(7.0), None, "give --output-tokens"),
            ("llama3.1-8b", TokensPerSecond(7.0), Some(129.0), "llama3.1-8b has 1 to 128 tokens"),
            ("mixtral-8x7b", SamplesPerSecond(7.0), Some(1.0), "has 2 to 1024 tokens"),
            ("mixtral-8x7b", SamplesPerSecond(7.0), Some(f64::NAN), "has 2 to 1024 tokens"),
            ("mixtral-8x7b", TokensPerSecond(0.0), None, "must be above 0"),
            ("resnet50", TokensPerSecond(7.0), None, "resnet50 is no language model"),
            ("resnet50", SamplesPerSecond(7.0), Some(7.0), "resnet50 is no language model"),
        ] {
            let why = of(name, rate, tokens).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
    }
}
