//! Comparison of runs, or of network measurements: their differences, the changes of their figures,
//! and whether a change exceeds the noise.
//!
//! The first side is the baseline. A side is one run, or several runs with the same settings. With
//! several runs, each figure has a median and a range, and a change counts if the ranges do not
//! touch. A single value has no range; it is assumed to vary as much as the other side. If both
//! sides have one value, only an explicit tolerance decides.

mod endpoints;
mod fabric;
mod figure;
mod run;
mod side;
mod subject;

pub(crate) use self::{
    figure::{Change, ChangeJudgement, Figure, Spread, TOLERANCE, figures},
    run::{interface, machine, setting},
    side::Side,
};

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::subject::{Subject, SubjectKind};
use crate::RunError;

#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// Maximum loss of a figure, as a share of the baseline.
    pub(crate) tolerance: f64,
    /// Compared sides, the baseline first.
    pub(crate) sides: Vec<Side>,
    /// Differences in settings, programs and machines.
    pub(crate) differences: Vec<Difference>,
    /// Differences in how the clients of both sides count, if there are several clients.
    pub(crate) remarks: Vec<String>,
    /// Figures, each with its changes from the baseline.
    pub(crate) figures: Vec<Figure>,
    /// True if a figure is worse beyond the tolerance and beyond the noise.
    pub(crate) regression: bool,
    /// Number of figures that changed by more than the tolerance, with unknown noise.
    pub(crate) unknown: usize,
}

impl Comparison {
    /// Compares sides; the first is the baseline. Without a tolerance, changes with unknown noise
    /// do not count.
    pub(crate) fn new(sides: Vec<Side>, tolerance: Option<f64>) -> Result<Self, RunError> {
        let differences = differences(&sides);
        let figures = figures(&sides, tolerance);
        if figures.is_empty() {
            return Err(RunError::Usage(
                "no figure is present in every run; compare finished runs of one scenario and mode"
                    .into(),
            ));
        }
        let regression = figures.iter().any(|figure| figure.has_judgement(ChangeJudgement::Worse));
        let unknown =
            figures.iter().filter(|figure| figure.has_judgement(ChangeJudgement::Unknown)).count();
        let tolerance = tolerance.unwrap_or(TOLERANCE);
        let mut remarks = Vec::new();
        if has_several_clients(&sides) {
            let all = sides.iter().flat_map(|side| &side.subjects);
            for remark in all.flat_map(|subject| &subject.remarks) {
                if !remarks.contains(remark) {
                    remarks.push(remark.clone());
                }
            }
        }
        Ok(Self { tolerance, sides, differences, remarks, figures, regression, unknown })
    }
}

/// A setting, a program or a part of a machine that differs between sides.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) what: String,
    /// Values of each side; several if the runs of a side differ from each other.
    pub(crate) values: Vec<Vec<String>>,
}

/// Placeholder for a missing value.
const ABSENT: &str = "–";

/// Returns true if runs of LoadGen are compared with results of MLPerf Endpoints.
fn has_several_clients(sides: &[Side]) -> bool {
    let is_endpoints = |subject: &Subject| matches!(subject.kind, SubjectKind::Endpoints { .. });
    let mut all = sides.iter().flat_map(|side| &side.subjects).map(is_endpoints);
    let first = all.next();
    all.any(|one| Some(one) != first)
}

/// Returns the differences between all sides, by name. For different clients, compares the workload
/// only.
fn differences(sides: &[Side]) -> Vec<Difference> {
    let several = has_several_clients(sides);
    let mut facts: Vec<Vec<_>> = Vec::new();
    for side in sides {
        let of_side = side.subjects.iter();
        facts.push(of_side.map(|one| if several { &one.workload } else { &one.facts }).collect());
    }
    let names: BTreeSet<_> = facts.iter().flatten().flat_map(|facts| facts.keys()).collect();
    let of = |name: &String, runs: &[&BTreeMap<String, String>]| -> Vec<String> {
        let value = |run: &&BTreeMap<String, String>| run.get(name).cloned();
        let values = runs.iter().map(|run| value(run).unwrap_or_else(|| ABSENT.into()));
        values.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let all = names.into_iter().map(|name| Difference {
        what: name.clone(),
        values: facts.iter().map(|runs| of(name, runs)).collect(),
    });
    all.filter(|difference| {
        let first = difference.values.first();
        difference.values.iter().any(|values| values.len() > 1 || Some(values) != first)
    })
    .collect()
}
