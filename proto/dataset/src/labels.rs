//! Expected responses to a data set's samples.

use std::path::Path;

use bytes::Bytes;
use netdiv_node_common::resources::files;

use crate::{
    error::DatasetError,
    ids::Ids,
    npy::labels,
    open::{DIGITS, SORTING},
    sample::Dataset as _,
    sample_file::SampleFile,
};

const DIGITS_LABELS: &[u8] = include_bytes!("../../../deploy/digits/labels.npy");
const SORTING_OUTPUTS: &[u8] = include_bytes!("../../../deploy/sorting/outputs.ids");

/// Expected responses, one for each sample in the data set's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// Class numbers.
    Classes(Vec<i64>),
    /// Outputs of token ids, as bytes.
    Outputs(Vec<Bytes>),
}

impl Labels {
    /// Returns the labels of an embedded data set, or `None` for any other name.
    pub fn of_dataset(name: &str) -> Result<Option<Self>, DatasetError> {
        Ok(match name {
            DIGITS => {
                let file = Bytes::from_static(DIGITS_LABELS);
                Some(Self::Classes(labels("digits labels (embedded)", file)?))
            }
            SORTING => {
                let path = Path::new("sorting outputs (embedded)");
                let file = Bytes::from_static(SORTING_OUTPUTS);
                Some(outputs(path, SampleFile::in_memory("sorting outputs", file))?)
            }
            _ => None,
        })
    }

    /// Reads labels from a file: a `.npy` file with an integer for each sample, or a file of token
    /// ids with an output for each.
    pub fn of_file(path: &Path) -> Result<Self, DatasetError> {
        let file = SampleFile::open(path)?;
        if Ids::is(&file) {
            return outputs(path, file);
        }
        Ok(Self::Classes(numbers_of_file(path)?))
    }

    /// Number of labels.
    pub fn count(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Outputs(outputs) => outputs.len(),
        }
    }
}

/// Reads the integers in a `.npy` file, one for each sample.
pub(crate) fn numbers_of_file(path: &Path) -> Result<Vec<i64>, DatasetError> {
    let unreadable = |error| DatasetError::Unreadable { path: path.into(), error };
    let file = files::read(path, u64::MAX).map_err(unreadable)?;
    labels(&path.display().to_string(), file.into())
}

fn outputs(path: &Path, file: SampleFile) -> Result<Labels, DatasetError> {
    let ids = Ids::open(path, file)?;
    let outputs = (0..ids.sample_count()).map(|index| ids.ids(index));
    Ok(Labels::Outputs(outputs.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use netdiv_contract::tokens;

    use super::*;
    use crate::{open, sample::Sample, write_ids};

    #[test]
    fn the_embedded_data_sets_have_a_label_for_each_sample() {
        for name in crate::EMBEDDED {
            let labels = Labels::of_dataset(name).unwrap().unwrap();
            assert_eq!(open(name).unwrap().sample_count(), labels.count(), "{name}");
        }
        assert_eq!(Labels::of_dataset("synthetic:4x4").unwrap(), None);
    }

    /// Labels are as in `deploy/sorting/train.py`: the prompt is `BEGIN digits SORT`, the output
    /// the sorted digits and `END`.
    #[test]
    fn the_outputs_of_the_sorting_prompts_are_their_digits_in_order() {
        let prompts = open(SORTING).unwrap();
        let Some(Labels::Outputs(outputs)) = Labels::of_dataset(SORTING).unwrap() else {
            panic!("no outputs")
        };
        for (index, output) in outputs.iter().enumerate() {
            let Sample::Tensors(prompt) = prompts.read(index).unwrap() else { panic!("bytes") };
            let mut ids: Vec<_> = tokens::ids(&prompt[0].data).collect();
            assert_eq!((ids.remove(0), ids.pop()), (10, Some(11)), "sample {index}");
            ids.sort_unstable();
            ids.push(12);
            assert_eq!(tokens::ids(output).collect::<Vec<_>>(), ids, "sample {index}");
        }
    }

    #[test]
    fn a_file_of_ids_has_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outputs.ids");
        let mut file = Vec::new();
        write_ids(&mut file, &[vec![1, 2], vec![3]]).unwrap();
        std::fs::write(&path, &file).unwrap();
        let outputs = vec![tokens::to_bytes(&[1, 2]), tokens::to_bytes(&[3])];
        assert_eq!(Labels::of_file(&path).unwrap(), Labels::Outputs(outputs));
        std::fs::write(&path, &file[..file.len() - 1]).unwrap();
        let error = Labels::of_file(&path).unwrap_err().to_string();
        assert!(error.contains("damaged data set of ids"), "{error}");
    }
}
