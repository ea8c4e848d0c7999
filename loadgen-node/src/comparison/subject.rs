//! Subjects of a comparison: their kinds, facts and figures.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use netdiv_rules::{Mode, Scenario};

use crate::recording::histograms::Histograms;

/// A run, a result of MLPerf Endpoints, or a network measurement.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) folder: PathBuf,
    /// Kind of the subject, which decides what it can be compared with.
    pub(crate) kind: SubjectKind,
    /// Facts that may make the subject faster or slower, by name.
    pub(crate) facts: BTreeMap<String, String>,
    /// Workload, in terms that every client reports.
    pub(crate) workload: BTreeMap<String, String>,
    /// Differences between how the subject's client and LoadGen count.
    pub(crate) remarks: Vec<String>,
    pub(crate) figures: Vec<MeasuredFigure>,
    pub(crate) histograms: Histograms,
}

impl Subject {
    pub(crate) fn values(&self, name: &str) -> Option<Vec<f64>> {
        let figure = self.figures.iter().find(|figure| figure.name == name)?;
        Some(figure.values.clone())
    }
}

/// A figure of one subject, with all its values.
#[derive(Debug)]
pub(crate) struct MeasuredFigure {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) more_is_better: bool,
    /// Set if any loss counts, because it is not due to chance.
    pub(crate) exact: bool,
    pub(crate) values: Vec<f64>,
}

/// Units of figures of which less is better. For any other unit, such as that of LoadGen's rates,
/// more is better.
const LESS_IS_BETTER: [&str; 2] = ["ns", "ns/B"];

impl MeasuredFigure {
    /// Returns a figure that may vary by chance.
    pub(crate) fn new(name: impl Into<String>, unit: &str, values: Vec<f64>) -> Self {
        let more_is_better = !LESS_IS_BETTER.contains(&unit);
        Self { name: name.into(), unit: unit.into(), more_is_better, exact: false, values }
    }

    /// Returns a figure for which any loss counts.
    pub(crate) fn exact(name: impl Into<String>, unit: &str, value: f64) -> Self {
        Self { exact: true, ..Self::new(name, unit, vec![value]) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    Run {
        benchmark: String,
        scenario: Scenario,
        mode: Mode,
    },
    /// Result of MLPerf Endpoints. Its load pattern determines the scenario.
    Endpoints {
        scenario: Scenario,
    },
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
