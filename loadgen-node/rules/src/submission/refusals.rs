//! What the check of a tree under way found. Its maker knows run folders, not the files made of them: a finding about such a
//! file names the run folder.

use std::path::Path;

use crate::{
    Grouped, Outcome, Rule,
    check::{Report, UNJUDGED},
    grouped::lines,
};

/// Rules about the machines. What is not known of them is refused, too: the operator states it in a machine's evidence file
/// and runs again.
const MACHINES: [Rule; 4] = [Rule::N20, Rule::N22, Rule::N24, Rule::N29];

/// What N38 concludes from the other findings.
const CONCLUSION: Rule = Rule::N38;

/// What is asked of two submissions.
const COMPARISON: Rule = Rule::N37;

/// The findings about a tree that is being made.
pub(super) struct Refusals<'a> {
    pub(super) report: &'a Report,
    /// The folder that was checked.
    pub(super) part: &'a Path,
    /// The submitter's folder in it.
    pub(super) home: &'a str,
    /// Folders and files of the tree, each with the run folder that it was made of.
    pub(super) runs: &'a [(String, String)],
}

impl Refusals<'_> {
    /// All that stands against the submission.
    pub(super) fn refused(&self, is_open: bool) -> Vec<String> {
        self.told(self.standing(is_open))
    }

    /// The same, of what is about runs.
    pub(super) fn of_runs(&self, is_open: bool) -> Vec<String> {
        let is_of_run = |finding: &&Grouped| finding.places.iter().any(|place| self.is_run(place));
        self.told(self.standing(is_open).filter(is_of_run))
    }

    /// All that cannot be told of a submission outside of the Open division and does not stand against it.
    pub(super) fn open(&self) -> Vec<String> {
        let is_open = |finding: &&Grouped| {
            let is_asked = ![CONCLUSION, COMPARISON].contains(&finding.rule);
            finding.outcome == Outcome::CannotTell && is_asked && !self.stands(finding, false)
        };
        self.told(self.report.findings().filter(is_open))
    }

    /// All rules of its division that are not kept, with places in the tree; for the Open division, those that it waives.
    pub(super) fn noted(&self, is_open: bool) -> Vec<Grouped> {
        let waived = self.report.waived().filter(|_| is_open);
        let mut noted: Vec<_> = self.standing(false).chain(waived).cloned().collect();
        noted.sort_by_key(|finding| finding.rule);
        for finding in &mut noted {
            finding.text = finding.text.replace(&self.prefix(), "");
        }
        noted
    }

    fn standing(&self, is_open: bool) -> impl Iterator<Item = &Grouped> {
        self.report.findings().filter(move |finding| self.stands(finding, is_open))
    }

    fn stands(&self, finding: &Grouped, is_open: bool) -> bool {
        match finding.outcome {
            Outcome::Pass => false,
            Outcome::Fail => finding.rule != CONCLUSION || !finding.places.is_empty(),
            Outcome::CannotTell => {
                let of_run = finding.places.iter().any(|place| self.is_run(place));
                let follows = finding.text.starts_with(UNJUDGED);
                !is_open && MACHINES.contains(&finding.rule) && of_run && !follows
            }
        }
    }

    fn is_run(&self, place: &str) -> bool {
        self.runs.iter().any(|(path, _)| within(place, path).is_some())
    }

    /// Lines about the run folders.
    fn told<'f>(&self, findings: impl Iterator<Item = &'f Grouped>) -> Vec<String> {
        let findings: Vec<_> =
            findings.map(|finding| self.of_run_folders(finding.clone())).collect();
        lines(&findings, &format!("{}/", self.home))
    }

    fn of_run_folders(&self, mut finding: Grouped) -> Grouped {
        let named = |place: &String| {
            let run = self.runs.iter().find_map(|(path, run)| Some((within(place, path)?, run)));
            run.map_or_else(|| place.clone(), |(rest, run)| format!("{run}{rest}"))
        };
        let mut places: Vec<String> = Vec::new();
        for place in finding.places.iter().map(named) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        finding.places = places;
        finding.text = finding.text.replace(&self.prefix(), "");
        for (path, run) in self.runs {
            finding.text = finding.text.replace(path, run);
        }
        finding
    }

    fn prefix(&self) -> String {
        format!("{}/", self.part.display())
    }
}

/// What of a place is below that path.
fn within<'a>(place: &'a str, path: &str) -> Option<&'a str> {
    place.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
