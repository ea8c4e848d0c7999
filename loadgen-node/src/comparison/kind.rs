//! Kinds of subjects, and the pairs of kinds that can be compared.

use std::fmt;

use netdiv_rules::{Mode, Scenario};

/// Kind of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    /// Run of LoadGen.
    Run { benchmark: String, scenario: Scenario, mode: Mode },
    /// Result of MLPerf Endpoints. Its load pattern determines the scenario.
    Endpoints { scenario: Scenario },
    /// Network measurement.
    Network(NetworkKind),
}

/// Kind of a network measurement. Each kind has figures of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub(crate) enum NetworkKind {
    #[strum(to_string = "by message sizes")]
    Sizes,
    #[strum(to_string = "between all pairs of hosts (--matrix)")]
    Matrix,
    #[strum(to_string = "over a long time (--soak)")]
    Soak,
    #[strum(to_string = "at a fixed rate (--rate)")]
    Rate,
}

impl SubjectKind {
    /// Returns true if subjects of both kinds can be compared. A result of MLPerf Endpoints does
    /// not name its benchmark.
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

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { benchmark, scenario, mode } => write!(f, "{benchmark} {scenario} {mode}"),
            Self::Endpoints { scenario } => {
                write!(f, "an MLPerf Endpoints result ({scenario} performance)")
            }
            Self::Network(kind) => write!(f, "a network measurement {kind}"),
        }
    }
}
