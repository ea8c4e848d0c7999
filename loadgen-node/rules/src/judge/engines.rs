//! The engine of a node: of N2, that it runs a model (rules, section 4.1.1: a result is of the reference model); of N10, that it
//! computes every query in its entirety (6.2.1).

use clap::ValueEnum as _;
use netdiv_contract::v1::Machine;
use netdiv_words::{Found, PrefixCaching, ServedEngine};

/// Why no model runs at a node with that engine and that SHA-256 of a model file.
pub(crate) fn without_model(engine: &str, model_sha256: &str) -> Option<String> {
    let why = match engine.trim().to_lowercase().as_str() {
        "echo" | "none" | "tokens" | "" => format!("its engine is `{engine}`"),
        _ if model_sha256.trim().is_empty() => "it named no model file".into(),
        _ => return None,
    };
    Some(format!("{why}; run again with the benchmark's model"))
}

/// Whether a node with that engine and those settings sends prompts to servers, which it asks whether they reuse them. `kserve`
/// does where its model has a vocabulary; tensors have no prefixes.
fn sends_prompts(engine: &str, settings: &toml::Table) -> bool {
    let vocabulary = || settings.get("engine")?.get("model")?.get("vocabulary");
    ServedEngine::from_str(engine, false).is_ok() || engine == "kserve" && vocabulary().is_some()
}

/// Why prompts may not have been computed in their entirety at a node with that engine and evidence.
pub(crate) fn reuses_prompts(engine: &str, machine: &Machine) -> Option<String> {
    let settings = machine.settings.as_deref().and_then(|text| text.parse().ok());
    let settings: toml::Table = settings.unwrap_or_default();
    let found = settings.get("found").and_then(|found| found.clone().try_into::<Found>().ok());
    let why = match found.map(|found| found.prefix_caching) {
        Some(PrefixCaching::Off) => return None,
        None if !sends_prompts(engine.trim(), &settings) => return None,
        Some(PrefixCaching::On) => "its serving engine reuses what it computed for other prompts",
        Some(PrefixCaching::CannotTell) => {
            "it cannot tell whether its serving engine reuses what it computed for other prompts"
        }
        None => {
            "it did not say whether its serving engine reuses what it computed for other prompts"
        }
    };
    Some(format!(
        "{why}; start that engine without prefix caching (docs/ENGINES.md), and run again"
    ))
}
