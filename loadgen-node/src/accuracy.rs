//! Top-1 accuracy from LoadGen's own accuracy log, and what the official script needs to compute it again.

use std::{fmt::Write as _, path::Path};

use crate::{
    RunError,
    official_log::Response,
    output,
    result::{Accuracy, Metric},
};

/// Name of the label map.
const LABEL_MAP: &str = "val_map.txt";

/// Compares int32 responses with labels. An error text when a sample has no response.
pub(crate) fn top1(responses: &[Response], labels: &[i64]) -> Result<Accuracy, String> {
    let mut correct = 0;
    for (index, response) in one_for_each_sample(responses, labels.len())?.iter().enumerate() {
        let bytes = <[u8; 4]>::try_from(*response).map_err(|_| {
            let bytes = response.len();
            format!("the response to sample {index} has {bytes} bytes, an int32 label has 4")
        })?;
        if i64::from(i32::from_le_bytes(bytes)) == labels[index] {
            correct += 1;
        }
    }
    let value = 100.0 * correct as f64 / labels.len() as f64;
    let metric = Metric { name: "top-1".into(), value, unit: "%".into() };
    Ok(Accuracy { metric, correct, total: labels.len() as u64 })
}

/// The response to each of the `total` samples, in the data set's order.
///
/// MultiStream fills its last query with samples that were issued before; their responses must be the same.
pub(crate) fn one_for_each_sample(
    responses: &[Response],
    total: usize,
) -> Result<Vec<&[u8]>, String> {
    let mut found: Vec<Option<&[u8]>> = vec![None; total];
    for Response { qsl_idx: index, data } in responses {
        match found.get_mut(*index) {
            None => return Err(format!("the accuracy log has sample {index} of {total}")),
            Some(Some(first)) if first != data => {
                return Err(format!("the accuracy log has two responses to sample {index}"));
            }
            Some(place) => *place = Some(data),
        }
    }
    let response = |(index, data): (usize, Option<_>)| {
        data.ok_or_else(|| format!("the accuracy log lacks sample {index}"))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn response(qsl_idx: usize, label: i32) -> Response {
        Response { qsl_idx, data: label.to_le_bytes().to_vec() }
    }

    #[test]
    fn correct_labels_are_counted() {
        let accuracy = top1(&[response(1, 7), response(0, 3), response(1, 7)], &[3, 8]).unwrap();
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
            assert!(top1(&responses, &[1, 1]).unwrap_err().contains(want), "{want}");
        }
    }
}
