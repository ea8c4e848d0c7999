//! The shorter documents: rehearsal, reason for the Open division, compression, power and
//! retraining.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    gap::Problems,
    markdown::table,
    result_files::retraining_tag,
    submission_toml::{Retrained, Retraining, SubmissionSettings},
};
use crate::{Division, GroupedFinding, tree::documents as names};

/// Generates `REHEARSAL.md`. Returns its name and its text.
pub(crate) fn rehearsal(findings: &[GroupedFinding]) -> (&'static str, String) {
    let mut text =
        "# A rehearsal: do not submit this\n\nThis folder was made to try things out. ".to_owned();
    if findings.is_empty() {
        text += "No finding prevents a submission.\n";
    } else {
        text += "Findings that prevent a submission:\n\n";
        list(&mut text, findings);
    }
    (names::REHEARSAL, text)
}

/// Heading of `why-open.md`. A document with this heading lists the violated rules.
pub(crate) const WHY_OPEN: &str = "# Why this is in the Open division";

/// Generates `why-open.md` (N38). Returns its name and its text. `rehearsed` are the names of the
/// runs that were rehearsals, `open` the names of the runs that were made for the Open division.
/// Without `findings` the document is a draft.
pub(crate) fn why_open(
    settings: &SubmissionSettings,
    rehearsed: &[String],
    open: &[String],
    findings: Option<&[GroupedFinding]>,
) -> (&'static str, String) {
    let reason = settings.reason.as_deref().unwrap_or_default();
    let heading = if findings.is_some() { WHY_OPEN } else { "" };
    let mut text = format!("{heading}\n\n{}\n", reason.trim());
    if !rehearsed.is_empty() {
        let _ = writeln!(
            text,
            "\nThese runs were rehearsals for another division: they were made with --rehearsal, although they violate its \
             rules. {}.",
            rehearsed.join(", ")
        );
    }
    if !open.is_empty() {
        let open = open.join(", ");
        let _ = writeln!(text, "\nThese runs were made for the Open division (N38): {open}.");
    }
    if let Some(findings) = findings.filter(|findings| !findings.is_empty()) {
        text += "\nRules of the Network division (section 6.2) that it violates:\n\n";
        list(&mut text, findings);
    }
    (names::WHY_OPEN, text)
}

fn list(text: &mut String, findings: &[GroupedFinding]) {
    for finding in findings {
        let _ = writeln!(text, "- {finding}");
    }
}

/// Generates `compression.md` (N25).
pub(crate) fn compression(encodings: &[&str], approval: &str) -> String {
    format!(
        "# Compression of samples\n\nSamples were sent with {}, each separately (rules, section 6.2.4). The Query Sample \
         Library encodes them before the run; the SUT decodes them in the timed part.\n\nApproval: {}\n",
        encodings.join(" and "),
        approval.trim()
    )
}

pub(crate) fn power(text: &str) -> String {
    format!("# Power\n\n{}\n", text.trim())
}

/// Generates `retraining.md` (retraining rules v0.7, section 10).
pub(crate) fn retraining(tag: &Retraining) -> String {
    let Value::Object(fields) = retraining_tag(tag) else { return String::new() };
    let rows = fields.into_iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        [key, value]
    });
    "# The retrained model\n\nThe report that section 10 of the retraining rules requires. The cost metric is the product of both \
     fractions.\n\n"
        .to_owned()
        + &table(["", ""], rows)
}

/// Checks that the retraining settings are complete, and that the division permits retraining.
pub(super) fn check_retraining(settings: &SubmissionSettings, problems: &mut Problems) {
    let retrained = settings.results.iter().any(|result| result.retraining == Retrained::Yes);
    let open = settings.division == Some(Division::Open);
    if retrained && !open {
        problems.fault("retraining is for the Open division (retraining rules, section 1); write division = \"open\"");
    }
    let Some(tag) = &settings.retraining else {
        if retrained {
            problems.fault("a result is retrained; add [retraining] with the values that section 10 of the retraining rules requires");
        }
        return;
    };
    if !retrained {
        problems.fault(
            "[retraining]: no result is retrained; write retraining = \"Yes\" in its [[result]]",
        );
    }
    if !open {
        problems.fault(
            "[retraining] is for the Open division; remove it, or write division = \"open\"",
        );
    }
    let Retraining {
        retraining_data_fraction: data,
        retraining_epoch_fraction: epochs,
        non_zero_parameters: parameters,
        model_size_bytes: bytes,
        numerics,
        quantization,
    } = tag;
    for (key, fraction) in
        [("retraining_data_fraction", data), ("retraining_epoch_fraction", epochs)]
    {
        // The cost metric is the product of both fractions, and is then at most the permitted 1.
        if !fraction.is_some_and(|fraction| 0.0 < fraction && fraction <= 1.0) {
            problems.fault(format!("[retraining] {key}: write a number above 0, and at most 1"));
        }
    }
    for (key, number) in [("non_zero_parameters", parameters), ("model_size_bytes", bytes)] {
        if number.is_none_or(|number| number == 0) {
            problems.fault(format!("[retraining] {key}: write a number above 0"));
        }
    }
    problems.need(numerics, "[retraining] numerics: write the number formats, such as \"int8\"");
    problems.need(
        quantization,
        "[retraining] quantization: describe it so that others can do the same",
    );
}
