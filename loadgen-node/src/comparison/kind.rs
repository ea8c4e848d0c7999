//! Kinds of subjects, and which of them can be compared.

use std::fmt;

use netdiv_rules::{Mode, Scenario};

/// The kind of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A run.
    Run { benchmark: String, scenario: Scenario, mode: Mode },
    /// A result of MLPerf Endpoints, whose load pattern is that of a scenario.
    Endpoints { scenario: Scenario },
    /// A measurement of a network.
    Network,
}

impl Kind {
    /// Returns true if subjects of both kinds can be compared. A result of MLPerf Endpoints does not say its benchmark.
    pub(super) fn is_comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Endpoints { scenario }, Self::Run { scenario: of_run, mode, .. })
            | (Self::Run { scenario: of_run, mode, .. }, Self::Endpoints { scenario }) => {
                scenario == of_run && *mode == Mode::Performance
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { benchmark, scenario, mode } => write!(f, "{benchmark} {scenario} {mode}"),
            Self::Endpoints { scenario } => {
                write!(f, "a result of MLPerf Endpoints as in {scenario} performance")
            }
            Self::Network => f.write_str("a measurement of a network"),
        }
    }
}
