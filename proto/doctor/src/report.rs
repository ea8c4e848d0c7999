//! The findings together, for people and as JSON.

use std::{collections::BTreeSet, fmt};

use netdiv_contract::said::said;
use serde::Serialize;

use crate::{
    facts::Facts,
    finding::{Finding, Remedy, Severity},
    needs::{Links, Needs},
};

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The program that looked, with its version.
    program: String,
    /// The machine that it runs on.
    host_name: Option<String>,
    kernel: Option<String>,
    operating_system: Option<String>,
    /// The interfaces that were judged, as they can be shown, and as they are.
    interfaces: Vec<String>,
    #[serde(skip)]
    links: Vec<String>,
    /// The gravest first.
    findings: Vec<Finding>,
    /// What could not be read, so that nothing is said of it.
    not_known: Vec<String>,
}

impl Report {
    /// Without findings yet.
    pub(crate) fn of(needs: &Needs, facts: &Facts) -> Self {
        let machine = &facts.machine;
        let up = machine.interfaces.iter().filter(|link| link.up && link.kind != "virtual");
        let links: Vec<_> = match &needs.links {
            Links::Up => up.map(|link| link.name.clone()).collect(),
            Links::Named(names) => {
                names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        Self {
            program: needs.program.clone(),
            host_name: machine.host_name.as_deref().map(said),
            kernel: machine.kernel.as_deref().map(said),
            operating_system: machine.operating_system.as_deref().map(said),
            interfaces: links.iter().map(|link| said(link)).collect(),
            links,
            findings: Vec::new(),
            not_known: Vec::new(),
        }
    }

    /// Adds what somebody else has found.
    pub fn with(mut self, findings: impl IntoIterator<Item = Finding>) -> Self {
        self.findings.extend(findings);
        self.sort();
        self
    }

    /// The findings, the gravest first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What could not be read.
    pub fn not_known(&self) -> &[String] {
        &self.not_known
    }

    /// The process's exit code: 1 if a finding is as bad as that, or worse.
    pub fn exit_code(&self, fail_on: Severity) -> u8 {
        u8::from(self.findings.iter().any(|finding| finding.severity >= fail_on))
    }

    /// The interfaces that are judged.
    pub(crate) fn links(&self) -> &[String] {
        &self.links
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Something could not be read.
    pub(crate) fn unknown(&mut self, what: impl Into<String>) {
        let what = said(&what.into());
        if !self.not_known.contains(&what) {
            self.not_known.push(what);
        }
    }

    pub(crate) fn sort(&mut self) {
        // Findings of one severity stay in the order in which they were made.
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = [&self.host_name, &self.kernel, &self.operating_system];
        let machine: Vec<_> = machine.into_iter().flatten().map(String::as_str).collect();
        writeln!(f, "{} on {}", self.program, machine.join(", "))?;
        for finding in &self.findings {
            let severity: &str = finding.severity.into();
            writeln!(f, "\n{severity}: {} ({})", finding.id.word(), finding.about)?;
            writeln!(f, "  seen  {}", finding.seen.trim_end().replace('\n', "\n        "))?;
            writeln!(f, "  cost  {}", finding.cost)?;
            match &finding.remedy {
                Remedy::Command(command) => writeln!(f, "  run   {command}")?,
                Remedy::Advice(advice) => writeln!(f, "  do    {advice}")?,
            }
        }
        if !self.not_known.is_empty() {
            writeln!(f, "\nnot known: {}", self.not_known.join("; "))?;
        }
        let of = |severity, word: &str| match self.count(severity) {
            1 => format!("1 {word}"),
            count => format!("{count} {word}s"),
        };
        write!(
            f,
            "\n{}, {}, {}",
            of(Severity::Problem, "problem"),
            of(Severity::Warning, "warning"),
            of(Severity::Note, "note")
        )
    }
}
