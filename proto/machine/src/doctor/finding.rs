//! Findings of the doctor, and their names.

use netdiv_node_common::sanitise::{printable, sanitise};
use schemars::JsonSchema;
use serde::Serialize;
use strum::IntoEnumIterator as _;

use crate::doctor::data::{Fact, FindingDescription, Remedy, Severity, about, fill, markdown};

/// Name of a finding, which `findings.toml` describes. The JSON report contains it in lower case
/// with hyphens.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    JsonSchema,
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "`findings.toml` describes each")]
pub enum Id {
    NodeUnusable,
    AnswerMissing,
    AnswerDiffers,
    RunRefused,
    DiskSpace,
    OpenFiles,
    HalfDuplex,
    Memory,
    UdpReceiveBuffer,
    UdpSendBuffer,
    TcpReceiveBuffer,
    TcpSendBuffer,
    WaitingConnections,
    MtuDiffers,
    QuicMtu,
    StandardFrames,
    SpeedDiffers,
    Offloads,
    MissedFrames,
    Governor,
    CpuQuota,
    SharedCore,
    NumaPin,
    NumaUnpinned,
    NumaAccelerator,
    SwapUsed,
    Swappiness,
    ClockSource,
    ClockUnsynchronised,
    ClockOffset,
    ClockUnwatched,
    VersionDiffers,
    SameMachine,
}

impl Id {
    /// Returns all findings in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
    }

    /// Returns the name in lower case with hyphens.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the description.
    pub fn about(self) -> &'static FindingDescription {
        about(self.word())
    }
}

/// Returns the table of all findings, for the documentation, in Markdown.
pub fn table() -> String {
    let mut table =
        String::from("| finding | severity | condition | cost | remedy |\n|---|---|---|---|---|\n");
    for id in Id::all() {
        let FindingDescription { severity, when, cost, remedy, remark, .. } = id.about();
        let severities: Vec<&str> = severity.iter().map(|severity| severity.into()).collect();
        let remedies: Vec<_> = remedy.values().map(markdown).collect();
        table += &format!(
            "| `{}` | {} | {when} | {cost} | {} |\n",
            id.word(),
            severities.join(" or "),
            [remedies.join("; or "), remark.clone()].join(", ").trim_end_matches(", ")
        );
    }
    table
}

/// Finding with its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Name of the finding.
    pub id: Id,
    /// Severity of the finding.
    pub severity: Severity,
    /// Subject: `this machine`, an interface, a run, or a node with its address.
    pub about: String,
    /// Observation, with the figures.
    pub seen: String,
    /// Cost of not fixing it.
    pub cost: &'static str,
    /// Command or advice that fixes it.
    #[serde(flatten)]
    pub remedy: Remedy,
}

/// Finding under construction: its name, and the facts that replace the placeholders in its texts.
#[derive(Debug)]
pub struct Draft {
    id: Id,
    about: String,
    severity: Option<Severity>,
    remedy: &'static str,
    facts: Vec<Fact>,
}

impl Draft {
    /// Creates a finding about an interface, a node or a run.
    pub fn of(id: Id, about: impl Into<String>) -> Self {
        Self { id, about: about.into(), severity: None, remedy: "only", facts: Vec::new() }
    }

    /// Creates a finding about the whole machine.
    pub(crate) fn of_machine(id: Id) -> Self {
        Self::of(id, "this machine")
    }

    /// Adds a fact: `value` replaces the placeholder `name` in the texts.
    pub fn fact(mut self, name: &'static str, value: impl ToString) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }

    /// Chooses the remedy with this name, for a finding with several remedies.
    pub(crate) fn remedy(mut self, name: &'static str) -> Self {
        self.remedy = name;
        self
    }

    /// Sets the severity, for a finding with two severities.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }
}

/// Returns the subject of findings about a node.
pub(crate) fn subject(address: &str, name: &str) -> String {
    format!("node {} at {}", sanitise(name), sanitise(address))
}

impl From<Draft> for Finding {
    fn from(Draft { id, about, severity, remedy, facts }: Draft) -> Self {
        let known = id.about();
        let severity = severity.or(known.severity.first().copied());
        let text = |text: &str| printable(&fill(text, &facts)).into_owned();
        Self {
            id,
            severity: severity.unwrap_or(Severity::Problem),
            about: sanitise(&about),
            seen: text(&known.text),
            cost: &known.cost,
            remedy: match known.remedy.get(remedy) {
                Some(Remedy::Command(command)) => Remedy::Command(text(command)),
                Some(Remedy::Advice(advice)) => Remedy::Advice(text(advice)),
                None => Remedy::Advice(remedy.into()),
            },
        }
    }
}
