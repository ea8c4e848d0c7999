//! Checks of a node's engine: its outputs are those that the benchmark requires, for N2 (rules,
//! section 4.1.1), and it computes every query in its entirety, for N10 (section 6.2.1).

use netdiv_contract::v1::Machine;
use netdiv_node_common::words::{EngineFacts, PrefixCaching, SpeculativeDecoding};

use crate::{
    book::{AllowedDrafts, Benchmark, Round, SampleForm},
    facts::machines::published_settings,
    record::{Decoding, Node},
};

/// Names of engines that send prompts to serving engines. Only earlier builds of sut-node had the
/// last three.
const SERVING_ENGINES: [&str; 4] = ["openai", "vllm-grpc", "sglang-grpc", "trtllm-grpc"];

/// Returns all reasons why the outputs of a language model at a node do not count for a benchmark.
pub(crate) fn check_outputs(
    benchmark: &Benchmark,
    round: Option<&Round>,
    machine: &Machine,
) -> Vec<String> {
    let drafts = round.and_then(|round| check_drafts(benchmark, round, machine));
    let limits = check_output_limits(benchmark, machine);
    let why = [check_counts(benchmark, machine), limits, check_context(benchmark, machine), drafts];
    why.into_iter().flatten().collect()
}

/// Returns the reason why outputs at a node are not those of a language model: they are not token
/// ids, but have numbers of tokens beside them, which nothing bounds.
fn check_counts(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
    let settings = published_settings(machine);
    let counts = settings.get("engine")?.get("model")?.get("counts_tokens")?.as_bool()?;
    (counts && benchmark.form == SampleForm::Prompt).then(|| {
        format!(
            "its responses are not token ids, which {} requires: serve a language model, without counts_tokens, and run again",
            benchmark.name
        )
    })
}

/// Returns the reason why outputs at a node do not have the benchmark's limits, according to the
/// model's file. A minimum of two tokens is permitted for every benchmark, because LoadGen has no
/// time per further token for an output of one token (N33).
fn check_output_limits(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
    let (limits, name) = (benchmark.tokens()?, &benchmark.name);
    let settings = published_settings(machine);
    let model = settings.get("engine")?.get("model")?;
    model.get("vocabulary")?;
    let number = |key| u64::try_from(model.get(key)?.as_integer()?).ok();
    let (least, most) = (number("min_tokens").unwrap_or(1), number("max_tokens"));
    let eos = model.get("eos").and_then(toml::Value::as_array);
    let why = if most.is_some_and(|most| most != limits.output_max) {
        format!("max_tokens is {}, but {name} requires {}", most?, limits.output_max)
    } else if !(limits.output_min..=limits.output_min.max(2)).contains(&least) {
        format!("min_tokens is {least}, but {name} requires {}", limits.output_min)
    } else if eos.is_none_or(Vec::is_empty) {
        "eos is missing, so that a truncated output looks complete".into()
    } else {
        return None;
    };
    Some(format!("in its model's file, {why}; correct it, and run again"))
}

/// Returns the reason why a benchmark does not permit the speculative decoding of a node in a
/// round.
fn check_drafts(benchmark: &Benchmark, round: &Round, machine: &Machine) -> Option<String> {
    let settings = published_settings(machine);
    let declared = settings.get("engine")?.get("model")?.get("speculative_decoding")?;
    let Ok(declared) = declared.clone().try_into::<SpeculativeDecoding>() else {
        return Some(
            "its speculative decoding cannot be read; submit the evidence as the node sent it"
                .into(),
        );
    };
    let (name, of_round) = (&benchmark.name, round.name);
    let allowed = benchmark.speculative_decoding.as_ref();
    match allowed.filter(|allowed| allowed.rounds.contains(&of_round)) {
        None => Some(format!(
            "it decodes speculatively, which round {of_round} does not allow for {name}: turn that off, and run again"
        )),
        Some(AllowedDrafts { configuration, .. }) if *configuration != declared => Some(format!(
            "it decodes speculatively with {declared}, but {name} permits only {configuration}: configure that, and run again"
        )),
        Some(_) => None,
    }
}

