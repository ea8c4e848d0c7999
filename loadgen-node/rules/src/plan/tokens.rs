//! Prompts and outputs of a language model: numbers of tokens, and conversion of rates from tokens
//! to samples per second.

use std::ops::RangeInclusive;

use crate::book::Benchmark;

/// Rates that LoadGen can schedule, per second. Between two queries are at least 10 ns, so that the
/// schedule advances, and at most eleven days.
pub const RATES: RangeInclusive<f64> = 1e-6..=1e8;

/// Rate of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Samples per second.
    SamplesPerSecond(f64),
    /// Output tokens per second, the unit of LoadGen's result for a language model.
    TokensPerSecond(f64),
}

/// Converts a rate into samples per second. Returns that rate, and the mean number of output tokens
/// if it is known.
pub(super) fn rates(
    benchmark: &Benchmark,
    rate: Rate,
    output_tokens: Option<f64>,
) -> Result<(f64, Option<f64>), String> {
    let name = &benchmark.name;
    let (Rate::SamplesPerSecond(given) | Rate::TokensPerSecond(given)) = rate;
    if !RATES.contains(&given) {
        let (from, to) = (RATES.start(), RATES.end());
        return Err(format!("a rate of {given}: it must be from {from} to {to} per second"));
    }
    let Some(limits) = benchmark.performance_tokens() else {
        return match (rate, output_tokens) {
            (Rate::SamplesPerSecond(rate), None) => Ok((rate, None)),
            _ => Err(format!("{name} is not a language model: use --rate, without tokens")),
        };
    };
    let range = limits.output_min as f64..=limits.output_max as f64;
    if let Some(tokens) = output_tokens.filter(|tokens| !range.contains(tokens)) {
        return Err(format!(
            "--output-tokens {tokens}: an output of {name} has {} to {} tokens",
            limits.output_min, limits.output_max
        ));
    }
    let mean = output_tokens.or_else(|| benchmark.mean_output_tokens());
    match (rate, mean) {
        (Rate::SamplesPerSecond(rate), mean) => Ok((rate, mean)),
        (Rate::TokensPerSecond(rate), Some(mean)) => Ok((rate / mean, Some(mean))),
        (Rate::TokensPerSecond(_), None) => Err(format!(
            "the table does not state the mean number of output tokens of {name}: add --output-tokens"
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
        // The outputs of GPT-J and Llama3.1-8B are counted in characters.
        assert_eq!(of("llama3.1-8b", SamplesPerSecond(7.0), None), Ok((7.0, None)));
        assert_eq!(of("resnet50", SamplesPerSecond(7.0), None), Ok((7.0, None)));
        for (name, rate, tokens, want) in [
            ("llama3.1-8b", TokensPerSecond(7.0), None, "add --output-tokens"),
            ("llama3.1-8b", TokensPerSecond(7.0), Some(129.0), "llama3.1-8b has 1 to 128 tokens"),
            ("mixtral-8x7b", SamplesPerSecond(7.0), Some(1.0), "has 2 to 1024 tokens"),
            ("mixtral-8x7b", SamplesPerSecond(7.0), Some(f64::NAN), "has 2 to 1024 tokens"),
            ("mixtral-8x7b", TokensPerSecond(0.0), None, "it must be from 0.000001 to 100000000"),
            ("resnet50", SamplesPerSecond(1e15), None, "a rate of 1000000000000000: it must be"),
            ("resnet50", SamplesPerSecond(1e-300), None, "it must be from 0.000001"),
            ("resnet50", SamplesPerSecond(f64::NAN), None, "a rate of NaN: it must be"),
            ("resnet50", TokensPerSecond(7.0), None, "resnet50 is not a language model"),
            ("resnet50", SamplesPerSecond(7.0), Some(7.0), "resnet50 is not a language model"),
        ] {
            let why = of(name, rate, tokens).unwrap_err();
            assert!(why.contains(want), "{why}");
        }
    }
}
