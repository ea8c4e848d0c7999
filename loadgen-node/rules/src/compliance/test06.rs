//! TEST06: the responses of a language model are consistent.

use std::path::Path;

use super::{
    element::{Element, Number},
    part::{ComplianceError, Part, STRICTER_SUFFIX},
};
use crate::{Scenario, book::Benchmark, facts::official_log::for_each_entry};

/// Number of responses in the test: its `audit.config` requests this number of queries and logs all
/// of them.
pub(super) const RESPONSES: u64 = 100;

/// End-of-response token in the official script: the token of Llama 2 and Mixtral.
const OFFICIAL_END: [i64; 1] = [2];

/// End-of-response tokens by prefix of the benchmark's name, for models other than Llama 2 and
/// Mixtral (from the models' `generation_config.json`). The tokens of Llama 3.1 end the text, a
/// message, or a turn.
const ENDS: [(&str, &[i64]); 2] = [("llama3", &[128_001, 128_008, 128_009]), ("deepseek-r1", &[1])];

/// Requirements that decide the result of a check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Requirements {
    Script,
    /// Requirements of netdiv, which are stricter.
    Netdiv,
}

/// Counters of a check. TEST06 checks the first token, the end and the length of each response.
#[derive(Default)]
struct Check {
    /// Number of responses that fail by the official script.
    bad: u64,
    /// Number of responses that pass by the official script but fail by netdiv's requirements.
    bad_for_us: u64,
}

impl Check {
    fn count(&mut self, official: bool, ours: bool) {
        self.bad += u64::from(!official);
        self.bad_for_us += u64::from(official && !ours);
    }

    /// Returns `True` or `False`, which the official checker reads, by the requirements `by`.
    /// Netdiv's requirements include those of the script.
    fn word(&self, by: Requirements) -> &'static str {
        let bad = match by {
            Requirements::Script => self.bad,
            Requirements::Netdiv => self.bad + self.bad_for_us,
        };
        if bad == 0 { "True" } else { "False" }
    }
}

/// Verifies the responses in an accuracy log. Returns the findings, and the text of
/// `verify_accuracy.txt` with the result by the requirements `by`.
pub(super) fn verify(
    log: &Path,
    scenario: Scenario,
    benchmark: &Benchmark,
    element: Element,
    by: Requirements,
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
            // LoadGen logs the whole first response of a sample, which may have several tokens.
            let is_reported = start.as_ref().is_some_and(|start| !start.is_empty());
            first.count(start.as_ref().is_some_and(alike), is_reported);
        }
        Ok(())
    })?;
    if responses == 0 {
        return Err(ComplianceError::new(log, format!("no response was logged {STRICTER_SUFFIX}")));
    }

    let mut part = Part::default();
    let reasons = [
        (
            &first,
            "do not begin with the reported token, or no token was reported",
            "have an empty first token",
        ),
        (&end, "end with the token 2 twice", "end with two tokens that end a response"),
        (&length, "do not have the reported number of tokens", "have no token"),
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
            .push(format!("{responses} responses were logged; the test requires {RESPONSES}"));
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
    lines.extend(part.stricter.iter().map(|why| format!("{why} {STRICTER_SUFFIX}")));
    let text = lines.join("\n") + "\n";
    Ok((part, text))
}

/// Returns true if the last two tokens both end a response.
fn ends_twice(tokens: &[Number], ends: &[i64]) -> bool {
    let mut last = tokens.iter().rev().take(2);
    let is_end = |token: &Number| ends.iter().any(|end| token.is(*end));
    tokens.len() >= 2 && last.all(is_end)
}
