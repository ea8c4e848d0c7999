//! Names of all findings.

use schemars::JsonSchema;
use serde::Serialize;
use strum::IntoEnumIterator as _;

use crate::doctor::data::{FindingDescription, about, markdown};

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
