//! Subjects of a comparison.

use std::{collections::BTreeMap, path::PathBuf};

use super::kind::SubjectKind;
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
    /// Returns the values of a figure.
    pub(crate) fn values(&self, name: &str) -> Option<Vec<f64>> {
        let figure = self.figures.iter().find(|figure| figure.name == name)?;
        Some(figure.values.clone())
    }

    /// Returns the name of the folder, for display.
    pub(super) fn name(&self) -> String {
        let whole = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
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
