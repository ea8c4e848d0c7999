//! Compares the numbers of queries and samples that LoadGen generated, issued and loaded.

use std::collections::BTreeSet;

use netdiv_node_common::words::Mode;

use crate::{
    Scenario,
    official_log::DetailLog,
    rules::n32::too_short,
    subject::{Findings, Subject},
};

/// Relative tolerance for the number of Server's queries, which arrive at random. Runs of netdiv's
/// own tests deviate by a few per cent.
const CHANCE: f64 = 0.05;

/// Further tolerance for that number, in standard deviations. No random deviation is this large.
const DEVIATIONS: f64 = 8.0;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (entry, run, detail) in subject.details() {
        if detail.repeated().next().is_some() {
            continue;
        }
        // N32 reports a test that is too short, and N2 a data set with another number of samples.
        let is_short = !too_short(subject, entry, run, detail).is_empty();
        let total = detail.integer("qsl_reported_total_count");
        let is_part = run.result().is_some_and(|record| total != Some(record.dataset_samples));
        let mut at = found.at(&run.place);
        let measures = run.is_performance() && detail.mode() == Some(Mode::Performance);
        if let Some(scenario) = detail.scenario().filter(|_| measures) {
            at.fail_each(
                ended_early(scenario, detail)
                    .or_else(|| off_schedule(scenario, detail).filter(|_| !is_short)),
            );
        }
        at.fail_each(
            wrong_loaded_set(detail).or_else(|| missing_samples(detail)).filter(|_| !is_part),
        );
        at.fail_each(scheduled_otherwise(detail));
        at.or_pass("what LoadGen generated, issued and loaded fits together");
    }
}

/// Returns a finding if LoadGen did not issue all generated queries, although no maximum number or
/// time ends the test.
fn ended_early(scenario: Scenario, detail: &DetailLog) -> Option<String> {
    if scenario == Scenario::Offline && !detail.logs_as_issued() {
        return None;
    }
    let has_end = ["effective_max_query_count", "effective_max_duration_ms"]
        .into_iter()
        .any(|key| detail.integer(key) != Some(0));
    if has_end || !matches!(scenario, Scenario::Server | Scenario::Offline) {
        return None;
    }
    let generated = detail.integer("generated_query_count")?;
    let issued = detail.integer("result_query_count")?;
    (generated != issued).then(|| {
        format!(
            "result_query_count is {issued}, and generated_query_count {generated}: submit the log as LoadGen wrote it"
        )
    })
}

/// Returns a finding if the number of queries in Server's schedule does not result from its rate
/// and its duration, or if the schedule is shorter than the target duration.
fn off_schedule(scenario: Scenario, detail: &DetailLog) -> Option<String> {
    if scenario != Scenario::Server || detail.integer("effective_max_query_count") != Some(0) {
        return None;
    }
    let seconds = detail.number("generated_query_duration")? / 1e9;
    let least = detail.number("effective_target_duration_ms")? / 1e3;
    let queries = detail.number("generated_query_count")?;
    let rate = detail.number("effective_target_qps")?;
    let wanted = rate * seconds;
    let slack = wanted * CHANCE + DEVIATIONS * wanted.sqrt();
    if seconds < least * (1.0 - 1e-6) {
        return Some(format!(
            "generated_query_duration is {seconds:.1} s, and effective_target_duration_ms requires {least:.1} s: submit the log as \
             LoadGen wrote it"
        ));
    }
    ((queries - wanted).abs() > slack).then(|| {
        format!(
            "generated_query_count is {queries}, and effective_target_qps gives {wanted:.0} in generated_query_duration: \
             submit the log as LoadGen wrote it"
        )
    })
}

/// Returns a finding if an accuracy run did not load every sample of the data set, or did not issue
/// each loaded sample.
fn missing_samples(detail: &DetailLog) -> Option<String> {
    if detail.mode() != Some(Mode::Accuracy) {
        return None;
    }
    let as_written = "submit the log as LoadGen wrote it";
    let expected = detail.accuracy_samples()?;
    let sets = detail.all("loaded_qsl_set").map(|set| set.as_array());
    let sets: Vec<_> = sets.collect::<Option<Vec<_>>>()?;
    let count: usize = sets.iter().map(|set| set.len()).sum();
    let loaded: BTreeSet<_> = sets.into_iter().flatten().filter_map(|one| one.as_u64()).collect();
    if loaded.len() as u64 != expected {
        return Some(format!(
            "loaded_qsl_set has {} samples in all, and the accuracy run has {expected}: {as_written}",
            loaded.len()
        ));
    }
    let scenario = detail.scenario()?;
    // In MultiStream, LoadGen pads a set with its own first samples.
    if scenario == Scenario::MultiStream
        || (scenario == Scenario::Offline && !detail.logs_as_issued())
    {
        return None;
    }
    let numbers =
        |key: &str| detail.all(key).map(|number| number.as_u64()).collect::<Option<Vec<_>>>();
    let queries = numbers("generated_query_count")?.into_iter();
    let each = numbers("generated_samples_per_query")?.into_iter();
    let issued = queries.zip(each).map(|(queries, each)| queries.saturating_mul(each));
    let issued = issued.fold(0, u64::saturating_add);
    (issued != count as u64).then(|| {
        format!(
            "generated_query_count and generated_samples_per_query give {issued} samples, and {count} were loaded: {as_written}"
        )
    })
}

/// Returns a finding if the schedule of Offline, which has one query, does not last for the time
/// that the rate gives for one query.
fn scheduled_otherwise(detail: &DetailLog) -> Option<String> {
    if detail.scenario() != Some(Scenario::Offline) || !detail.logs_as_issued() {
        return None;
    }
    let logged = detail.number("generated_query_duration")?;
    let rate = detail.number("effective_target_qps").filter(|rate| *rate > 0.0)?;
    let expected = 1e9 / rate;
    ((logged - expected).abs() > 2.0 + expected * 1e-4).then(|| {
        format!(
            "generated_query_duration is {logged}, and effective_target_qps gives {expected:.0} ns: submit the log as \
             LoadGen wrote it"
        )
    })
}

/// Returns a finding if a set of samples has the wrong size, contains a sample outside the data
/// set, or contains a sample twice. In MultiStream, LoadGen pads a set with its own first samples,
/// so that size and repetitions are not judged.
fn wrong_loaded_set(detail: &DetailLog) -> Option<String> {
    let total = detail.integer("qsl_reported_total_count")?;
    for set in detail.all("loaded_qsl_set") {
        let samples: Option<Vec<_>> =
            set.as_array()?.iter().map(|sample| sample.as_u64()).collect();
        let samples = samples?;
        let distinct: BTreeSet<_> = samples.iter().collect();
        let expected = detail.integer("effective_performance_sample_count")?.min(total);
        let is_filled_up = detail.scenario() == Some(Scenario::MultiStream);
        if detail.mode() == Some(Mode::Performance)
            && !is_filled_up
            && samples.len() as u64 != expected
        {
            return Some(format!(
                "loaded_qsl_set has {} samples, and effective_performance_sample_count gives {expected}: submit the log as LoadGen \
                 wrote it",
                samples.len()
            ));
        }
        if let Some(beyond) = samples.iter().find(|sample| **sample >= total) {
            return Some(format!(
                "loaded_qsl_set has sample {beyond}, and qsl_reported_total_count is {total}: submit the log as LoadGen wrote it"
            ));
        }
        if distinct.len() < samples.len() && !is_filled_up {
            return Some(
                "loaded_qsl_set has a sample twice: submit the log as LoadGen wrote it".into(),
            );
        }
    }
    None
}
