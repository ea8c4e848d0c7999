//! TEST01: the responses of a performance run equal those of the accuracy run.

use std::{
    collections::{BTreeMap, btree_map::Entry as Place},
    path::Path,
};

use sha2::{Digest as _, Sha256};

use super::{
    element::{Element, Number},
    part::{ComplianceError, Part},
};
use crate::facts::official_log::for_each_entry;

/// Digest of a response. Responses may be large, so that only digests are kept for the comparison.
#[derive(PartialEq)]
struct ResponseDigest {
    length: usize,
    start: Vec<u8>,
    sha256: [u8; 32],
}

impl ResponseDigest {
    fn new(bytes: &[u8]) -> Self {
        let start = bytes[..bytes.len().min(size_of::<i64>())].to_vec();
        Self { length: bytes.len(), start, sha256: Sha256::digest(bytes).into() }
    }

    fn first(&self, element: Element) -> Result<Option<Number>, String> {
        element.first(&self.start, self.length)
    }
}

/// Compares the first number of each response in `run` with that of the same sample in `reference`,
/// or in its previous entry in `run`, like the official script.
pub(super) fn accuracy(
    reference: &Path,
    run: &Path,
    element: Element,
) -> Result<Part, ComplianceError> {
    let mut known = BTreeMap::new();
    let (mut entries, mut duplicates, mut unlike_duplicates) = (0_u64, 0_u64, 0_u64);
    for_each_entry(reference, |entry| {
        entries += 1;
        let response = ResponseDigest::new(&entry.response()?);
        match known.entry(entry.qsl_idx()?) {
            Place::Vacant(place) => _ = place.insert(response),
            Place::Occupied(first) => {
                duplicates += 1;
                unlike_duplicates += u64::from(*first.get() != response);
            }
        }
        Ok(())
    })?;

    let (mut tested, mut matched, mut missing) = (0_u64, 0_u64, 0_u64);
    let (mut unlike, mut unlike_later) = (0_u64, 0_u64);
    for_each_entry(run, |entry| {
        tested += 1;
        let response = ResponseDigest::new(&entry.response()?);
        let number = response.first(element)?;
        match known.entry(entry.qsl_idx()?) {
            Place::Vacant(place) => {
                missing += 1;
                place.insert(response);
            }
            Place::Occupied(mut before) => {
                matched += 1;
                if before.get().first(element)? == number {
                    unlike_later += u64::from(*before.get() != response)
                } else {
                    unlike += 1
                }
                before.insert(response);
            }
        }
        Ok(())
    })?;

    let figures = [
        ("num_acc_log_entries", entries),
        ("num_acc_log_duplicate_keys", duplicates),
        ("num_acc_log_data_mismatch", unlike_duplicates),
        ("num_perf_log_entries", tested),
        ("num_perf_log_qsl_idx_match", matched),
        ("num_perf_log_data_mismatch", unlike),
        ("num_missing_qsl_idxs", missing),
    ];
    let mut part = Part {
        figures: figures.map(|(key, value)| format!("{key} = {value}")).to_vec(),
        ..Part::default()
    };
    if matched == 0 {
        part.problems.push("no sample of this run is in the log of the accuracy run".into());
    }
    if unlike > 0 {
        part.problems
            .push(format!("{unlike} of {matched} responses differ from those of the accuracy run"));
    }
    // Without any match, the problem above covers this.
    if missing > 0 && matched > 0 {
        part.stricter
            .push(format!("{missing} of {tested} samples are not in the log of the accuracy run"));
    }
    if unlike_later > 0 {
        part.notes.push(format!(
            "{unlike_later} of {matched} responses begin as in the accuracy run and differ later"
        ));
    }
    Ok(part)
}
