//! N38: a submission that does not conform belongs to the Open division (rules, section 6.2). This
//! rule is judged last, by the findings of the others.

use serde_json::json;

use crate::{
    Finding, Outcome, Rule,
    drafting::documents::WHY_OPEN,
    grouping::grouped,
    placeholder::is_placeholder,
    record::{Division, RunResult},
    subject::{Findings, PlaceJudgement, Subject},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    match subject.division {
        Division::Open => open(subject, found),
        Division::Closed => closed(subject, found),
        Division::Network | Division::Exploratory => conforming(subject, found),
    }
}

fn open(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else {
        return found.pass("", "the run was made for the Open division");
    };
    let (broken, unknown) = (found.broken(), found.unknown_rules());
    let mut at = found.at(tree.home.document(documents::WHY_OPEN));
    let Some(why) = tree.document(documents::WHY_OPEN) else {
        return at
            .fail("is missing or empty: say why the submission is not in the Closed or the Network division");
    };
    if is_placeholder(&why) {
        at.fail("has no reason below its heading: say why it is not in the Closed or the Network division");
    }
    if why.starts_with(WHY_OPEN) {
        at.fail_each(list_differences(&why, &broken, &unknown));
    }
    // A submission with rehearsals for the Network division must mention them.
    match subject.records().filter(|(_, record)| record.rehearsal).count() {
        0 => at.or_pass("it is in the Open division, and says why"),
        count if why.to_lowercase().contains("rehearsal") => at.or_pass(format!(
            "it is in the Open division, and says why; it mentions the rehearsals for another division ({count})"
        )),
        count => at.fail(format!(
            "this file does not mention the rehearsals for another division ({count}): mention them, or run again without \
             --rehearsal"
        )),
    }
}

/// Returns findings about broken rules that the list in `why`, the text of why-open.md, omits, and
/// about listed rules that are not broken. Rules that the Open division requires need not be in the
/// list, because breaking them is a violation there, too.
fn list_differences(why: &str, broken: &[Rule], unknown: &[Rule]) -> Vec<String> {
    let items = why.lines().filter_map(|line| line.strip_prefix("- N"));
    let numbers = items.map(|item| item.split(|c: char| !c.is_ascii_digit()).next());
    let said: Vec<String> = numbers.flatten().map(|number| format!("N{number}")).collect();
    let missing = broken.iter().filter(|rule| !rule.is_in_open()).map(Rule::to_string);
    let missing = missing.filter(|rule| !said.contains(rule));
    let known: Vec<_> =
        broken.iter().chain(unknown).chain(&[Rule::N38]).map(Rule::to_string).collect();
    let surplus = said.iter().filter(|rule| !known.contains(rule));
    let missing = missing.map(|rule| format!("does not list {rule}, which is broken: add it"));
    let surplus = surplus.map(|rule| format!("lists {rule}, which is not broken: remove it"));
    missing.chain(surplus).collect()
}

/// Judges the records alone. Other rules report the violations of a Closed submission without
/// records.
fn closed(subject: &Subject, found: &mut Findings) {
    let conforms = judge_records(subject, found);
    let mut at = found.at("");
    no_rehearsal(subject, &mut at);
    if conforms {
        at.or_pass("no run is a rehearsal, exploratory, or of another division");
    }
}

/// Judges the records. Returns true if all of them conform.
fn judge_records(subject: &Subject, found: &mut Findings) -> bool {
    let broken = found.broken();
    let mut conforms = true;
    for (run, record) in subject.records() {
        let mut at = found.at(&run.record_place);
        judge_record(record, subject.division, &broken, &mut at);
        conforms &= at.is_kept();
    }
    conforms
}

/// Finds a submission that was made as a rehearsal.
fn no_rehearsal(subject: &Subject, at: &mut PlaceJudgement) {
    if let Some(tree) = &subject.tree {
        let place = tree.home.document(documents::REHEARSAL);
        if tree.path(&place).exists() {
            at.fail_at(place, "the submission was made as a rehearsal: make it again without");
        }
    }
}

fn conforming(subject: &Subject, found: &mut Findings) {
    let broken = found.broken();
    // N37 needs a second submission, which is optional.
    let mut unknown = found.unknown_rules();
    unknown.retain(|rule| ![Rule::N37, Rule::N38].contains(rule));
    let conforms = judge_records(subject, found);
    let mut at = found.at("");
    no_rehearsal(subject, &mut at);
    match broken.as_slice() {
        [] => {}
        [one] => at.fail(belongs_elsewhere(&format!("{one} is"))),
        more => at.fail(belongs_elsewhere(&format!("{} are", listed(more)))),
    }
    if subject.tree.is_some() && conforms && at.is_kept() && !unknown.is_empty() {
        let unknown = listed(&unknown);
        at.unknown(format!("conformance is undecided, because {unknown} cannot be judged"));
    }
    if conforms {
        at.or_pass("no rule of the Network division is broken");
    }
}

fn belongs_elsewhere(broken: &str) -> String {
    format!("it belongs to the Open division as long as {broken} broken")
}

fn listed(rules: &[Rule]) -> String {
    rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(", ")
}

/// Requires that a run was made for the judged division, and was neither exploratory nor a
/// rehearsal. Also reports the rules that the run itself found to be broken, except those in
/// `already_broken`.
fn judge_record(
    record: &RunResult,
    judged: Division,
    already_broken: &[Rule],
    at: &mut PlaceJudgement,
) {
    let is_closed = judged == Division::Closed;
    match record.division {
        // A run for the Network division keeps every rule of Closed.
        Division::Network => {}
        Division::Closed if is_closed => {}
        Division::Closed | Division::Open => at.fail(format!(
            "the run was made for the {} division: it belongs there",
            record.division.title()
        )),
        Division::Exploratory => at.fail(format!(
            "the run was exploratory, and is not a result: run again with --division {}",
            if is_closed { Division::Closed } else { Division::Network }
        )),
    }
    if record.rehearsal {
        at.fail("the run was a rehearsal: run again without --rehearsal");
    }
    if let Some(given) = setting_difference(record) {
        at.fail(format!(
            "the run's own settings have {given}: take the record as the run wrote it"
        ));
    }
    let is_new = |finding: &&Finding| {
        let is_asked = finding.rule.is_required_in(judged);
        finding.outcome == Outcome::Fail && is_asked && !already_broken.contains(&finding.rule)
    };
    let broken = grouped(record.findings.iter().filter(is_new)).into_iter();
    at.fail_each(broken.map(|one| format!("the run itself found: {one}")));
}

/// Returns the run's setting `division` or `rehearsal` if it differs from the record.
fn setting_difference(record: &RunResult) -> Option<String> {
    let given = |key: &str| record.settings.get(key);
    let division = given("division").filter(|given| **given != json!(record.division));
    let rehearsal = given("rehearsal").filter(|given| **given != json!(record.rehearsal));
    division
        .map(|given| format!("division {given}"))
        .or_else(|| rehearsal.map(|given| format!("rehearsal {given}")))
}
