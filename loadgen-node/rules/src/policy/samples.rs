//! What is sent: its encoding, its tensors, and how many samples there are.

use super::Choice;
use crate::{
    Finding, Rule,
    benchmarks::{Benchmark, Compression},
};

/// Encodings that lose nothing.
const LOSSLESS: [&str; 2] = ["zstd", "lz4"];

pub(super) fn check(benchmark: &Benchmark, choice: &Choice<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(encoding(benchmark, choice.encoding));
    findings.extend(tensors(benchmark, choice));
    if choice.is_accurate() && choice.dataset_samples != benchmark.dataset_samples {
        let (have, want) = (choice.dataset_samples, benchmark.dataset_samples);
        findings.push(Finding::fail(
            Rule::new(2),
            "dataset",
            format!(
                "it has {have} samples, but accuracy is measured over all {want} of the validation set, each once; \
                 use that set whole"
            ),
        ));
    }
    findings
}

fn encoding(benchmark: &Benchmark, encoding: &str) -> Option<Finding> {
    let name = &benchmark.name;
    let (rule, place) = (Rule::new(25), "encoding");
    if encoding == "none" {
        return None;
    }
    if !LOSSLESS.contains(&encoding) {
        let text = format!("`{encoding}` is not known to be lossless; choose none, zstd or lz4");
        return Some(Finding::fail(rule, place, text));
    }
    Some(match benchmark.compression {
        Compression::None => {
            let text = format!(
                "samples of {name} may not be compressed, and {encoding} does; choose none"
            );
            Finding::fail(rule, place, text)
        }
        Compression::Lossless | Compression::LosslessOrOriginal => {
            let text = format!(
                "{encoding} is lossless, as {name} allows; whether the Working Group has approved it, two weeks before \
                 the deadline, is not known here"
            );
            Finding::cannot_tell(rule, place, text)
        }
    })
}

fn tensors(benchmark: &Benchmark, choice: &Choice<'_>) -> Option<Finding> {
    let (rule, place) = (Rule::new(26), "input");
    let lists: Vec<_> = benchmark.inputs.iter().map(|list| list.join(" + ")).collect();
    let types = benchmark.input_types.join(", ");
    let want = format!("a sample of {} is {}, as {types}", benchmark.name, lists.join(", or "));
    let tensors = match choice.input {
        None => {
            let text = format!("it is not known what a sample holds; {want}");
            return Some(Finding::cannot_tell(rule, place, text));
        }
        Some([]) => {
            let unknown = "the samples are bytes of unknown meaning";
            return Some(match benchmark.original_compression.as_deref() {
                Some(kind) => {
                    let text = format!("{unknown}; {want}, or a {kind} file of the data set");
                    Finding::cannot_tell(rule, place, text)
                }
                None => {
                    let text = format!("{unknown}; {want}: give a data set that says so (.npy)");
                    Finding::fail(rule, place, text)
                }
            });
        }
        Some(tensors) => tensors,
    };
    let fits = benchmark.inputs.iter().any(|list| list.len() == tensors.len())
        && tensors.iter().all(|tensor| benchmark.input_types.iter().any(|t| t == tensor.data_type));
    if fits {
        return None;
    }
    let have = tensors.iter().map(|tensor| {
        let lengths = tensor.shape.iter();
        let lengths = lengths.map(|n| if *n < 0 { "?".into() } else { n.to_string() });
        let lengths = lengths.collect::<Vec<_>>().join(", ");
        format!("{} {}[{lengths}]", tensor.name, tensor.data_type)
    });
    let have = have.collect::<Vec<_>>().join(" + ");
    let text =
        format!("a sample holds {have}, but {want}; all else is made of it at the nodes, timed");
    Some(Finding::fail(rule, place, text))
}
