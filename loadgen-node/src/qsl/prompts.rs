//! Prompts of a language model: token ids of the model's vocabulary, at most as many as the
//! benchmark allows (rules, section 6.2.4; Appendix B) and the nodes accept. Other prompts would
//! fail at the nodes, or distort the measurement.

use netdiv_contract::{
    layout::{DataType, InputLayout, TensorSpec, describe, element_bytes},
    tokens,
    v1::DescribeResponse,
};
use netdiv_dataset::{Dataset, Sample};
use netdiv_rules::book::{Benchmark, SampleForm, TokenLimits};

use crate::{RunError, settings::RunConfig};

/// Fails for prompts that the benchmark does not allow. Reads all prompts of the data set, so that
/// errors are known before a node is asked.
pub(crate) fn check(config: &RunConfig, data: &dyn Dataset) -> Result<(), RunError> {
    let Some(benchmark) = config.benchmarks.find(&config.benchmark) else { return Ok(()) };
    let (Some(limits), Some(layout)) = (benchmark.tokens(), data.layout()) else { return Ok(()) };
    check_types(benchmark, &layout).map_err(|why| refused(data, &why))?;
    check_each(data, |ids, prompt| check_prompt(benchmark, limits, ids, prompt))
}

/// Fails for a node whose responses are not token ids, if the samples of the benchmark are prompts.
pub(crate) fn check_responses(
    config: &RunConfig,
    nodes: &[&DescribeResponse],
) -> Result<(), RunError> {
    let benchmark = config.benchmarks.find(&config.benchmark);
    let other = nodes.iter().find(|node| node.token_counts);
    match (benchmark.filter(|known| known.form == SampleForm::Prompt), other) {
        (Some(Benchmark { name, .. }), Some(node)) => Err(RunError::Usage(format!(
            "responses of node {} are not token ids, which {name} requires: serve a language model there, without counts_tokens",
            node.node_name
        ))),
        _ => Ok(()),
    }
}

/// Fails for prompts that a node does not accept, as its description announces. Reads all prompts
/// of the data set, unless no node announces a limit.
pub(crate) fn check_announced(
    data: &dyn Dataset,
    nodes: &[&DescribeResponse],
) -> Result<(), RunError> {
    let prompt = lowest(nodes, |node| node.max_input_tokens);
    let vocabulary = lowest(nodes, |node| node.vocabulary);
    if prompt.is_none() && vocabulary.is_none() {
        return Ok(());
    }
    check_each(data, |ids, bytes| {
        let most = prompt.map_or(u64::MAX, |(most, _)| most.into());
        let count = vocabulary.map_or(1 << 31, |(count, _)| count);
        match (unfit(ids, bytes, most, count), prompt, vocabulary) {
            (Some(PromptFault::TooLong(count)), Some((most, node)), _) => Err(format!(
                "{count} tokens, but node {node} accepts at most {most}: take shorter prompts, or raise max_input_tokens of its \
                 model or its --max-in-flight-tokens"
            )),
            (Some(PromptFault::Unknown(id)), _, Some((count, node))) => Err(format!(
                "the id {id}, but the ids of node {node} go from 0 to {}: take ids of its model's tokenizer",
                count - 1
            )),
            (Some(PromptFault::Unknown(id)), ..) => {
                Err(format!("the id {id}; ids go from 0 to 2147483647"))
            }
            _ => Ok(()),
        }
    })
}

/// Returns the lowest of the nodes' limits, and the name of its node. A limit of 0 is unknown.
pub(super) fn lowest<'a>(
    nodes: &[&'a DescribeResponse],
    limit: fn(&DescribeResponse) -> u32,
) -> Option<(u32, &'a str)> {
    let nodes = nodes.iter().filter(|node| node.tokens);
    let limits = nodes.map(|node| (limit(node), node.node_name.as_str()));
    limits.filter(|(limit, _)| *limit > 0).min_by_key(|(limit, _)| *limit)
}

/// Reads all samples, and passes the type and the elements of the first tensor of each to `check`.
fn check_each(
    data: &dyn Dataset,
    check: impl Fn(DataType, &[u8]) -> Result<(), String>,
) -> Result<(), RunError> {
    let Some(layout) = data.layout() else { return Ok(()) };
    let Some(ids) = layout.tensors.first().map(TensorSpec::data_type) else { return Ok(()) };
    for index in 0..data.sample_count() {
        let Sample::Tensors(tensors) = data.read(index)? else { continue };
        let Some(tensor) = tensors.first() else { continue };
        check(ids, &tensor.data)
            .map_err(|why| refused(data, &format!("sample {index} has {why}")))?;
    }
    Ok(())
}

pub(super) fn refused(data: &dyn Dataset, why: &str) -> RunError {
    RunError::Usage(format!("data set {}: {why}", data.name()))
}

/// Checks that all tensors have an element type that the benchmark allows for token ids.
fn check_types(benchmark: &Benchmark, layout: &InputLayout) -> Result<(), String> {
    let is_allowed = |tensor: &TensorSpec| {
        benchmark.input_types.iter().any(|one| one.data_type() == tensor.data_type())
    };
    if layout.tensors.iter().all(is_allowed) {
        return Ok(());
    }
    let types: Vec<_> = benchmark.input_types.iter().map(|one| one.word()).collect();
    Err(format!(
        "it holds {}, and a sample of {} is token ids, {}: make it with loadgen-node ids",
        describe(layout),
        benchmark.name,
        types.join(" or ")
    ))
}

