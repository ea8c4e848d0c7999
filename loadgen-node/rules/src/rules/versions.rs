//! Comparison of the versions that records and machines state (N3, N24).

use std::collections::BTreeMap;

use crate::{
    record::RunResult,
    subject::{Findings, Subject},
};

/// Finds records whose value differs from an earlier record with the same key, such as two versions
/// of the same sources. `of` returns the key and the value of a record. `what` names the value in
/// the finding.
pub(super) fn find_conflicting_values(
    subject: &Subject,
    what: &str,
    of: impl Fn(&RunResult) -> (String, String),
    found: &mut Findings,
) {
    let mut known: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (run, record) in subject.records() {
        let place = run.record_place.as_str();
        let (key, value) = of(record);
        let (first, there) = known.entry(key).or_insert((value.clone(), place));
        if *first != value {
            let text = format!(
                "the {what} {value} here and {first} in {there}: take the records as the runs wrote them"
            );
            found.fail(place, text);
        }
    }
}

/// Returns a finding if a machine reported another version of a program than the record has.
/// `named` is the machine's report, such as `sut-node 0.1.0`, and `program` is the part before the
/// version.
pub(super) fn version_mismatch(
    who: &str,
    named: Option<&str>,
    program: &str,
    version: &str,
) -> Option<String> {
    let other = named?.strip_prefix(program).filter(|other| *other != version)?;
    Some(format!("{who} named {program}{other}, and the record has version {version}"))
}
