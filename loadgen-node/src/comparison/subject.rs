//! What is compared.

use std::{collections::BTreeMap, path::PathBuf};

use super::kind::Kind;
use crate::recording::histograms::Histograms;

/// What is compared: a run, or a network's measurement.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) folder: PathBuf,
    /// Only those of one kind can be compared.
    pub(crate) kind: Kind,
    /// All that may make it faster or slower, by name.
    pub(crate) facts: BTreeMap<String, String>,
    /// The workload, in terms that every client has.
    pub(crate) workload: BTreeMap<String, String>,
    /// Differences between its client's counts and those of LoadGen.
    pub(crate) remarks: Vec<String>,
    pub(crate) figures: Vec<Measured>,
    pub(crate) histograms: Histograms,
}

impl Subject {
    /// The values of a figure.
    pub(crate) fn values(&self, name: &str) -> Option<Vec<f64>> {
        let figure = self.figures.iter().find(|figure| figure.name == name)?;
        Some(figure.values.clone())
    }

    /// Its folder's name, for people.
    pub(super) fn name(&self) -> String {
        let whole = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned()
    }
}

/// A figure of one subject, with as many values as it has.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) more_is_better: bool,
    /// Whether any loss counts, as it does not come from chance.
    pub(crate) exact: bool,
    pub(crate) values: Vec<f64>,
}

/// Units of figures, with the direction that is better: more, or less. A unit of LoadGen's that is not here is one of a rate.
const UNITS: [(&str, Better); 4] =
    [("ns", Better::Less), ("ns/B", Better::Less), ("GB/s", Better::More), ("", Better::More)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Measured {
    /// Returns a figure that may change by chance.
    pub(crate) fn new(name: impl Into<String>, unit: &str, values: Vec<f64>) -> Self {
        let known = UNITS.iter().find(|(known, _)| *known == unit);
        let more_is_better = known.is_none_or(|(_, better)| *better == Better::More);
        Self { name: name.into(), unit: unit.into(), more_is_better, exact: false, values }
    }

    /// Returns a figure of which any loss counts.
    pub(crate) fn exact(name: impl Into<String>, unit: &str, value: f64) -> Self {
        Self { exact: true, ..Self::new(name, unit, vec![value]) }
    }
}
