//! Description of a language model: a TOML file.

use std::borrow::Cow;

use netdiv_node_common::words::{SpeculativeDecoding, with_suggestion};
use serde::{Deserialize, Serialize};

use crate::model::{manifest::ModelFile, token_limits::TokenLimits};

/// Description of a language model: its name, and the limits of its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedModel {
    /// Name of the model, as the serving engine lists it.
    pub name: String,
    /// SHA-256 of the weights, in hex, as the operator states it; may be empty. If the node itself
    /// loads the weights, it compares their SHA-256 with this value.
    #[serde(default)]
    pub sha256: String,
    /// Number of token ids, which start at 0.
    pub vocabulary: u32,
    /// Maximum number of tokens of a prompt.
    pub max_input_tokens: u32,
    /// Maximum number of tokens of an output.
    pub max_tokens: u32,
    /// Minimum number of tokens of an output.
    #[serde(default = "one")]
    pub min_tokens: u32,
    /// Ids that end an output. They are part of the output.
    #[serde(default)]
    pub eos: Vec<u32>,
    /// True if the engine draws tokens at random by the model's probabilities: temperature 1, without
    /// top_p and top_k.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
    /// Speculative decoding that the engine uses; `None` if it drafts no tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speculative_decoding: Option<SpeculativeDecoding>,
}

/// Maximum number of tokens of a prompt or an output: more than any benchmark has.
pub(crate) const MAX_TOKENS: u32 = 1 << 20;

fn one() -> u32 {
    1
}

impl ServedModel {
    pub(crate) fn of(file: &ModelFile<'_>) -> anyhow::Result<Self> {
        file.parse("", Self::checked)
    }

    /// Reads the keys that are left of another kind of file.
    fn of_table(table: toml::Table) -> Result<Self, String> {
        let served = table.try_into::<Self>();
        // The whole error names the key, on a line of its own.
        served
            .map_err(|error| with_suggestion(&error.to_string()).trim_end().replace('\n', " "))?
            .checked()
    }

    /// Reads the keys that are left of the file of an engine that cannot sample.
    pub(crate) fn greedy(table: toml::Table) -> Result<Self, String> {
        match Self::of_table(table)? {
            Self { sampled: true, .. } => {
                Err("sampled = true: this engine chooses the likeliest token; use the engine openai or python".into())
            }
            greedy => Ok(greedy),
        }
    }

