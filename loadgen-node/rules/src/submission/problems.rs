//! What is wrong with a submission, collected until all of it is known.

use crate::{
    Finding, Grouped, Rule,
    grouped::{by_reason, grouped},
};

/// Faults and findings.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// What must be mended, whatever the submission is for.
    faults: Vec<String>,
    /// What no division accepts.
    invalid: Vec<Finding>,
    /// What the Network division does not accept.
    broken: Vec<Finding>,
}

impl Problems {
    /// Something must be mended; the text says what to do.
    pub(super) fn fault(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.faults.contains(&text) {
            self.faults.push(text);
        }
    }

    /// A run is not valid, for any division.
    pub(super) fn invalid(&mut self, rule: u8, place: &str, text: impl Into<String>) {
        push(&mut self.invalid, Finding::fail(Rule::new(rule), place, text));
    }

    /// A rule of the Network division is broken.
    pub(super) fn broken(&mut self, rule: u8, place: &str, text: impl Into<String>) {
        push(&mut self.broken, Finding::fail(Rule::new(rule), place, text));
    }

    /// Findings of a run about itself.
    pub(super) fn found<'a>(
        &mut self,
        place: &str,
        findings: impl IntoIterator<Item = &'a Finding>,
    ) {
        for finding in by_reason(findings) {
            self.told(Finding { place: place.into(), ..finding });
        }
    }

    /// A rule of the Network division is broken, or it cannot be told.
    pub(super) fn told(&mut self, finding: Finding) {
        push(&mut self.broken, finding);
    }

    /// The text, or a fault that says what to write.
    pub(super) fn need<'a>(&mut self, value: &'a Option<String>, what: &str) -> &'a str {
        match value.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => text,
            _ => {
                self.fault(what);
                ""
            }
        }
    }

    /// What is to be written down with the submission; or everything that stands against it.
    pub(super) fn settle(self, open: bool, rehearsal: bool) -> Result<Vec<Grouped>, Vec<String>> {
        let Self { faults, invalid, broken } = self;
        let mut stopping = faults;
        let mut noted = Vec::new();
        for (findings, is_allowed) in [(invalid, rehearsal), (broken, rehearsal || open)] {
            match is_allowed {
                true => noted.extend(findings),
                false => stopping.extend(by_rule(&findings).iter().map(|group| group.brief(""))),
            }
        }
        if stopping.is_empty() { Ok(by_rule(&noted)) } else { Err(stopping) }
    }
}

/// Each thing once, in the order of the rules.
fn by_rule(findings: &[Finding]) -> Vec<Grouped> {
    let mut groups = grouped(findings);
    groups.sort_by_key(|group| group.rule);
    groups
}

fn push(list: &mut Vec<Finding>, finding: Finding) {
    if !list.contains(&finding) {
        list.push(finding);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_against_a_submission_depends_on_what_it_is_for() {
        let problems = || {
            let mut problems = Problems::default();
            problems.invalid(33, "a", "INVALID");
            problems.broken(5, "b", "loopback");
            problems
        };
        assert_eq!(problems().settle(false, false).unwrap_err().len(), 2);
        let open = problems().settle(true, false).unwrap_err();
        assert_eq!(open, ["N33 (section 5.1): a: INVALID"]);
        assert_eq!(problems().settle(false, true).unwrap().len(), 2);
        let mut faulty = problems();
        faulty.fault("no submitter");
        faulty.fault("no submitter");
        assert_eq!(faulty.settle(true, true).unwrap_err(), ["no submitter"]);
    }
}
