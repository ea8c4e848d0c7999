//! Compares the numbers of samples in TEST07 and TEST09 with those of the table: each test issues
//! the whole of its data set, and the data sets differ.

use super::verification_files::values_of;
use crate::{
    input::files,
    official_log::DetailLog,
    subject::{PlaceJudgement, SubmissionTree},
    tree::{DETAIL, ResultPaths, VERIFY_OUTPUT_LENGTH},
};

/// Finds a test whose log or verification has another number of samples than `samples`.
pub(super) fn judge(
    tree: &SubmissionTree,
    place: &ResultPaths,
    test: &str,
    samples: u64,
    at: &mut PlaceJudgement,
) {
    // TEST09 states how many outputs its mean covers.
    let verification = format!("{}/{VERIFY_OUTPUT_LENGTH}", place.compliance(test));
    let text = files::read_to_string(&tree.path(&verification)).unwrap_or_default();
    let wanted = samples.to_string();
    for other in values_of(&text, "Total samples").into_iter().filter(|said| *said != wanted) {
        at.fail(format!(
            "{VERIFY_OUTPUT_LENGTH} is of {other} samples, and {test} issues {samples}: run {test} again with its own data set \
             and audit.config"
        ));
    }
    let log = tree.path(&format!("{}/{DETAIL}", place.compliance_performance(test)));
    let counts = DetailLog::read(&log).ok().as_ref().and_then(counts);
    let Some((total, issued)) = counts else {
        // The official checker does not require the logs of these tests.
        return at.unknown(format!(
            "its numbers of samples are unknown: {DETAIL} is missing, or has no counts"
        ));
    };
    if total != samples || issued != samples {
        at.fail(format!(
            "LoadGen issued {issued} samples of a data set of {total}, and {test} issues {samples} of {samples}: run {test} \
             again with its own data set and audit.config"
        ));
    }
}

/// Returns the numbers of samples in the data set and in LoadGen's queries.
fn counts(detail: &DetailLog) -> Option<(u64, u64)> {
    // Offline has one query.
    let queries = detail.integer("generated_query_count").unwrap_or(1);
    let issued = queries.saturating_mul(detail.integer("generated_samples_per_query")?);
    Some((detail.integer("qsl_reported_total_count")?, issued))
}