    /// Returns the model with outputs of at most `most` tokens.
    pub(crate) fn limited(&self, most: usize) -> Cow<'_, Self> {
        match u32::try_from(most) {
            Ok(most) if most < self.max_tokens => {
                let min_tokens = self.min_tokens.min(most);
                Cow::Owned(Self { max_tokens: most, min_tokens, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }

    pub(crate) fn limits(&self) -> TokenLimits {
        TokenLimits {
            vocabulary: self.vocabulary,
            max_input: self.max_input_tokens,
            max_output: self.max_tokens,
        }
    }

    /// Returns the model if its values are valid, or the reason why not.
    pub(crate) fn checked(self) -> Result<Self, String> {
        let is_digest = |text: &str| {
            text.len() == 64 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        };
        if self.name.is_empty() {
            return Err(
                "name is empty; write the model's name as the serving engine lists it".into()
            );
        }
        if !self.sha256.is_empty() && !is_digest(&self.sha256) {
            return Err("sha256 must be 64 digits of 0-9 and a-f, or omitted".into());
        }
        within("vocabulary", self.vocabulary, 1, i32::MAX as u32)?;
        within("max_input_tokens", self.max_input_tokens, 1, MAX_TOKENS)?;
        within("max_tokens", self.max_tokens, 1, MAX_TOKENS)?;
        within("min_tokens", self.min_tokens, 1, self.max_tokens)?;
        if let Some(id) = self.eos.iter().find(|id| **id >= self.vocabulary) {
            return Err(format!("eos has {id}; ids go from 0 to {}", self.vocabulary - 1));
        }
        if let Some(SpeculativeDecoding { head, steps, top_k }) = &self.speculative_decoding {
            if head.trim().is_empty() {
                return Err(
                    "[speculative_decoding] head is empty; write the name of the head that drafts"
                        .into(),
                );
            }
            within("[speculative_decoding] steps", *steps, 1, MAX_TOKENS)?;
            within("[speculative_decoding] top_k", *top_k, 1, MAX_TOKENS)?;
        }
        Ok(self)
    }

    /// Returns the text of an error if the weights have another SHA-256 than the description
    /// states; `None` if the digests are equal, or if the description states no digest. `sha256` is
    /// the digest of the weights, and `stated_in` names the file of the description.
    pub(crate) fn weights_mismatch(&self, sha256: &str, stated_in: &str) -> Option<String> {
        let stated = &self.sha256;
        (!stated.is_empty() && stated != sha256)
            .then(|| format!("its SHA-256 is {sha256}, but its {stated_in} states {stated}"))
    }
}

/// Fails if the value of a key is not from `least` to `most`.
pub(crate) fn within(key: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{key} = {value}: must be from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_cannot_be_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.toml");
        let good = "name = 'tiny'\nvocabulary = 2048\nmax_input_tokens = 512\n# Maximum number of tokens of an output.\nmax_tokens = 64\neos = [2]\n";
        std::fs::write(&path, good).unwrap();
        let hub = ModelFile::read("meta-llama/Llama-3.1-8B".as_ref()).unwrap_err().to_string();
        assert!(hub.ends_with("not its name on Hugging Face"), "{hub}");
        let read = || ModelFile::read(&path).and_then(|file| ServedModel::of(&file));
        assert_eq!(read().unwrap().min_tokens, 1);
        for (from, to, words) in [
            ("'tiny'", "''", "name is empty"),
            ("= 2048", "= 0", "vocabulary = 0"),
            ("= 2048", "= 4294967295", "from 1 to 2147483647"),
            ("= 512", "= 0", "max_input_tokens"),
            ("= 64", "= 2000000", "from 1 to 1048576"),
            ("eos", "sampled = 1\neos", "expected a boolean"),
            ("eos", "min_tokens = 65\neos", "from 1 to 64"),
            ("eos", "min_tokens = 0\neos", "min_tokens = 0"),
            ("[2]", "[2048]", "eos has 2048; ids go from 0 to 2047"),
            ("eos", "sha256 = 'A'\neos", "64 digits"),
            (
                "[2]",
                "[2]\n[speculative_decoding]\nhead = ' '\nsteps = 3\ntop_k = 1",
                "head is empty",
            ),
            ("[2]", "[2]\n[speculative_decoding]\nhead = 'h'\nsteps = 0\ntop_k = 1", "steps = 0"),
            ("[2]", "[2]\n[speculative_decoding]\nhead = 'h'\nsteps = 3", "missing field `top_k`"),
            ("eos", "eso", "unknown field `eso`, expected one of"),
            (
                "= 64",
                "= 'TODO'",
                "line 5: max_tokens is still TODO: write it. Maximum number of tokens of an output.",
            ),
        ] {
            std::fs::write(&path, good.replace(from, to)).unwrap();
            let error = read().unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("tiny.toml"), "{error}");
        }
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ENGINES.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, listed) = page.split_once("; required are ").unwrap();
        let listed = listed.split_once(".\n").unwrap().0.split('`').skip(1).step_by(2);
        let is_required = |key: &&str| {
            std::fs::write(&path, good.replace(key, &format!("# {key}"))).unwrap();
            read().is_err()
        };
        let keys = good.lines().filter_map(|line| Some(line.split_once(" = ")?.0));
        assert!(listed.eq(keys.filter(is_required)), "docs/ENGINES.md lists other required keys");
    }
}
