//! Published settings: a text in TOML with the settings that affect the node's responses. The text
//! is equal for all nodes that respond alike.
//!
//! `Machine.settings` of the evidence is this text, `Machine.settings_sha256` and Describe's
//! `config_sha256` are its SHA-256. The text is the serialized [`Config`]. A new field of
//! [`Config`] is therefore part of the text, unless the field is skipped. Skipped are the node's
//! name, addresses, and the paths of certificates, tokens, models and libraries; the model's own
//! SHA-256 describes the model.

use netdiv_node_common::words::EngineFacts;
use serde::Serialize;

use crate::settings::config::Config;

#[derive(Serialize)]
struct PublishedSettings<'a> {
    #[serde(flatten)]
    config: &'a Config,
    found: Option<&'a EngineFacts>,
}

/// Serializes the settings, and the facts that the engine found when it was loaded.
pub(crate) fn published_text(
    config: &Config,
    found: Option<&EngineFacts>,
) -> Result<String, toml::ser::Error> {
    toml::to_string(&PublishedSettings { config, found })
}

#[cfg(test)]
mod tests;
