//! Report of all findings and of the nodes that were asked, as text and as JSON.

use std::{collections::BTreeSet, fmt};

use netdiv_node_common::sanitise::sanitise;
use schemars::JsonSchema;
use serde::Serialize;

use crate::doctor::{
    data::{Fact, Remedy, Severity, unknown},
    facts::Facts,
    finding::{Draft, Finding},
    needs::{LinkSelection, Needs},
};

/// Sample that was sent to every node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SentSample {
    /// Name of the data set.
    pub dataset: String,
    /// Tensors of a sample, if it has any.
    pub holds: Option<String>,
    /// Index of the sample.
    pub index: usize,
    /// Length of the encoded sample, in bytes.
    pub bytes: usize,
}

/// Node that was asked over the network.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AskedNode {
    /// Address of the node, as in the settings.
    pub address: String,
    /// Name of the node; `null`, like the fields below, if it did not reply.
    pub node: Option<String>,
    /// Version of the node's program.
    pub version: Option<String>,
    /// Name of the node's engine.
    pub engine: Option<String>,
    /// Name of the node's model.
    pub model: Option<String>,
    /// SHA-256 of the model, in hex.
    pub model_sha256: Option<String>,
    /// Tensors that the node expects.
    pub takes: Option<String>,
    /// Round trip of a call, in nanoseconds.
    pub round_trip_ns: Option<u64>,
    /// Responses to the sample: the first, and a repetition.
    pub answers: Vec<SampleAnswer>,
    /// True if the response differs from that of most nodes.
    pub differs: bool,
    /// True if outputs are sampled, so that responses are not compared.
    pub sampled: bool,
    /// Reason for a missing or invalid response.
    pub failure: Option<String>,
    /// True if the node did not reply, or its connection was lost.
    pub lost: bool,
}

/// Response to the sample.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SampleAnswer {
    /// Time until the response, in nanoseconds.
    pub latency_ns: u64,
    /// Time until the first token, if the response consists of tokens, in nanoseconds.
    pub first_token_ns: Option<u64>,
    /// Length in bytes.
    pub bytes: usize,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Beginning of the response: a label (4 bytes), token ids, or bytes in hex.
    pub beginning: String,
}

impl AskedNode {
    /// Adds the reason for a missing or invalid response. `lost` is true if the node did not reply,
    /// or its connection was lost.
    pub fn failed(mut self, why: impl std::fmt::Display, lost: bool) -> Self {
        self.failure = Some(why.to_string());
        self.lost = lost;
        self
    }
}

/// Report of `doctor`, `probe` and `nodes`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    /// Program that wrote the report, with its version.
    program: String,
    /// Machine that the program runs on.
    host_name: Option<String>,
    /// Kernel of the machine.
    kernel: Option<String>,
    /// Operating system of the machine.
    operating_system: Option<String>,
    /// Interfaces that were judged.
    interfaces: Vec<String>,
    #[serde(skip)]
    links: Vec<String>,
    /// Nodes that were asked, in the order of the settings.
    nodes: Vec<AskedNode>,
    /// Sample that was sent to the nodes, if any.
    sample: Option<SentSample>,
    /// Findings, the highest severity first.
    findings: Vec<Finding>,
    /// Facts that could not be read, and therefore were not judged.
    not_known: Vec<String>,
}

impl Report {
    /// Creates a report without findings.
    pub(crate) fn of(needs: &Needs, facts: &Facts) -> Self {
        let machine = &facts.machine;
        let up = machine.interfaces.iter().filter(|link| link.up && link.kind != "virtual");
        let links: Vec<_> = match &needs.links {
            LinkSelection::Up => up.map(|link| link.name.clone()).collect(),
            LinkSelection::Named(names) => {
                names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        Self {
            program: needs.program.clone(),
            host_name: machine.host_name.as_deref().map(sanitise),
            kernel: machine.kernel.as_deref().map(sanitise),
            operating_system: machine.operating_system.as_deref().map(sanitise),
            interfaces: links.iter().map(|link| sanitise(link)).collect(),
            links,
            nodes: Vec::new(),
            sample: None,
            findings: Vec::new(),
            not_known: Vec::new(),
        }
    }

    /// Adds findings that other code drafted, such as a data set that the run would refuse.
    pub fn with(mut self, findings: impl IntoIterator<Item = Draft>) -> Self {
        self.findings.extend(findings.into_iter().map(Finding::from));
        self.sort();
        self
    }

    /// Returns the nodes that were asked.
    pub fn nodes(&self) -> &[AskedNode] {
        &self.nodes
    }

    /// Returns the findings, the highest severity first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the facts that could not be read.
    pub fn not_known(&self) -> &[String] {
        &self.not_known
    }

    /// Returns the process's exit code: 1 if a finding has at least the severity `fail_on`.
    pub fn exit_code(&self, fail_on: Severity) -> u8 {
        u8::from(self.findings.iter().any(|finding| finding.severity >= fail_on))
    }

    /// Returns the judged interfaces.
    pub(crate) fn links(&self) -> &[String] {
        &self.links
    }

    pub(crate) fn add(&mut self, finding: impl Into<Finding>) {
        self.findings.push(finding.into());
    }

    pub(crate) fn keep(&mut self, nodes: Vec<AskedNode>, sample: Option<SentSample>) {
        self.nodes = nodes;
        self.sample = sample;
    }

    /// Adds the text for a fact that could not be read: `word` is its name in `findings.toml`.
    pub(crate) fn unknown(&mut self, word: &str, facts: &[Fact]) {
        let what = sanitise(&unknown(word, facts));
        if !self.not_known.contains(&what) {
            self.not_known.push(what);
        }
    }

    pub(crate) fn sort(&mut self) {
        // Findings of equal severity remain in the order in which they were added.
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
