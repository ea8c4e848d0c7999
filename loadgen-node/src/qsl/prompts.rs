//! Prompts of a language model's benchmark: token ids of the model's vocabulary, at most as many as
//! the benchmark allows (rules, section 6.2.4; Appendix B). Other prompts would fail at the nodes,
//! or distort the measurement.

use netdiv_contract::{
    layout::{DataType, InputLayout, TensorSpec, describe, element_bytes},
    tokens,
};
use netdiv_dataset::{Dataset, Sample};
use netdiv_rules::book::{Benchmark, TokenLimits};

use crate::{RunError, settings::RunConfig};

/// Fails for prompts that the benchmark does not allow. Reads all prompts of the data set, so that
/// errors are known before a node is asked.
pub(crate) fn check(config: &RunConfig, data: &dyn Dataset) -> Result<(), RunError> {
    let Some(benchmark) = config.benchmarks.find(&config.benchmark) else { return Ok(()) };
    let (Some(limits), Some(layout)) = (benchmark.tokens(), data.layout()) else { return Ok(()) };
    check_types(benchmark, &layout).map_err(|why| refused(data, &why))?;
    let Some(ids) = layout.tensors.first().map(TensorSpec::data_type) else { return Ok(()) };
    for index in 0..data.sample_count() {
        let Sample::Tensors(tensors) = data.read(index)? else { continue };
        let Some(tensor) = tensors.first() else { continue };
        check_prompt(benchmark, limits, ids, &tensor.data)
            .map_err(|why| refused(data, &format!("sample {index} has {why}")))?;
    }
    Ok(())
}

fn refused(data: &dyn Dataset, why: &str) -> RunError {
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
    let name = &benchmark.name;
    let count = (ids.len() / element_bytes(data_type)) as u64;
    if count > limits.prompt {
        let most = limits.prompt;
        return Err(format!(
            "{count} tokens, and a prompt of {name} has at most {most}: take the data set of the benchmark"
        ));
    }
    let is_known = |id: &i64| (0..i64::from(limits.vocabulary)).contains(id);
    let wrong = match data_type {
        DataType::Int64 => {
            ids.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id)).find(|id| !is_known(id))
        }
        _ => tokens::ids(ids).map(i64::from).find(|id| !is_known(id)),
    };
    wrong.map_or(Ok(()), |id| {
        Err(format!(
            "the id {id}, and the vocabulary of {name} has {}: take ids of its tokenizer",
            limits.vocabulary
        ))
    })
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
