//! A language model that Triton serves, with prompts and outputs as tensors of token ids. Triton
//! calls such a model decoupled: it sends several responses to a request. The file of the model has
//! the keys of a served model, and the names of the model's tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{manifest::ModelFile, served_model::ServedModel};

/// Description of a decoupled model: a language model in Triton that receives the prompt as a
/// tensor, and sends tokens as tensors, in several responses to the same request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecoupledModel {
    /// Name and token limits of the model.
    #[serde(flatten)]
    pub served: ServedModel,
    /// Name of the output tensor that contains the generated token ids.
    pub output: String,
    /// Value of each input tensor, by the name of the tensor.
    pub inputs: BTreeMap<String, InputValue>,
}

/// Value of an input tensor. It is equal for all samples, except for the prompt and its length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InputValue {
    /// A value that the sample or another key of the file states.
    Word(InputSource),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
}

/// Value of an input tensor that the sample or another key of the file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSource {
    /// Token ids of the prompt.
    Prompt,
    /// Number of the prompt's tokens.
    PromptTokens,
    /// `max_tokens` of the file.
    MaxTokens,
    /// `min_tokens` of the file.
    MinTokens,
    /// The only id in `eos` of the file.
    Eos,
}

#[derive(Deserialize)]
struct DecoupledFile {
    output: String,
    inputs: BTreeMap<String, toml::Value>,
    #[serde(flatten)]
    served: toml::Table,
}

impl DecoupledModel {
    pub(crate) fn of(file: &ModelFile<'_>) -> anyhow::Result<Self> {
        file.parse("", Self::checked)
    }

    fn checked(DecoupledFile { output, inputs, served }: DecoupledFile) -> Result<Self, String> {
        let served = ServedModel::greedy(served)?;
        let given = |(name, value): (String, toml::Value)| {
            let given = value.clone().try_into().map_err(|_| {
                format!(
                    "[inputs] {name} = {value}: give a number, true, false, or one of \"prompt\", \"prompt_tokens\", \
                     \"max_tokens\", \"min_tokens\", \"eos\""
                )
            })?;
            Ok((name, given))
        };
        let inputs: BTreeMap<_, InputValue> =
            inputs.into_iter().map(given).collect::<Result<_, String>>()?;
        let has = |word| inputs.values().filter(|given| **given == InputValue::Word(word)).count();
        match has(InputSource::Prompt) {
            1 => {}
            count => {
                return Err(format!(
                    "[inputs]: {count} inputs get the \"prompt\"; exactly one must"
                ));
            }
        }
        if has(InputSource::Eos) > 0 && served.eos.len() != 1 {
            let ids = served.eos.len();
            return Err(format!("[inputs]: \"eos\" stands for one id, and eos has {ids}"));
        }
        Ok(Self { served, output, inputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_each_input_gets() {
        let good = "name = 'tiny'\nvocabulary = 100\nmax_input_tokens = 10\nmax_tokens = 5\neos = [2]\noutput = 'ids'\n\
            [inputs]\ninput_ids = 'prompt'\nn = 'prompt_tokens'\nlimit = 7\ntemperature = 1.0\nstreaming = true\nend = 'eos'\n";
        let of = |text: &str| DecoupledModel::of(&ModelFile::new("tiny.toml".as_ref(), text));
        let model = of(good).unwrap();
        assert_eq!(model.inputs["limit"], InputValue::Integer(7));
        assert_eq!(model.inputs["streaming"], InputValue::Bool(true));
        assert_eq!(model.inputs["n"], InputValue::Word(InputSource::PromptTokens));
        assert_eq!(model.served.max_tokens, 5);
        for (from, to, words) in [
            ("'prompt'", "'prompts'", "input_ids = \"prompts\": give a number, true, false"),
            ("'prompt_tokens'", "'prompt'", "2 inputs get the \"prompt\""),
            ("'prompt'", "3", "0 inputs get the \"prompt\""),
            ("[2]", "[2, 3]", "\"eos\" stands for one id, and eos has 2"),
            ("output", "outputs", "missing field `output`"),
            ("= 100", "= 0", "vocabulary = 0"),
            ("eos", "end", "unknown field `end`"),
            ("limit = 7", "limit = [7]", "limit = [7]: give a number"),
        ] {
            let error = of(&good.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
