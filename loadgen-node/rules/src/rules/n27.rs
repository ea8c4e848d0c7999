//! N27: the interfaces carry the bandwidth that Appendix B requires at the measured throughput
//! (rules, section 5.1).

use super::{
    document_diff,
    regeneration::{AcceptableTexts, report_on_bandwidth, unknown_bandwidths},
};
use crate::{
    facts::rate::format_rate,
    judge::bandwidth::Demand,
    subject::{Findings, NO_BENCHMARK, Subject, list_first, runs_with_evidence},
    tree::documents,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let described: Vec<_> = runs_with_evidence(subject, found);
    for (entry, run) in subject.runs() {
        if !run.kind.is_submitted() {
            continue;
        }
        let Some(benchmark) = entry.benchmark else {
            found.unknown(&run.place, NO_BENCHMARK);
            continue;
        };
        let Some(seen) = described.iter().find(|seen| seen.place == run.record_place) else {
            continue;
        };
        let Some(detail) = run.detail() else { continue };
        let Some(rate) = entry.scenario.and_then(|scenario| detail.throughput(scenario)) else {
            found.unknown(&run.place, "LoadGen's log has no throughput");
            continue;
        };
        let demand = Demand::of(benchmark, seen.record, seen.evidence, rate);
        let mut at = found.at(&run.record_place);
        for end in demand.ends.iter().filter(|end| end.is_met() != Some(true)) {
            let who = &end.who;
            match end.capacity {
                Some(capacity) => at.fail(format!(
                    "{rate:.1} samples/s of {} need {} at {who}, whose interfaces have {}",
                    demand.formula(),
                    format_rate(end.asked),
                    format_rate(capacity)
                )),
                None => at.unknown(format!(
                    "the speed of the interfaces of {who} is not known: state it in the machine's evidence file and run \
                     again"
                )),
            }
        }
        at.or_pass("the interfaces at both ends carry what Appendix B requires");
    }
    document(subject, found);
}

fn document(subject: &Subject, found: &mut Findings) {
    let text = "the report on the bandwidth";
    let Some(tree) = found.own_tree(subject, text) else { return };
    let place = tree.home.document(documents::BANDWIDTH);
    let mut at = found.at(&place);
    let Some(text) = tree.document(documents::BANDWIDTH) else {
        return at.fail("is missing or empty: compare the interfaces with Appendix B in it");
    };
    let ours = match report_on_bandwidth(subject) {
        Ok(ours) => ours,
        Err(why) => {
            return at.unknown(format!(
                "its figures cannot be computed again: {why}; compare them by hand"
            ));
        }
    };
    let unknown = unknown_bandwidths(subject);
    let unexplained: Vec<_> =
        unknown.iter().filter(|(_, is_set_aside)| !is_set_aside).map(|(name, _)| name).collect();
    if !unexplained.is_empty() {
        at.unknown(format!(
            "the figures of {} cannot be computed again, which requires a performance run with evidence and a benchmark of \
             the table; compare them by hand",
            list_first(&unexplained)
        ));
    }
    let unknown: Vec<_> = unknown.iter().map(|(name, _)| name.as_str()).collect();
    let names = subject.results.iter().map(|entry| entry.name.as_str());
    let [ours, text] = [ours, text].map(|text| without(&text, &unknown));
    let ours = AcceptableTexts { texts: vec![&ours], are_all: true };
    document_diff::compare(&mut at, &place, &text, &ours, names);
    at.or_pass("its figures are those of the runs");
}

/// Returns a Markdown text without its second-level sections whose heading is in `headings`.
fn without(text: &str, headings: &[&str]) -> String {
    let sections = text.split("\n## ");
    let is_kept = |section: &&str| !section.lines().next().is_some_and(|it| headings.contains(&it));
    sections.filter(is_kept).map(str::trim_end).collect::<Vec<_>>().join("\n\n## ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::AllFindings;
    use crate::{Outcome, Rule, book::Table, fixture::submission_tree, subject::read};

    /// Returns the outcomes of N27 for the report, after `change` has changed the subject and `to`
    /// has replaced `from` in the report.
    fn said(change: impl FnOnce(&mut Subject), from: &str, to: &str) -> Vec<Outcome> {
        let folder = tempfile::tempdir().unwrap();
        let root = submission_tree(folder.path(), "network", "v5.0");
        let mut subjects = read::all(&root, Table::builtin().unwrap(), None).unwrap();
        let subject = &mut subjects[0];
        change(subject);
        let tree = subject.tree.as_ref().unwrap();
        let report = tree.path(&tree.home.document(documents::BANDWIDTH));
        let text = std::fs::read_to_string(&report).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(report, text.replacen(from, to, 1)).unwrap();
        let mut found = AllFindings::default();
        document(subject, &mut found.of(Rule::N27));
        let said = found.into_grouped().into_iter().filter(|finding| finding.rule == Rule::N27);
        said.map(|finding| finding.outcome).collect()
    }

    fn forget_evidence(subject: &mut Subject) {
        for run in &mut subject.results[0].runs {
            if let Some(Ok(record)) = &mut run.record {
                record.evidence = None;
            }
        }
    }

    #[test]
    fn what_cannot_be_computed_again_is_not_passed() {
        use Outcome::{CannotTell, Fail, Pass};
        let (first, other) = ("## resnet50 Offline\n\n", "## resnet50 Server\n\n");
        let lie = |heading: &str| format!("{heading}9 Gb/s\n");
        assert_eq!(said(|_| {}, "", ""), [Pass]);
        assert_eq!(said(|_| {}, first, &lie(first)), [Fail]);
        assert_eq!(said(forget_evidence, "", ""), [CannotTell]);
        assert_eq!(said(forget_evidence, first, &lie(first)), [CannotTell]);
        assert_eq!(said(forget_evidence, other, &lie(other)), [Fail, CannotTell]);
        assert_eq!(said(|subject| subject.systems.clear(), "", ""), [CannotTell]);
        assert_eq!(said(|subject| subject.results.clear(), "", ""), [CannotTell]);
    }
}
