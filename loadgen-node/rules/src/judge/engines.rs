//! The engine of a node: of N2, that it runs a model (rules, section 4.1.1: a result is of the reference model); of N10, that it
//! computes every query in its entirety (6.2.1).

use netdiv_contract::v1::Machine;
use netdiv_words::{Found, PrefixCaching};

use crate::{book::Benchmark, record::Node};

/// Why no model runs at a node with that engine and that SHA-256 of a model file.
pub(crate) fn without_model(engine: &str, model_sha256: &str) -> Option<String> {
    let why = match engine.trim().to_lowercase().as_str() {
        "echo" | "none" | "tokens" | "" => format!("its engine is `{engine}`"),
        _ if model_sha256.trim().is_empty() => "it named no model file".into(),
        _ => return None,
    };
    Some(format!("{why}; run again with the benchmark's model"))
}

/// Engines that send prompts to serving engines. Earlier builds had the last three.
const SERVING_ENGINES: [&str; 4] = ["openai", "vllm-grpc", "sglang-grpc", "trtllm-grpc"];

/// What a node says of its settings.
fn settings(machine: &Machine) -> toml::Table {
    machine.settings.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Why the outputs of a language model at a node end elsewhere than a benchmark's, by the file of the model. At least two tokens may
/// be asked for in any case: LoadGen has no time for a further one of a single token (N33).
pub(crate) fn other_outputs(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
    let (limits, name) = (benchmark.tokens()?, &benchmark.name);
    let settings = settings(machine);
    let model = settings.get("engine")?.get("model")?;
    model.get("vocabulary")?;
    let number = |key| u64::try_from(model.get(key)?.as_integer()?).ok();
    let (least, most) = (number("min_tokens").unwrap_or(1), number("max_tokens"));
    let eos = model.get("eos").and_then(toml::Value::as_array);
    let why = if most.is_some_and(|most| most != limits.output_most) {
        format!("max_tokens is {}, and for {name} it is {}", most?, limits.output_most)
    } else if !(limits.output_least..=limits.output_least.max(2)).contains(&least) {
        format!("min_tokens is {least}, and for {name} it is {}", limits.output_least)
    } else if eos.is_none_or(Vec::is_empty) {
        "there is no eos, so that an output that was cut off looks like one that ended".into()
    } else {
        return None;
    };
    Some(format!("in the file of its model, {why}; correct it, and run again"))
}

/// Whether a node with that engine and those settings sends prompts to servers, which it asks whether they reuse them. `kserve`
/// does where its model has a vocabulary; tensors have no prefixes.
fn sends_prompts(engine: &str, settings: &toml::Table) -> bool {
    let vocabulary = || settings.get("engine")?.get("model")?.get("vocabulary");
    SERVING_ENGINES.contains(&engine) || engine == "kserve" && vocabulary().is_some()
}

/// Why prompts were not computed in their entirety at a node, by what its engine counted while samples ran.
pub(crate) fn reused_prompts(node: &Node) -> Option<String> {
    let tokens = node.cached_prompt_tokens;
    (tokens > 0).then(|| {
        format!(
            "its serving engine had {tokens} tokens of prompts from other prompts; start that engine without prefix caching \
             (docs/ENGINES.md), and run again"
        )
    })
}

/// Why prompts may not have been computed in their entirety at a node with that engine and evidence.
pub(crate) fn reuses_prompts(engine: &str, machine: &Machine) -> Option<String> {
    let settings = settings(machine);
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
