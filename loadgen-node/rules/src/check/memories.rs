//! N29: error correction in every memory (rules, section 4.1.1).

use super::{checked_folder::Subject, findings::Findings, machines::seen};
use crate::{Outcome, Rule, judge::ecc};

const N29: Rule = Rule::new(29);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N29, found) {
        let before = found.problems(N29);
        for (who, machine) in seen.machines() {
            for finding in ecc::memories(machine, &who) {
                let text = format!("{who}: {}", finding.text);
                match finding.outcome {
                    Outcome::Fail => found.fail(N29, seen.place, text),
                    _ => found.unknown(N29, seen.place, text),
                }
            }
        }
        let text = "every memory corrects errors";
        found.pass_unless_more(N29, before, seen.place, text);
    }
}
