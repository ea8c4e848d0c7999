//! Tokens of answers.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// What LoadGen is told of the tokens of answers, which are int32.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    ValueEnum,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AnswerTokens {
    /// Nothing.
    #[default]
    Uncounted,
    /// How many they are.
    Counted,
    /// Besides, the first of them, as soon as it is there.
    First,
}
