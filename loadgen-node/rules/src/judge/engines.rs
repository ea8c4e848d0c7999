//! The engine of a node: of N2, that it runs a model (rules, section 4.1.1: a result is of the reference model); of N10, that it
//! computes every query in its entirety (6.2.1).

use netdiv_contract::v1::Machine;
use netdiv_node_common::words::{Found, PrefixCaching, SpeculativeDecoding};

use crate::{
    book::{AllowedDrafts, Benchmark, Round},
    record::Node,
};

/// Engines that send prompts to serving engines. Earlier builds had the last three.
const SERVING_ENGINES: [&str; 4] = ["openai", "vllm-grpc", "sglang-grpc", "trtllm-grpc"];

/// What a node says of its settings.
fn settings(machine: &Machine) -> toml::Table {
    machine.settings.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns all that keeps the outputs of a language model at a node from being a benchmark's.
pub(crate) fn outputs(
    benchmark: &Benchmark,
    round: Option<&Round>,
    machine: &Machine,
) -> Vec<String> {
    let drafts = round.and_then(|round| other_drafts(benchmark, round, machine));
    let why = [other_outputs(benchmark, machine), cut_off(benchmark, machine), drafts];
    why.into_iter().flatten().collect()
}

/// Why the outputs of a language model at a node end elsewhere than a benchmark's, by the file of the model. At least two tokens may
/// be asked for in any case: LoadGen has no time for a further one of a single token (N33).
fn other_outputs(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
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

/// Returns why the speculative decoding that a node declares is not that of a benchmark in a round.
fn other_drafts(benchmark: &Benchmark, round: &Round, machine: &Machine) -> Option<String> {
    let settings = settings(machine);
    let declared = settings.get("engine")?.get("model")?.get("speculative_decoding")?;
    let Ok(declared) = declared.clone().try_into::<SpeculativeDecoding>() else {
        return Some(
            "its speculative decoding cannot be read; take the evidence as the node gave it".into(),
        );
    };
    let (name, of_round) = (&benchmark.name, round.name);
    let allowed = benchmark.speculative_decoding.as_ref();
    match allowed.filter(|allowed| allowed.rounds.contains(&of_round)) {
        None => Some(format!(
            "it decodes speculatively, which round {of_round} does not allow for {name}: turn that off, and run again"
        )),
        Some(AllowedDrafts { configuration, .. }) if *configuration != declared => Some(format!(
            "it decodes speculatively with {declared}, and for {name} it is {configuration}: configure that, and run again"
        )),
        Some(_) => None,
    }
}

/// Returns why outputs at a node may be cut off: its serving engine has too little room for the longest prompt and output of a
/// benchmark.
fn cut_off(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
    let (limits, name) = (benchmark.tokens()?, &benchmark.name);
    let room = found(&settings(machine))?.context_tokens?;
    let needed = limits.prompt + limits.output_most;
    (room < needed).then(|| {
        format!(
            "its serving engine has room for {room} tokens of a prompt and its output, and {name} has up to {} and {}, so that \
             outputs are cut off: start the engine with room for {needed}, and run again",
            limits.prompt, limits.output_most
        )
    })
}

/// Reads the findings of a node about the servers behind it.
fn found(settings: &toml::Table) -> Option<Found> {
    settings.get("found")?.clone().try_into().ok()
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
    let why = match found(&settings).map(|found| found.prefix_caching) {
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
