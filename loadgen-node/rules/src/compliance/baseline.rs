//! TEST01 for a non-deterministic benchmark: the official script scores the same samples of both
//! runs.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use super::{
    accuracy_txt::accuracy_of,
    part::{ComplianceError, Part, both},
};
use crate::{
    book::{Benchmark, Formats},
    facts::official_log::for_each_entry,
};

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