fn check_prompt(
    benchmark: &Benchmark,
    limits: TokenLimits,
    data_type: DataType,
    ids: &[u8],
) -> Result<(), String> {
    let (name, TokenLimits { prompt: most, vocabulary, .. }) = (&benchmark.name, limits);
    match unfit(data_type, ids, most, vocabulary) {
        None => Ok(()),
        Some(PromptFault::TooLong(count)) => Err(format!(
            "{count} tokens, and a prompt of {name} has at most {most}: take the data set of the benchmark"
        )),
        Some(PromptFault::Unknown(id)) => Err(format!(
            "the id {id}, and the vocabulary of {name} has {vocabulary}: take ids of its tokenizer"
        )),
    }
}

enum PromptFault {
    /// The prompt has this number of tokens.
    TooLong(u64),
    /// The prompt has this id, which is not in the vocabulary.
    Unknown(i64),
}

/// Returns the fault of a prompt, if it has more than `most` tokens, or an id that is not below
/// `vocabulary`. Elements of other types than int32 and int64 are not ids.
fn unfit(data_type: DataType, ids: &[u8], most: u64, vocabulary: u32) -> Option<PromptFault> {
    let is_known = |id: &i64| (0..i64::from(vocabulary)).contains(id);
    let unknown = match data_type {
        DataType::Int64 => {
            ids.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).find(|id| !is_known(id))
        }
        DataType::Int32 => tokens::ids(ids).map(i64::from).find(|id| !is_known(id)),
        _ => return None,
    };
    let count = (ids.len() / element_bytes(data_type)) as u64;
    if count > most { Some(PromptFault::TooLong(count)) } else { unknown.map(PromptFault::Unknown) }
}

#[cfg(test)]
mod tests {
    use netdiv_rules::book::Table;

    use super::*;

    fn checked(ids: &[u8], data_type: DataType) -> Result<(), String> {
        let benchmark = Table::builtin().unwrap().find("llama2-70b-99").unwrap();
        check_prompt(benchmark, benchmark.tokens().unwrap(), data_type, ids)
    }

    #[test]
    fn token_ids_are_whole_numbers() {
        let of = |data_type: DataType| {
            let spec =
                TensorSpec { name: "x".into(), data_type: data_type as i32, shape: vec![-1] };
            let layout = InputLayout { tensors: vec![spec.clone(), spec] };
            check_types(Table::builtin().unwrap().find("llama2-70b-99").unwrap(), &layout)
        };
        assert_eq!((of(DataType::Int32), of(DataType::Int64)), (Ok(()), Ok(())));
        for data_type in [DataType::Float32, DataType::Float16, DataType::Uint8] {
            let why = of(data_type).unwrap_err();
            assert!(
                why.contains("a sample of llama2-70b-99 is token ids, int32 or int64"),
                "{why}"
            );
        }
    }

    #[test]
    fn the_strictest_node_refuses_a_sample_by_name() {
        let node = |name: &str, max_input_tokens, vocabulary| DescribeResponse {
            node_name: name.into(),
            tokens: true,
            max_input_tokens,
            vocabulary,
            ..DescribeResponse::default()
        };
        // Each prompt has three ids from 8 to 31,999.
        let data = netdiv_dataset::open("synthetic-ids:9x3").unwrap();
        let image = DescribeResponse { tokens: false, ..node("image", 1, 1) };
        let (free, wide) = (node("free", 0, 0), node("wide", 3, 32_000));
        let check = |nodes: &[&DescribeResponse]| check_announced(data.as_ref(), nodes);
        check(&[&image, &free, &wide]).unwrap();
        for (strict, words) in [
            (node("short", 2, 0), "sample 0 has 3 tokens, but node short accepts at most 2: take"),
            (node("narrow", 0, 8), ", but the ids of node narrow go from 0 to 7: take ids of its"),
        ] {
            let error = check(&[&free, &wide, &strict]).unwrap_err().to_string();
            assert!(error.contains("data set synthetic-ids:9x3: sample 0 has "), "{error}");
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_prompt_is_short_enough_and_of_the_vocabulary() {
        let narrow = |ids: &[i32]| {
            let bytes: Vec<_> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            checked(&bytes, DataType::Int32)
        };
        let wide = |ids: &[i64]| {
            let bytes: Vec<_> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            checked(&bytes, DataType::Int64)
        };
        assert_eq!(narrow(&[0, 31_999]), Ok(()));
        assert_eq!((narrow(&[7; 1024]), wide(&[7; 1024])), (Ok(()), Ok(())));
        let long = "1025 tokens, and a prompt of llama2-70b-99 has at most 1024";
        assert!(narrow(&[7; 1025]).unwrap_err().contains(long));
        assert!(wide(&[7; 1025]).unwrap_err().contains(long));
        let vocabulary = "the id 32000, and the vocabulary of llama2-70b-99 has 32000";
        assert!(narrow(&[1, 32_000]).unwrap_err().contains(vocabulary));
        assert!(wide(&[1, 32_000]).unwrap_err().contains(vocabulary));
        assert!(narrow(&[-1]).unwrap_err().contains("the id -1"));
        assert!(wide(&[1 << 32]).unwrap_err().contains("the id 4294967296"));
    }
}
