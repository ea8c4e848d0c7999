//! Checks of the samples: their encoding, tensors and number.

use super::choice::{ACCURACY_COUNT, RunChoices};
use crate::{
    Finding,
    Rule::{N2, N25, N26},
    book::Benchmark,
    judge::samples::{
        check_manifests, check_sample_count, describe_input, is_allowed_input, permits_encoding,
    },
};
use netdiv_contract::encoding::Encoding;

pub(super) fn check(benchmark: &Benchmark, choice: &RunChoices<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(encoding(benchmark, choice.encoding));
    findings.extend(tensors(benchmark, choice));
    if choice.is_accurate() {
        let part_of_set = check_sample_count(benchmark, choice.dataset_samples)
            .map(|what| Finding::fail(N2, "dataset", format!("it has {what}")));
        let shortened = || {
            let what = check_sample_count(benchmark, choice.accuracy_samples())?;
            Some(Finding::fail(N2, ACCURACY_COUNT, format!("it leaves {what}: do not set it")))
        };
        findings.extend(part_of_set.or_else(shortened));
    }
    let otherwise = check_manifests(benchmark, choice.prepared, choice.is_accurate());
    findings.extend(otherwise.map(|what| Finding::fail(N2, "dataset", what)));
    if choice.is_accurate() {
        findings.extend(labels(benchmark, choice.has_labels));
    }
    findings
}

/// Official checker's name of top-1 accuracy, the metric that a run computes itself.
const TOP1: &str = "acc";

/// Requires labels for ResNet50, whose accuracy the run computes from them, and refuses labels for
/// benchmarks whose metric is not top-1. An official script computes the accuracy of other
/// benchmarks from the accuracy log.
fn labels(benchmark: &Benchmark, are_there: bool) -> Option<Finding> {
    let name = &benchmark.name;
    let has_top1 = benchmark.quality.iter().all(|quality| quality.metric == TOP1);
    let text = match are_there {
        // The graph network has this metric, too, but its official script computes it.
        false if benchmark.loadgen_model == "resnet50" => format!(
            "the accuracy of {name} is computed from labels, which are missing: pass --labels FILE, a .npy with an int32 or \
             int64 for each sample"
        ),
        true if !has_top1 => format!(
            "the accuracy of {name} is not computed from labels, but by the official script: omit --labels"
        ),
        _ => return None,
    };
    Some(Finding::fail(N2, "labels", text))
}

fn encoding(benchmark: &Benchmark, encoding: Encoding) -> Option<Finding> {
    let name = &benchmark.name;
    let (rule, place) = (N25, "encoding");
    if encoding == Encoding::None {
        return None;
    }
    if !permits_encoding(benchmark, encoding) {
        let text = format!(
            "samples of {name} must not be compressed, but {encoding} compresses them; choose none"
        );
        return Some(Finding::fail(rule, place, text));
    }
    let text = format!(
        "{encoding} is lossless, which {name} allows; the Working Group must have approved it two weeks before the \
         deadline"
    );
    Some(Finding::cannot_tell(rule, place, text))
}

fn tensors(benchmark: &Benchmark, choice: &RunChoices<'_>) -> Option<Finding> {
    let (rule, place) = (N26, "input");
    let want = format!("a sample of {} is {}", benchmark.name, describe_input(benchmark));
    let tensors = match choice.input {
        None => {
            let text = format!("the contents of a sample are unknown; {want}");
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
                    let text =
                        format!("{unknown}; {want}: use a data set that states its type (.npy)");
                    Finding::fail(rule, place, text)
                }
            });
        }
        Some(tensors) => tensors,
    };
    let have: Vec<_> = tensors.iter().map(ToString::to_string).collect();
    if is_allowed_input(benchmark, &have) == Some(true) {
        return None;
    }
    let have = have.join(" + ");
    let text =
        format!("a sample contains {have}, but {want}; the nodes do all further processing, timed");
    Some(Finding::fail(rule, place, text))
}
