//! The phases of a run, for its trace.

use std::time::Instant;

use netdiv_traces::{Fact, Stage, Trace};
use parking_lot::Mutex;

use crate::{RunConfig, RunError, result::Verdict};

/// The phases of a run, each with its beginning; the next one ends it.
#[derive(Debug)]
pub(super) struct Phases(Mutex<Vec<(&'static str, Instant)>>);

impl Phases {
    /// Of a run that begins now.
    pub(super) fn new(first: &'static str) -> Self {
        Self(Mutex::new(vec![(first, Instant::now())]))
    }

    /// The next phase begins now.
    pub(super) fn begin(&self, phase: &'static str) {
        self.0.lock().push((phase, Instant::now()));
    }

    /// Sends the trace of the run, which ends now.
    pub(super) fn record(&self, config: &RunConfig, outcome: &Result<Verdict, RunError>) {
        netdiv_traces::record(|| self.trace(Instant::now(), facts(config, outcome)));
    }

    fn trace(&self, end: Instant, facts: Vec<(&'static str, Fact)>) -> Trace {
        let phases = self.0.lock();
        let ends = phases.iter().skip(1).map(|(_, begin)| *begin).chain([end]);
        let stages: Vec<_> = phases
            .iter()
            .zip(ends)
            .map(|((name, from), to)| Stage { name, from: *from, to })
            .collect();
        let from = stages.first().map_or(end, |first| first.from);
        Trace { whole: Stage { name: "run", from, to: end }, facts, stages }
    }
}

fn facts(config: &RunConfig, outcome: &Result<Verdict, RunError>) -> Vec<(&'static str, Fact)> {
    let outcome = match outcome {
        Ok(verdict) => format!("{verdict:?}").to_lowercase(),
        Err(error) => error.to_string(),
    };
    [
        ("benchmark", config.benchmark.clone()),
        ("scenario", config.scenario.to_string()),
        ("mode", config.mode.to_string()),
        ("division", config.division.to_string()),
        ("outcome", outcome),
    ]
    .map(|(key, word)| (key, Fact::Word(word)))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_without_a_gap() {
        let phases = Phases::new("prepare");
        phases.begin("connect");
        phases.begin("test");
        let end = Instant::now();
        let Trace { whole, stages, .. } = phases.trace(end, Vec::new());
        let names: Vec<_> = stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["prepare", "connect", "test"]);
        assert!(stages.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!((whole.from, whole.to), (stages[0].from, end));
        assert_eq!(stages[2].to, end);
    }
}
