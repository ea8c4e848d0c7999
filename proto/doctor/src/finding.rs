//! A finding.

use netdiv_contract::said::{printable, said};
use serde::Serialize;

use crate::id::Id;

/// How bad a finding is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    clap::ValueEnum,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing
    Note,
    /// A run works, and may measure worse
    Warning,
    /// A run does not work, or not as it should
    Problem,
}

/// What mends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A command line of the shell, for root where it changes the system.
    Command(String),
    /// What to do where no command can.
    Advice(String),
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub id: Id,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: `this machine`, an interface, or a node with its address.
    pub about: String,
    /// What was seen, with the figures.
    pub seen: String,
    /// What it costs not to mend it.
    pub cost: &'static str,
    /// What mends it.
    #[serde(flatten)]
    pub remedy: Remedy,
}

/// What a finding of the whole machine is about.
pub(crate) const MACHINE: &str = "this machine";

impl Finding {
    /// A finding.
    pub fn new(
        id: Id,
        severity: Severity,
        about: impl Into<String>,
        seen: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        let (about, seen) = (said(&about.into()), printable(&seen.into()).into_owned());
        Self { id, severity, about, seen, cost: id.about().cost, remedy: remedy.printable() }
    }

    /// One of the whole machine.
    pub fn of_machine(id: Id, severity: Severity, seen: impl Into<String>, remedy: Remedy) -> Self {
        Self::new(id, severity, MACHINE, seen, remedy)
    }
}

impl Remedy {
    /// A command line.
    pub fn command(text: impl Into<String>) -> Self {
        Self::Command(text.into())
    }

    /// What to do where no command can.
    pub fn advice(text: impl Into<String>) -> Self {
        Self::Advice(text.into())
    }

    fn printable(self) -> Self {
        match self {
            Self::Command(text) => Self::Command(printable(&text).into_owned()),
            Self::Advice(text) => Self::Advice(printable(&text).into_owned()),
        }
    }
}
