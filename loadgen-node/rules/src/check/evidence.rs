//! N20, N22, N24 and N29 of a submission under way: what will be said of its machines, told before anybody packs it.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{
    described,
    findings::Findings,
    interfaces,
    subject::{Entry, Kind, Run, Subject, System, Tree},
    versions,
};
use crate::{Finding, Outcome, result::RunResult, tree::Home};

/// What a check will find broken, or not tell, of the machines' evidence in these runs, each with its name; `system` is
/// the description that the submission will have.
pub(crate) fn evidence<'a>(
    home: &Home,
    system: &Map<String, Value>,
    runs: impl Iterator<Item = (&'a str, &'a RunResult)>,
) -> Vec<Finding> {
    let run = |(name, result): (&str, &RunResult)| Run {
        kind: Kind::Performance,
        place: name.into(),
        folder: PathBuf::new(),
        record_place: name.into(),
        record: Some(Ok(Box::new(result.clone()))),
        logs: None,
    };
    let entry = Entry {
        place: String::new(),
        tree: None,
        name: String::new(),
        benchmark: None,
        scenario: None,
        measurements: None,
        runs: runs.map(run).collect(),
    };
    let system = System { name: String::new(), place: String::new(), json: Ok(system.clone()) };
    let subject = Subject {
        round: None,
        division: crate::result::Division::Network,
        tree: Some(Tree { root: PathBuf::new(), home: home.clone() }),
        systems: vec![system],
        results: vec![entry],
    };
    let mut found = Findings::default();
    interfaces::of_runs(&subject, &mut found);
    versions::judge(&subject, &mut found);
    described::judge(&subject, &mut found);
    let told = found.all().filter(|finding| finding.outcome != Outcome::Pass);
    told.map(again).collect()
}

/// What is stated is seen in the next runs.
fn again(mut finding: Finding) -> Finding {
    if finding.text.ends_with("evidence file") {
        finding.text += " and run again";
    }
    finding
}
