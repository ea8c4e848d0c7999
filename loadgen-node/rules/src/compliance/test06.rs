//! TEST06: the responses of a language model are consistent.

use std::path::Path;

use super::{
    element::{Element, Number},
    error::ComplianceError,
    part::{BEYOND, Part},
};
use crate::{Scenario, book::Benchmark, facts::official_log::for_each_entry};

/// Responses that the test is of: as many queries as its `audit.config` asks for, and all of them are logged.
pub(super) const RESPONSES: u64 = 100;

/// What the official script takes for the end of a response: Llama 2's and Mixtral's token.
const OFFICIAL_END: [i64; 1] = [2];

/// Tokens that end a response of other models, by how the benchmark's name begins. Llama 3.1: the end of the text, of a
/// message, of a turn (`generation_config.json` of the model; so DeepSeek-R1's).
const ENDS: [(&str, &[i64]); 2] = [("llama3", &[128_001, 128_008, 128_009]), ("deepseek-r1", &[1])];

/// Whose requirements decide what a check says.
#[derive(Debug, Clone, Copy)]
pub(super) enum By {
    /// Faults by the official script.
    Script,
    /// Faults by this program, which asks for more.
    Netdiv,
}

/// One of the three checks.
#[derive(Default)]
struct Check {
    /// Responses that the official script fails.
    bad: u64,
    /// More that we fail.
    bad_for_us: u64,
}

impl Check {
    fn count(&mut self, official: bool, ours: bool) {
        self.bad += u64::from(!official);
        self.bad_for_us += u64::from(official && !ours);
    }

    /// As the official checker reads it: by its own script, or by ours too.
    fn word(&self, by: By) -> &'static str {
        let bad = match by {
            By::Script => self.bad,
            By::Netdiv => self.bad + self.bad_for_us,
        };
        if bad == 0 { "True" } else { "False" }
    }
}

/// Verifies the responses, and writes `verify_accuracy.txt`.
pub(super) fn verify(
    log: &Path,
    scenario: Scenario,
    benchmark: &Benchmark,
    element: Element,
    by: By,
) -> Result<(Part, String), ComplianceError> {
    let ends = ENDS.into_iter().find(|(name, _)| benchmark.name.starts_with(name));
    let ends = ends.map_or(&OFFICIAL_END[..], |(_, ends)| ends);
    let (mut responses, mut first, mut end, mut length) =
        (0_u64, Check::default(), Check::default(), Check::default());
    for_each_entry(log, |entry| {
        responses += 1;
        let tokens = element.numbers(&entry.response()?)?;
        end.count(
            tokens.len() < 3 || !ends_twice(&tokens, &OFFICIAL_END),
            !ends_twice(&tokens, ends),
        );
        length.count(tokens.len() as u64 == entry.integer("token_count")?, !tokens.is_empty());
        if scenario != Scenario::Offline {
            let start =
                entry.bytes("token_data")?.map(|bytes| element.numbers(&bytes)).transpose()?;
            let alike = |start: &Vec<Number>| start.iter().zip(&tokens).all(|(a, b)| a == b);
            // LoadGen keeps the whole first response of a sample, which may have several tokens.
            let is_reported = start.as_ref().is_some_and(|start| !start.is_empty());
            first.count(start.as_ref().is_some_and(alike), is_reported);
        }
        Ok(())
    })?;
    if responses == 0 {
        return Err(ComplianceError::new(log, format!("no response was logged {BEYOND}")));
    }

    let mut part = Part::default();
    let reasons = [
        (
            &first,
            "do not begin with the reported token, or none was reported",
            "have an empty first token",
        ),
        (&end, "end with the token 2 twice", "end with two tokens that end a response"),
        (&length, "have another number of tokens than was reported", "have no token"),
    ];
    for (check, official, ours) in reasons {
        if check.bad > 0 {
            part.problems.push(format!("{} of {responses} responses {official}", check.bad));
        }
        if check.bad_for_us > 0 {
            part.stricter.push(format!("{} of {responses} responses {ours}", check.bad_for_us));
        }
    }
    if responses < RESPONSES {
        part.stricter
            .push(format!("{responses} responses were logged, and the test is of {RESPONSES}"));
    }
    let first = if scenario == Scenario::Offline { "Skipped" } else { first.word(by) };
    part.figures = vec![
        format!("First token check pass: {first}"),
        format!("EOS check pass: {}", end.word(by)),
        format!("Sample length check pass: {}", length.word(by)),
    ];
    let verdict = if part.passed() { "complete" } else { "failed" };
    let mut lines = part.figures.clone();
    lines.push(format!("TEST06 verification {verdict}"));
    lines.extend(part.problems.iter().cloned());
    lines.extend(part.stricter.iter().map(|why| format!("{why} {BEYOND}")));
    let text = lines.join("\n") + "\n";
    Ok((part, text))
}

/// Whether the last two tokens both end a response.
fn ends_twice(tokens: &[Number], ends: &[i64]) -> bool {
    let mut last = tokens.iter().rev().take(2);
    let is_end = |token: &Number| ends.iter().any(|end| token.is(*end));
    tokens.len() >= 2 && last.all(is_end)
}
