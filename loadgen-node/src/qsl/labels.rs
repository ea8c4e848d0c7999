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
    use std::{fs, path::Path};

    use netdiv_dataset::write_ids;

    use super::*;
    use crate::RunArgs;

    /// Returns the error for the labels in a file, for 4 samples.
    fn refused(benchmark: &str, file: &Path) -> Option<String> {
        let labels = format!("--labels={}", file.display());
        let fixed = ["--nodes=127.0.0.1:1", "--scenario=offline", "--dataset=synthetic:4x4"];
        let options = [&fixed[..], &["--benchmark", benchmark, labels.as_str()]].concat();
        let args: RunArgs = netdiv_node_common::process::parse_keys(options).unwrap();
        let config = args.resolve().unwrap();
        let error = read_labels(&config, 4).err()?.to_string();
        assert!(error.contains(&file.display().to_string()), "{error}");
        Some(error)
    }

    fn write_npy(file: &Path, labels: &[i64]) {
        let bytes = labels.iter().flat_map(|label| label.to_le_bytes());
        let bytes = crate::npy_file::npy("<i8", &format!("({},)", labels.len()), bytes);
        fs::write(file, bytes).unwrap();
    }

    #[test]
    fn labels_are_of_the_kind_that_the_benchmark_has() {
        let folder = tempfile::tempdir().unwrap();
        let (classes, outputs) = (folder.path().join("labels.npy"), folder.path().join("a.ids"));
        write_npy(&classes, &[0, 1, 2, 3]);
        let mut file = fs::File::create(&outputs).unwrap();
        write_ids(&mut file, &[vec![1], vec![2], vec![3], vec![4]]).unwrap();
        let error = refused("llama2-70b-99", &classes).unwrap();
        assert!(error.contains("the responses are tokens: give a .ids file"), "{error}");
        let error = refused("resnet50", &outputs).unwrap();
        assert!(error.contains("the responses are classes: give a .npy file"), "{error}");
        assert_eq!(refused("fabric", &outputs), None);
    }

    #[test]
    fn classes_are_those_of_the_benchmark() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("labels.npy");
        let most = i64::from(i32::MAX);
        for (benchmark, labels, want) in [
            ("fabric", &[0, 1, 2, most][..], None),
            (
                "fabric",
                &[0, -1, 2, 3],
                Some(
                    "the label of sample 1 is -1, and classes, which are int32, are 0 to 2147483647",
                ),
            ),
            ("fabric", &[0, 1, 2], Some("3 labels for 4 samples")),
            (
                "fabric",
                &[0, 1, most + 1, 3],
                Some("the label of sample 2 is 2147483648, and classes, which are int32,"),
            ),
            ("resnet50", &[0, 999, 1, 2], None),
            (
                "resnet50",
                &[0, 999, 1, 1000],
                Some("the label of sample 3 is 1000, and the classes of resnet50 are 0 to 999"),
            ),
            ("resnet", &[-1, 0, 0, 0], Some("the label of sample 0 is -1")),
            ("rgat", &[2982; 4], None),
            (
                "rgat",
                &[0, 2983, 0, 0],
                Some("sample 1 is 2983, and the classes of rgat are 0 to 2982"),
            ),
        ] {
            write_npy(&file, labels);
            let found = refused(benchmark, &file);
            match want {
                Some(want) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(want)), "{found:?}")
                }
                None => assert_eq!(found, None),
            }
        }
    }

    #[test]
    fn ids_are_of_the_vocabulary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outputs.ids");
        for (last, want) in
            [(31_999, None), (32_000, Some("the output of sample 3 has the id 32000"))]
        {
            let mut file = Vec::new();
            write_ids(&mut file, &[vec![1, 2], vec![3], vec![4], vec![5, last]]).unwrap();
            fs::write(&path, &file).unwrap();
            let found = refused("llama2-70b-99", &path);
            assert_eq!(found.is_some(), want.is_some(), "{found:?}");
            assert!(found.is_none_or(|why| why.contains(want.unwrap())));
        }
        assert_eq!(refused("sorting", &path), None);
    }
}
