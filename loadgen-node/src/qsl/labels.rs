//! Labels of a run: one for each sample, within the benchmark's classes or vocabulary. Any other
//! label would make every response wrong.

use netdiv_contract::tokens;
use netdiv_dataset::Labels;
use netdiv_rules::book::Benchmark;

use crate::{
    RunError,
    settings::{RunConfig, usage},
};

/// Returns the labels of the data set, if it has any. Fails for labels that do not fit its samples
/// or the benchmark.
pub(crate) fn read_labels(config: &RunConfig, samples: usize) -> Result<Option<Labels>, RunError> {
    let (name, labels) = match &config.labels {
        Some(path) => (path.display().to_string(), Some(Labels::of_file(path)?)),
        None => (config.dataset.clone(), Labels::of_dataset(&config.dataset)?),
    };
    let Some(labels) = labels else { return Ok(None) };
    if labels.count() != samples {
        let labels = labels.count();
        return usage(format!("{name}: {labels} labels for {samples} samples"));
    }
    let benchmark = config.benchmarks.find(&config.benchmark);
    match fault(&labels, benchmark) {
        Some(fault) => usage(format!("{name}: {fault}")),
        None => Ok(Some(labels)),
    }
}

/// Returns the first fault of the labels: they are of another kind than the benchmark's responses,
/// or a label is out of the benchmark's range.
fn fault(labels: &Labels, benchmark: Option<&Benchmark>) -> Option<String> {
    let (classes, vocabulary) = (
        benchmark.is_some_and(|one| one.classes.is_some()),
        benchmark.is_some_and(|one| one.vocabulary.is_some()),
    );
    match labels {
        Labels::Classes(_) if vocabulary && !classes => {
            Some("it has classes, and the responses are tokens: give a .ids file of outputs".into())
        }
        Labels::Outputs(_) if classes && !vocabulary => Some(
            "it has outputs, and the responses are classes: give a .npy file of their numbers"
                .into(),
        ),
        Labels::Classes(labels) => {
            let (most, whose) = match benchmark.and_then(|one| Some((one, one.classes?))) {
                Some((Benchmark { name, .. }, count)) => {
                    (i64::from(count) - 1, format!("the classes of {name}"))
                }
                None => (i32::MAX.into(), "classes, which are int32,".into()),
            };
            let sample = labels.iter().position(|label| !(0..=most).contains(label))?;
            let label = labels[sample];
            Some(format!(
                "the label of sample {sample} is {label}, and {whose} are 0 to {most}: give the number of its class"
            ))
        }
        Labels::Outputs(outputs) => {
            let Benchmark { name, vocabulary, .. } = benchmark?;
            let ids = 0..i64::from((*vocabulary)?);
            let unknown =
                |output: &[u8]| tokens::ids(output).find(|id| !ids.contains(&i64::from(*id)));
            let (sample, id) = outputs
                .iter()
                .enumerate()
                .find_map(|(sample, output)| Some((sample, unknown(output)?)))?;
            let most = ids.end - 1;
            Some(format!(
                "the output of sample {sample} has the id {id}, and the vocabulary of {name} is 0 to {most}: take ids of its tokenizer"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use netdiv_rules::book::Table;

    use super::*;

    #[test]
    fn labels_are_of_the_kind_and_in_the_range_of_the_benchmark() {
        let classes = |labels: &[i64]| Labels::Classes(labels.to_vec());
        let outputs = |ids: &[i32]| {
            let outputs = ids.iter().map(|id| Bytes::copy_from_slice(&id.to_le_bytes()));
            Labels::Outputs(outputs.collect())
        };
        let most = i64::from(i32::MAX);
        let int32 = "and classes, which are int32, are 0 to 2147483647";
        for (benchmark, labels, want) in [
            ("llama2-70b-99", classes(&[0]), "the responses are tokens: give a .ids file"),
            ("resnet50", outputs(&[1]), "the responses are classes: give a .npy file"),
            ("fabric", outputs(&[1]), ""),
            ("fabric", classes(&[0, 1, 2, most]), ""),
            ("fabric", classes(&[0, -1]), &format!("the label of sample 1 is -1, {int32}")),
            ("fabric", classes(&[most + 1]), &format!("of sample 0 is 2147483648, {int32}")),
            ("resnet50", classes(&[0, 999]), ""),
            (
                "resnet50",
                classes(&[0, 1000]),
                "1 is 1000, and the classes of resnet50 are 0 to 999",
            ),
            ("resnet", classes(&[-1]), "the label of sample 0 is -1"),
            ("rgat", classes(&[2982; 4]), ""),
            ("rgat", classes(&[0, 2983]), "1 is 2983, and the classes of rgat are 0 to 2982"),
            ("llama2-70b-99", outputs(&[1, 31_999]), ""),
            ("llama2-70b-99", outputs(&[1, 32_000]), "the output of sample 1 has the id 32000"),
            ("sorting", outputs(&[32_000]), ""),
        ] {
            let found = fault(&labels, Table::builtin().unwrap().find(benchmark));
            let found = found.unwrap_or_default();
            assert!(found.contains(want) && found.is_empty() == want.is_empty(), "{want}: {found}");
        }
    }
}
