//! Runs beside runs, or measurements of a network: what differs between them, what that changed, and whether it is more than
//! chance.
//!
//! The first side is the baseline. A side is one, or several of the same settings: then each figure has a median and a
//! range, and a change counts when the ranges do not touch.

mod difference;
mod fabric;
mod figure;
mod run;
mod side;
mod subject;

pub(crate) use self::{
    difference::{Difference, differences},
    figure::{Change, Figure, Judgement, Spread, figures},
    side::Side,
};

use serde::Serialize;

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
    /// The figures, each with its change from the baseline.
    pub(crate) figures: Vec<Figure>,
    /// Whether any is worse beyond the tolerance and beyond chance.
    pub(crate) regression: bool,
}

impl Comparison {
    /// Compares sides, the first of which is the baseline.
    pub(crate) fn of(sides: Vec<Side>, tolerance: f64) -> Result<Self, RunError> {
        let differences = differences(&sides);
        let figures = figures(&sides, tolerance);
        if figures.is_empty() {
            return Err(RunError::Usage(
                "no figure is in every run; compare runs that have ended, of one scenario and mode"
                    .into(),
            ));
        }
        let regression = figures.iter().any(Figure::is_worse);
        Ok(Self { tolerance, sides, differences, figures, regression })
    }
}