/// Returns the reason why outputs at a node may be truncated: the context of its serving engine is
/// too short for the benchmark's longest prompt and output.
fn check_context(benchmark: &Benchmark, machine: &Machine) -> Option<String> {
    let (needed, name) = (benchmark.context_tokens()?, &benchmark.name);
    let room = found(&published_settings(machine))?.context_tokens?;
    (room < needed).then(|| {
        format!(
            "its serving engine has a context of {room} tokens, but a prompt of {name} and its output have up to {needed}, so that \
             outputs may be truncated: start the engine with a context of {needed} tokens, and run again"
        )
    })
}

/// Returns the reason why the outputs of a node do not count for a benchmark: its choice of tokens
/// is another one. A node that does not announce its choice is not judged.
pub fn check_decoding(benchmark: &Benchmark, decoding: Decoding) -> Option<String> {
    let of = &benchmark.name;
    match (decoding, benchmark.sampled) {
        (Decoding::Greedy, true) => Some(format!(
            "it takes the likeliest token, but outputs of {of} are sampled: write `sampled = true` in its model's file, and run \
             again"
        )),
        (Decoding::Sampled, false) => Some(format!(
            "it samples outputs, but those of {of} are not sampled: remove `sampled` from its model's file, and run again"
        )),
        _ => None,
    }
}

/// Returns the reason why the outputs of a node are not random: it was started with a seed.
pub(crate) fn check_sampling_seed(node: &Node) -> Option<String> {
    let seed = node.sampling_seed?;
    Some(format!(
        "it samples with the seed {seed}, which is for tests only: start it without --sampling-seed, and run again"
    ))
}

/// Returns a difference between a node's record and the settings that it published, in the choice of
/// tokens or in its seed.
pub(crate) fn check_published_decoding(node: &Node, machine: &Machine) -> Option<String> {
    let settings = published_settings(machine);
    let engine = settings.get("engine")?;
    let model = engine.get("model")?;
    model.get("vocabulary")?;
    let is_sampled = model.get("sampled").and_then(toml::Value::as_bool).unwrap_or(false);
    let has_seed = engine.get("sampling_seed").is_some();
    let is_other = match node.decoding {
        Decoding::Unknown => false,
        decoding => is_sampled != (decoding == Decoding::Sampled),
    };
    (is_other || has_seed != node.sampling_seed.is_some()).then(|| {
        "its published settings have another decoding or sampling_seed than its record: take the record as the run wrote it"
            .into()
    })
}

/// Returns the facts about its serving engines that a node added to its published settings.
fn found(settings: &toml::Table) -> Option<EngineFacts> {
    settings.get("found")?.clone().try_into().ok()
}

/// Returns true if a node with this engine and these settings sends prompts to serving engines, and
/// so must report whether they reuse prompts. `kserve` and `python` do if their model has a vocabulary; tensors
/// have no prefixes.
fn sends_prompts(engine: &str, settings: &toml::Table) -> bool {
    let vocabulary = || settings.get("engine")?.get("model")?.get("vocabulary");
    SERVING_ENGINES.contains(&engine)
        || ["kserve", "python"].contains(&engine) && vocabulary().is_some()
}

/// Returns the reason why a node did not compute all prompts in their entirety: its serving engine
/// counted reused prompt tokens while samples ran.
pub(crate) fn check_reused_prompts(node: &Node) -> Option<String> {
    let tokens = node.cached_prompt_tokens;
    (tokens > 0).then(|| {
        format!(
            "its serving engine reused {tokens} prompt tokens from other prompts; start that engine without prefix caching \
             (docs/ENGINES.md), and run again"
        )
    })
}

/// Returns the reason why a node with this engine and evidence may reuse prompts.
pub(crate) fn check_prefix_caching(engine: &str, machine: &Machine) -> Option<String> {
    let settings = published_settings(machine);
    let why = match found(&settings).map(|found| found.prefix_caching) {
        Some(PrefixCaching::Off) => return None,
        None if !sends_prompts(engine.trim(), &settings) => return None,
        Some(PrefixCaching::On) => "its serving engine reuses what it computed for other prompts",
        Some(PrefixCaching::CannotTell) => {
            "it cannot tell whether its serving engine reuses what it computed for other prompts"
        }
        None => {
            "it did not report whether its serving engine reuses what it computed for other prompts"
        }
    };
    Some(format!(
        "{why}; start that engine without prefix caching (docs/ENGINES.md), and run again"
    ))
}
