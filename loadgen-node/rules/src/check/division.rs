//! N38: what does not conform goes to the Open division (rules, section 6.2).

use super::{checked_folder::Subject, findings::Findings};
use crate::{Outcome, Rule, grouped::by_reason, result::Division, tree::documents};

const N37: Rule = Rule::new(37);
const N38: Rule = Rule::new(38);

/// Judged last: it is about what the other rules found.
pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    match subject.division {
        Division::Open => open(subject, found),
        Division::Network | Division::Exploratory => conforming(subject, found),
    }
}

fn open(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else {
        return found.pass(N38, "", "the run was made for the Open division");
    };
    let place = tree.home.document(documents::WHY_OPEN);
    match tree.text(&place) {
        Some(text) => rehearsed(subject, &place, &text, found),
        None => {
            let text = "is missing or empty: say why the submission is not in the Network division";
            found.fail(N38, place, text);
        }
    }
}

/// A submission with rehearsals for the Network division says so.
fn rehearsed(subject: &Subject, place: &str, why: &str, found: &mut Findings) {
    let rehearsals = subject.records().filter(|(_, record)| record.rehearsal).count();
    let text = match rehearsals {
        0 => "it is in the Open division, and says why".to_owned(),
        count if why.to_lowercase().contains("rehearsal") => format!(
            "it is in the Open division, and says why; {count} runs were rehearsals for the Network division, which it \
             says, too"
        ),
        count => {
            let text = format!(
                "{count} runs were rehearsals for the Network division, and this does not say so: say it, or run again \
                 without --rehearsal"
            );
            return found.fail(N38, place, text);
        }
    };
    found.pass(N38, place, text);
}

fn conforming(subject: &Subject, found: &mut Findings) {
    let before = found.problems(N38);
    for (run, record) in subject.records() {
        let place = &run.record_place;
        match record.division {
            Division::Network => {}
            Division::Open => {
                let text = "the run was made for the Open division: it belongs there";
                found.fail(N38, place, text);
            }
            Division::Exploratory => {
                let text = "the run was exploratory, and is no result: run again with --division \
                            network";
                found.fail(N38, place, text);
            }
        }
        if record.rehearsal {
            found.fail(N38, place, "the run was a rehearsal: run again without --rehearsal");
        }
        let broken = record.findings.iter().filter(|finding| finding.outcome == Outcome::Fail);
        for finding in by_reason(broken) {
            let text = format!("the run itself found before it began: {finding}");
            found.fail(N38, place, text);
        }
    }
    if let Some(tree) = &subject.tree {
        let place = tree.home.document(documents::REHEARSAL);
        if tree.path(&place).exists() {
            found.fail(N38, place, "the submission was made as a rehearsal: make it again without");
        }
    }
    let broken: Vec<_> = found
        .broken()
        .into_iter()
        .filter(|rule| *rule != N38)
        .map(|rule| rule.to_string())
        .collect();
    if !broken.is_empty() {
        let text = format!(
            "it belongs to the Open division as long as {} broken",
            match broken.as_slice() {
                [one] => format!("{one} is"),
                more => format!("{} are", more.join(", ")),
            }
        );
        found.fail(N38, "", text);
    }
    // N37 needs a second submission, which is optional.
    let unknown = found.unknown_rules().into_iter().filter(|rule| ![N37, N38].contains(rule));
    let unknown: Vec<_> = unknown.map(|rule| rule.to_string()).collect();
    if subject.tree.is_some() && found.problems(N38) == before && !unknown.is_empty() {
        let unknown = unknown.join(", ");
        let text =
            format!("whether it conforms cannot be told as long as {unknown} cannot be told");
        found.unknown(N38, "", text);
    }
    let text = "no rule of the Network division is broken";
    found.pass_unless_more(N38, before, "", text);
}
