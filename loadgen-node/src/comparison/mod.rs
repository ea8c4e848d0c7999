//! Runs beside runs, or measurements of a network: what differs between them, what that changed, and whether it is more than
//! chance.
//!
//! The first side is the baseline. A side is one, or several of the same settings: then each figure has a median and a
//! range, and a change counts when the ranges do not touch. A single value has no range and takes that of the other side;
//! where both sides have one value, only a given tolerance decides.

mod endpoints;
mod fabric;
mod figure;
mod kind;
mod run;
mod side;
mod subject;

pub(crate) use self::{
    figure::{Change, Figure, Judgement, Spread, TOLERANCE, figures},
    side::Side,
};

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::{kind::Kind, subject::Subject};
use crate::RunError;

/// All that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// How much worse a figure may be, as a share.
    pub(crate) tolerance: f64,
    /// What was compared, the baseline first.
    pub(crate) sides: Vec<Side>,
    /// What is not the same in settings, programs and machines.
    pub(crate) differences: Vec<Difference>,
    /// Differences in how the clients of both sides count, where there are several clients.
    pub(crate) remarks: Vec<String>,
    /// The figures, each with its change from the baseline.
    pub(crate) figures: Vec<Figure>,
    /// True if any is worse beyond the tolerance and beyond the noise.
    pub(crate) regression: bool,
    /// Number of figures that changed by more than the tolerance, with a noise that is unknown.
    pub(crate) unknown: usize,
}

impl Comparison {
    /// Compares sides, the first of which is the baseline. Without a tolerance, changes whose noise is unknown do not count.
    pub(crate) fn of(sides: Vec<Side>, tolerance: Option<f64>) -> Result<Self, RunError> {
        let differences = differences(&sides);
        let figures = figures(&sides, tolerance);
        if figures.is_empty() {
            return Err(RunError::Usage(
                "no figure is in every run; compare runs that have ended, of one scenario and mode"
                    .into(),
            ));
        }
        let regression = figures.iter().any(|figure| figure.is(Judgement::Worse));
        let unknown = figures.iter().filter(|figure| figure.is(Judgement::Unknown)).count();
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
    /// Side by side; several where the runs of a side differ among themselves.
    pub(crate) values: Vec<Vec<String>>,
}

/// Value of a run that has none of its own.
const ABSENT: &str = "–";

/// Returns true if runs are compared with results of MLPerf Endpoints.
fn has_several_clients(sides: &[Side]) -> bool {
    let is_endpoints = |subject: &Subject| matches!(subject.kind, Kind::Endpoints { .. });
    let mut all = sides.iter().flat_map(|side| &side.subjects).map(is_endpoints);
    let first = all.next();
    all.any(|one| Some(one) != first)
}

/// Returns the differences between all sides, by name. Of different clients, only the workload.
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
