//! What is not the same on all sides.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::side::Side;

/// A setting, a program or a part of a machine that differs between sides.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) what: String,
    /// Side by side; several where the runs of a side differ among themselves.
    pub(crate) values: Vec<Vec<String>>,
}

/// What is said where a run does not say it.
const ABSENT: &str = "–";

/// All that differs, by name.
pub(crate) fn differences(sides: &[Side]) -> Vec<Difference> {
    let facts: Vec<Vec<_>> =
        sides.iter().map(|side| side.subjects.iter().map(|one| &one.facts).collect()).collect();
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
