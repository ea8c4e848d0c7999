//! Facts that a node detects about its serving engines.

use serde::{Deserialize, Serialize};

word! {
    /// Reuse of results of earlier prompts by a serving engine.
    pub enum PrefixCaching {
        /// The engine computes every prompt completely.
        Off,
        /// The engine does not report it.
        CannotTell,
        /// The engine reuses results of earlier prompts.
        On,
    }
}

/// Facts that a node detected when it started: the table `found` of its published settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Prefix caching of the serving engines: the highest value of any engine, where `off` is the
    /// lowest and `on` the highest.
    pub prefix_caching: PrefixCaching,
    /// Maximum tokens of a prompt and its output together: the minimum of all engines; `None` if
    /// they do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}
