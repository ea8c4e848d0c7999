//! Data sets of benchmarks whose performance and accuracy runs have one each, with outputs of
//! different lengths.

use netdiv_contract::v1::DescribeResponse;
use netdiv_dataset::Dataset;
use netdiv_node_common::words::{DatasetPart, Mode};

use super::prompts::{lowest, refused};
use crate::{
    RunError,
    settings::{RunConfig, Target, usage},
};

/// Fails for a data set that belongs to runs of another mode, and for a maximum length of outputs
/// that engines in this process would not keep.
pub(crate) fn check(config: &RunConfig, data: &dyn Dataset) -> Result<(), RunError> {
    if let Some(DatasetPart { name, max_output_tokens }) = data.part() {
        return match config.target {
            Target::Nodes(_) => Ok(()),
            Target::InProcess(_) => usage(format!(
                "--in-process: the part {name} of {} ends outputs at {max_output_tokens} tokens, which only nodes can do; give \
                 the file of the part, and write that number as max_tokens of the model",
                data.name()
            )),
        };
    }
    let Some(benchmark) = config.benchmarks.find(&config.benchmark) else { return Ok(()) };
    let is_accuracy = config.mode == Mode::Accuracy;
    let (own, other) = (benchmark.set_samples(is_accuracy), benchmark.set_samples(!is_accuracy));
    if own != other && data.sample_count() as u64 == other {
        let (name, mode) = (&benchmark.name, config.mode);
        return Err(refused(
            data,
            &format!(
                "it has {other} samples, and a run of {name} in mode {mode} uses its other set, of {own}: give the .toml file of \
                 deploy/data that lists both"
            ),
        ));
    }
    Ok(())
}

/// Fails if outputs of a node are shorter than the part of the data set allows.
pub(super) fn check_announced(
    data_set: &str,
    part: Option<DatasetPart>,
    nodes: &[&DescribeResponse],
) -> Result<(), RunError> {
    let Some(DatasetPart { name, max_output_tokens: allowed }) = part else { return Ok(()) };
    match lowest(nodes, |node| node.max_output_tokens) {
        Some((most, node)) if most < allowed.get() => usage(format!(
            "data set {data_set}: outputs of node {node} have at most {most} tokens, and the part {name} allows {allowed}: raise \
             max_tokens of its model's file"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use netdiv_node_common::words::PartName;

    use super::*;

    #[test]
    fn a_node_whose_outputs_are_shorter_is_refused_by_name() {
        let node = |name: &str, max_output_tokens| DescribeResponse {
            node_name: name.into(),
            tokens: true,
            max_output_tokens,
            ..DescribeResponse::default()
        };
        let (unknown, long, short) = (node("unknown", 0), node("long", 32_768), node("b", 1024));
        let max_output_tokens = NonZero::new(10_240).unwrap();
        let part = DatasetPart { name: PartName::Performance, max_output_tokens };
        let check = |nodes: &[&DescribeResponse]| check_announced("oss.toml", Some(part), nodes);
        check(&[&unknown, &long]).unwrap();
        let error = check(&[&unknown, &long, &short]).unwrap_err().to_string();
        for words in ["oss.toml", "node b have at most 1024", "performance allows 10240: raise"] {
            assert!(error.contains(words), "{words}: {error}");
        }
        check_announced("whole.ids", None, &[&short]).unwrap();
    }
}
