//! Accuracy from LoadGen's own accuracy log, and the files that the official script needs to
//! compute it again.

mod figures;
mod official;
mod scripts;

use std::{
    fmt::Write as _,
    hash::{BuildHasher as _, RandomState},
    path::Path,
};

use bytes::Bytes;
use netdiv_dataset::Labels;
pub(crate) use official::{OfficialScript, OptionValue};
pub(crate) use scripts::script;

use crate::{
    official_log::{LogError, LoggedResponse},
    output,
    record::{Accuracy, Metric},
};

/// Label map in the run's folder, which the official `accuracy-imagenet.py` reads: a name and a
/// label for each sample, in the data set's order.
const LABEL_MAP: &str = "val_map.txt";

/// Compares responses with labels. Fails if a sample has no response. For classes, writes the
/// official script's label map into the folder.
pub(crate) fn compare_with_labels(
    responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
    labels: &Labels,
    folder: &Path,
) -> Result<Accuracy, String> {
    match labels {
        Labels::Classes(labels) => {
            let mut map = String::new();
            for (index, label) in labels.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = writeln!(map, "sample_{index:06} {label}");
            }
            output::write(&folder.join(LABEL_MAP), map.as_bytes())
                .map_err(|error| error.to_string())?;
            top1(responses, labels)
        }
        Labels::Outputs(outputs) => exact_match(responses, outputs),
    }
}

/// Counts the responses that equal their expected output from the first token to the last.
fn exact_match(
    responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
    outputs: &[Bytes],
) -> Result<Accuracy, String> {
    let answers = one_for_each_sample(responses, outputs.len(), |response| {
        Ok(outputs.get(response.qsl_idx).is_some_and(|output| response.data == output[..]))
    })?;
    let correct = answers.iter().filter(|is_right| **is_right).count();
    Ok(share("exact match", correct as u64, outputs.len() as u64))
}

fn share(name: &str, correct: u64, total: u64) -> Accuracy {
    let value = 100.0 * correct as f64 / total as f64;
    let metric = Metric { name: name.into(), value, unit: "%".into() };
    Accuracy { metric, reported: figures::percent(correct, total), correct, total }
}

/// Counts the int32 responses that equal their labels.
fn top1(
    responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
    labels: &[i64],
) -> Result<Accuracy, String> {
    let label = |response: &LoggedResponse| {
        let bytes = <[u8; 4]>::try_from(&response.data[..]).map_err(|_| {
            let (index, bytes) = (response.qsl_idx, response.data.len());
            format!("the response to sample {index} has {bytes} bytes, an int32 label has 4")
        })?;
        Ok(i64::from(i32::from_le_bytes(bytes)))
    };
    let answers = one_for_each_sample(responses, labels.len(), label)?;
    let correct = answers.iter().zip(labels).filter(|(answer, label)| answer == label).count();
    Ok(share("top-1", correct as u64, labels.len() as u64))
}

/// Checks that each sample has a response.
pub(crate) fn check_complete(
    responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
    total: usize,
) -> Result<(), String> {
    let hasher = RandomState::new();
    one_for_each_sample(responses, total, |response| Ok(hasher.hash_one(&response.data))).map(drop)
}

/// Returns the value that `keep` returns for the response to each of the `total` samples, in the
/// data set's order.
///
/// MultiStream fills its last query with samples that were issued before; their responses must be
/// the same.
fn one_for_each_sample<T: Clone + PartialEq>(
    responses: impl Iterator<Item = Result<LoggedResponse, LogError>>,
    total: usize,
    keep: impl Fn(&LoggedResponse) -> Result<T, String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn response(qsl_idx: usize, label: i32) -> LoggedResponse {
        LoggedResponse { qsl_idx, data: label.to_le_bytes().to_vec() }
    }

    #[test]
    fn correct_labels_are_counted() {
        let responses = [response(1, 7), response(0, 3), response(1, 7)].map(Ok);
        let accuracy = top1(responses.into_iter(), &[3, 8]).unwrap();
        assert_eq!((accuracy.correct, accuracy.total, accuracy.metric.value), (1, 2, 50.0));
    }

    #[test]
    fn an_output_counts_when_all_of_it_is_right() {
        let outputs = [&[1_u8, 2, 3][..], &[4], &[5, 6]].map(Bytes::from_static);
        let given = [&[1_u8, 2, 3][..], &[4, 9], &[5]];
        let responses = given.into_iter().enumerate().rev();
        let responses =
            responses.map(|(qsl_idx, data)| Ok(LoggedResponse { qsl_idx, data: data.to_vec() }));
        let accuracy = exact_match(responses, &outputs).unwrap();
        assert_eq!((accuracy.correct, accuracy.total, &*accuracy.reported), (1, 3, "33.333"));
        let missing = exact_match([response(1, 7)].map(Ok).into_iter(), &outputs);
        assert!(missing.unwrap_err().contains("lacks sample 0"));
    }

    #[test]
    fn missing_contradicting_unknown_and_odd_responses_are_errors() {
        for (responses, want) in [
            (vec![response(0, 1)], "lacks sample 1"),
            (vec![response(0, 1), response(0, 2)], "two responses to sample 0"),
            (vec![response(2, 1)], "sample 2 of 2"),
            (vec![response(0, 1), LoggedResponse { qsl_idx: 1, data: vec![1] }], "has 1 bytes"),
        ] {
            let outcome = top1(responses.into_iter().map(Ok), &[1, 1]);
            assert!(outcome.unwrap_err().contains(want), "{want}");
        }
    }
}
