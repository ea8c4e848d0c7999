//! What a node finds out about the serving engine behind it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// Whether a serving engine uses again what it has computed for other prompts.
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
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PrefixCaching {
    /// It computes every prompt in its entirety.
    Off,
    /// It does not say.
    CannotTell,
    /// It does.
    On,
}

/// What a node found out when it started: the table `found` of its published settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Of the serving engines behind it, the worst.
    pub prefix_caching: PrefixCaching,
    /// Tokens of a prompt and its output together that they have room for, the least of them; none where they do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}
