//! TEST01: the responses of a performance run equal those of the accuracy run. For a benchmark that
//! is not deterministic, the official script scores the same samples of both runs.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry as Place},
    fmt::Write as _,
    path::Path,
};

use sha2::{Digest as _, Sha256};

use super::{
    accuracy_txt::accuracy_of,
    element::{Element, Number},
    part::{ComplianceError, Part, both},
};
use crate::{
    book::{Benchmark, Formats},
    facts::official_log::for_each_entry,
};

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

/// Returns the entries of the accuracy run's log whose samples are in the compliance run's log, as
/// a separate log.
///
/// Score it with the benchmark's official accuracy script into `baseline_accuracy.txt`, and the
/// compliance run's log into `compliance_accuracy.txt`; [`compare_baseline`] compares both files.
/// The returned text is as long as its responses in hex.
pub fn baseline(accuracy_log: &Path, compliance_log: &Path) -> Result<String, ComplianceError> {
    let mut wanted = BTreeSet::new();
    for_each_entry(compliance_log, |entry| {
        wanted.insert(entry.qsl_idx()?);
        Ok(())
    })?;
    let mut text = "[".to_owned();
    for_each_entry(accuracy_log, |entry| {
        let qsl_idx = entry.qsl_idx()?;
        if wanted.contains(&qsl_idx) {
            let seq_id = entry.integer("seq_id")?;
            let data = entry.hex("data")?.ok_or("an entry has no `data`")?;
            let comma = if text.len() > 1 { "," } else { "" };
            write!(
                text,
                "{comma}\n{{ \"seq_id\" : {seq_id}, \"qsl_idx\" : {qsl_idx}, \"data\" : \"{data}\" }}"
            )
            .map_err(|error| error.to_string())?;
        }
        Ok(())
    })?;
    Ok(text + "\n]\n")
}

/// Compares the scores of both runs: `baseline_txt` has those of the accuracy run, and
/// `compliance_txt` those of the compliance run. The official checker accepts a difference of 1 %,
/// or of 0.1 % if the benchmark requires 99.9 % of the reference's accuracy.
pub fn compare_baseline(
    baseline_txt: &Path,
    compliance_txt: &Path,
    benchmark: &Benchmark,
    formats: &Formats,
) -> Result<Part, ComplianceError> {
    let of = |path| accuracy_of(path, benchmark, formats);
    let (baseline, run) = both(of(baseline_txt), of(compliance_txt))?;
    let margin = if benchmark.name.contains("99.9") { 0.1 } else { 1.0 };
    let mut part = Part::default();
    for metric in benchmark.quality.iter().map(|quality| &quality.metric) {
        // The last value counts.
        let last = |scores: &[(String, f64)]| {
            scores.iter().rfind(|(name, _)| name == metric).map_or(0.0, |(_, value)| *value)
        };
        let (baseline, run) = (last(&baseline), last(&run));
        let apart = (1.0 - baseline / run).abs() * 100.0;
        part.figures.push(format!("{metric} = {run}, baseline {baseline}"));
        if baseline == 0.0 || run == 0.0 || apart.is_nan() || apart > margin {
            part.problems
                .push(format!("{metric} differs by {apart:.3} %; the margin is {margin} %"));
        }
    }
    Ok(part)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::book::Table;

    #[test]
    fn a_baseline_has_the_lines_of_the_same_samples() {
        let folder = tempfile::tempdir().unwrap();
        let [accuracy, run] = ["a", "b"].map(|name| folder.path().join(name));
        let line = |seq: u64, qsl: u64| {
            format!("{{ \"seq_id\" : {seq}, \"qsl_idx\" : {qsl}, \"data\" : \"0A\" }}")
        };
        fs::write(&accuracy, format!("[\n{},\n{},\n{}\n]\n", line(0, 1), line(1, 12), line(2, 3)))
            .unwrap();
        fs::write(&run, format!("[\n{},\n{}\n]\n", line(9, 12), line(8, 1))).unwrap();
        let want = format!("[\n{},\n{}\n]\n", line(0, 1), line(1, 12));
        assert_eq!(baseline(&accuracy, &run).unwrap(), want);
        fs::write(&run, "[\n]\n").unwrap();
        assert_eq!(baseline(&accuracy, &run).unwrap(), "[\n]\n");
    }

    #[test]
    fn scores_agree_within_the_checkers_margin() {
        let folder = tempfile::tempdir().unwrap();
        let [before, after] = ["baseline", "run"].map(|name| folder.path().join(name));
        let agrees = |benchmark, a: &str, b: &str| {
            fs::write(&before, a).unwrap();
            fs::write(&after, b).unwrap();
            let benchmark = Table::builtin().unwrap().find(benchmark).unwrap();
            compare_baseline(&before, &after, benchmark, &Formats::of(None))
                .map(|part| part.passed())
        };
        let dice = ["Accuracy: mean = 0.8617", "Accuracy: mean = 0.8600"];
        assert!(agrees("3d-unet-99", dice[0], dice[1]).unwrap());
        assert!(!agrees("3d-unet-99.9", dice[0], dice[1]).unwrap());
        assert!(agrees("3d-unet-99.9", dice[0], dice[0]).unwrap());
        assert!(!agrees("3d-unet-99", dice[0], "Accuracy: mean = 0.0").unwrap());
        assert!(agrees("3d-unet-99", dice[0], "").is_err());
    }
}
