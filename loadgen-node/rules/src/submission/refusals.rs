//! Findings of the check of a tree in progress. The submitter knows run folders, not the files made
//! from them, so a finding about such a file names the run folder.

use std::path::Path;

use crate::{
    GroupedFinding, Outcome, Rule,
    book::Table,
    check::{Options, Report, UNJUDGED, check},
    drafting::{folder::FileTree, gap::Gap, submission_toml::SubmissionSettings},
    grouping::lines,
    record::RunResult,
    tree::ACCURACY_TXT,
};

/// Rules about the machines. Gaps in the evidence for them prevent a submission, too: the operator
/// states the value in a machine's evidence file and runs again.
const MACHINES: [Rule; 4] = [Rule::N20, Rule::N22, Rule::N24, Rule::N29];

/// Rule that concludes from the other findings.
const CONCLUSION: Rule = Rule::N38;

const COMPARISON: Rule = Rule::N37;

/// Report of the check of a tree in progress, with the run folders that the tree was made from.
pub(super) struct DraftFindings<'a> {
    pub(super) report: &'a Report,
    /// Path of the unfinished tree, which was checked.
    pub(super) part: &'a Path,
    /// Path of the submitter's folder in that tree.
    pub(super) home: &'a str,
    /// Paths in the tree with their sources: the run folder or the file that each was made from.
    pub(super) runs: &'a [(String, String)],
    pub(super) tree: &'a FileTree,
}

impl DraftFindings<'_> {
    /// Lists all findings that prevent a submission. `is_open` is true for the Open division.
    pub(super) fn refused(&self, is_open: bool) -> Vec<String> {
        self.told(self.standing(is_open))
    }

    /// Like [`Self::refused`], but only for findings about runs, and without those that follow from
    /// a missing accuracy.txt, which the gaps name.
    pub(super) fn of_runs(&self, is_open: bool) -> Vec<String> {
        let is_of_run = |finding: &&GroupedFinding| {
            let places = &finding.places;
            places.iter().any(|place| self.is_run(place) && !self.is_missing_accuracy(place))
        };
        self.told(self.standing(is_open).filter(is_of_run))
    }

    fn is_missing_accuracy(&self, place: &str) -> bool {
        let folder = place.strip_suffix(ACCURACY_TXT).and_then(|place| place.strip_suffix('/'));
        folder.is_some_and(|folder| self.runs.iter().any(|(path, _)| path == folder))
            && !self.tree.contains_key(place)
    }

    /// Lists the rules that cannot be judged and that do not prevent a submission outside of the
    /// Open division.
    pub(super) fn open(&self) -> Vec<String> {
        let is_open = |finding: &&GroupedFinding| {
            let is_asked = ![CONCLUSION, COMPARISON].contains(&finding.rule);
            finding.outcome == Outcome::CannotTell && is_asked && !self.stands(finding, false)
        };
        self.told(self.report.findings().filter(is_open))
    }

    /// Returns all findings against a submission in its division, with paths relative to the tree.
    /// For the Open division, adds the findings about rules that this division waives.
    pub(super) fn noted(&self, is_open: bool) -> Vec<GroupedFinding> {
        let waived = self.report.waived().filter(|_| is_open);
        let mut noted: Vec<_> = self.standing(false).chain(waived).cloned().collect();
        noted.sort_by_key(|finding| finding.rule);
        for finding in &mut noted {
            finding.text = finding.text.replace(&self.prefix(), "");
        }
        noted
    }

    fn standing(&self, is_open: bool) -> impl Iterator<Item = &GroupedFinding> {
        self.report.findings().filter(move |finding| self.stands(finding, is_open))
    }

    fn stands(&self, finding: &GroupedFinding, is_open: bool) -> bool {
        match finding.outcome {
            Outcome::Pass => false,
            Outcome::Fail => !is_conclusion(finding),
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

    /// Formats findings as lines, in which run folders replace the paths in the tree.
    fn told<'f>(&self, findings: impl Iterator<Item = &'f GroupedFinding>) -> Vec<String> {
        let findings: Vec<_> =
            findings.map(|finding| self.of_run_folders(finding.clone())).collect();
        lines(&findings, &format!("{}/", self.home))
    }

    fn of_run_folders(&self, mut finding: GroupedFinding) -> GroupedFinding {
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

/// Checks the runs that the tree lacks, because another run of their result is missing. Returns the
/// rules that each breaks. `runs` are the runs in the tree, as in [`DraftFindings`].
pub(super) fn of_single_runs(
    settings: &SubmissionSettings,
    base: &Path,
    table: &Table,
    runs: &[(String, String)],
) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let folders = settings.results.iter().flat_map(|result| {
        [&result.performance, &result.accuracy, &result.digests].into_iter().flatten()
    });
    for folder in folders {
        let (name, path) = (folder.display().to_string(), base.join(folder));
        let is_in_tree = runs.iter().any(|(_, run)| *run == name);
        if is_in_tree || !path.join(RunResult::FILE).is_file() {
            continue;
        }
        // A gap contains the reason why a folder cannot be read.
        let Ok(report) = check(&path, table, &Options::default()) else { continue };
        let is_broken =
            |finding: &&GroupedFinding| finding.outcome == Outcome::Fail && !is_conclusion(finding);
        let broken = lines(report.findings().filter(is_broken), "");
        gaps.extend(broken.into_iter().map(|text| Gap { file: Some(name.clone()), text }));
    }
    gaps
}

/// Returns true if a finding only concludes from other findings.
fn is_conclusion(finding: &GroupedFinding) -> bool {
    finding.rule == CONCLUSION && finding.places.is_empty()
}

/// Returns the part of a place that follows `path`, empty if both are equal; `None` if the place is
/// not below `path`.
fn within<'a>(place: &'a str, path: &str) -> Option<&'a str> {
    place.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
