//! Top-1 accuracy from LoadGen's own accuracy log, and what the official script needs to compute it again.

mod figures;
mod official;

use std::{
    fmt::Write as _,
    hash::{BuildHasher as _, RandomState},
    path::Path,
};

pub(crate) use official::script;

use crate::{
    RunError,
    official_log::{LogError, Response},
    output,
    result::{Accuracy, Metric},
};

/// Name of the label map.
const LABEL_MAP: &str = "val_map.txt";

/// Compares int32 responses with labels. An error text when a sample has no response.
pub(crate) fn top1(
    responses: impl Iterator<Item = Result<Response, LogError>>,
    labels: &[i64],
) -> Result<Accuracy, String> {
    let label = |response: &Response| {
        let bytes = <[u8; 4]>::try_from(&response.data[..]).map_err(|_| {
            let (index, bytes) = (response.qsl_idx, response.data.len());
            format!("the response to sample {index} has {bytes} bytes, an int32 label has 4")
        })?;
        Ok(i64::from(i32::from_le_bytes(bytes)))
    };
    let answers = one_for_each_sample(responses, labels.len(), label)?;
    let correct = answers.iter().zip(labels).filter(|(answer, label)| answer == label).count();
    let (correct, total) = (correct as u64, labels.len() as u64);
    let value = 100.0 * correct as f64 / total as f64;
    let metric = Metric { name: "top-1".into(), value, unit: "%".into() };
    Ok(Accuracy { metric, reported: figures::percent(correct, total), correct, total })
}

/// Checks that each sample has a response.
pub(crate) fn check_complete(
    responses: impl Iterator<Item = Result<Response, LogError>>,
    total: usize,
) -> Result<(), String> {
    let hasher = RandomState::new();
    one_for_each_sample(responses, total, |response| Ok(hasher.hash_one(&response.data))).map(drop)
}

/// What `keep` makes of the response to each of the `total` samples, in the data set's order.
///
/// MultiStream fills its last query with samples that were issued before; their responses must be the same.
fn one_for_each_sample<T: Clone + PartialEq>(
    responses: impl Iterator<Item = Result<Response, LogError>>,
    total: usize,
    keep: impl Fn(&Response) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let mut found: Vec<Option<T>> = vec![None; total];
    for response in responses {
        let response = response.map_err(|error| error.to_string())?;
        let (index, kept) = (response.qsl_idx, keep(&response)?);
        match found.get_mut(index) {
            None => return Err(format!("the accuracy log has sample {index} of {total}")),
            Some(Some(first)) if *first != kept => {
                return Err(format!("the accuracy log has two responses to sample {index}"));
            }
            Some(place) => *place = Some(kept),
        }
    }
    let response = |(index, kept): (usize, Option<_>)| {
        kept.ok_or_else(|| format!("the accuracy log lacks sample {index}"))
    };
    found.into_iter().enumerate().map(response).collect()
}

/// Writes the label map that the official `accuracy-imagenet.py` reads: a name and a label for each sample,
/// in the data set's order.
pub(crate) fn write_label_map(folder: &Path, labels: &[i64]) -> Result<(), RunError> {
    let mut map = String::new();
    for (index, label) in labels.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(map, "sample_{index:06} {label}");
    }
    output::write(&folder.join(LABEL_MAP), map.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(qsl_idx: usize, label: i32) -> Response {
        Response { qsl_idx, data: label.to_le_bytes().to_vec() }
    }

    #[test]
    fn correct_labels_are_counted() {
        let responses = [response(1, 7), response(0, 3), response(1, 7)].map(Ok);
        let accuracy = top1(responses.into_iter(), &[3, 8]).unwrap();
        assert_eq!((accuracy.correct, accuracy.total, accuracy.metric.value), (1, 2, 50.0));
    }

    #[test]
    fn missing_contradicting_unknown_and_odd_responses_are_errors() {
        for (responses, want) in [
            (vec![response(0, 1)], "lacks sample 1"),
            (vec![response(0, 1), response(0, 2)], "two responses to sample 0"),
            (vec![response(2, 1)], "sample 2 of 2"),
            (vec![response(0, 1), Response { qsl_idx: 1, data: vec![1] }], "has 1 bytes"),
        ] {
            let outcome = top1(responses.into_iter().map(Ok), &[1, 1]);
            assert!(outcome.unwrap_err().contains(want), "{want}");
        }
    }
}
