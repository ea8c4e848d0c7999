//! Findings of the doctor.

use netdiv_node_common::sanitise::{printable, sanitise};
use schemars::JsonSchema;
use serde::Serialize;

use crate::doctor::{
    data::{Fact, fill, phrase},
    id::Id,
    remedy::{Remedy, Severity},
};

/// Finding with its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Name of the finding.
    pub id: Id,
    /// Severity of the finding.
    pub severity: Severity,
    /// Subject: `this machine`, an interface, a run, or a node with its address.
    pub about: String,
    /// Observation, with the figures.
    pub seen: String,
    /// Cost of not fixing it.
    pub cost: &'static str,
    /// Command or advice that fixes it.
    #[serde(flatten)]
    pub remedy: Remedy,
}

/// Finding under construction: its name, and the facts that replace the placeholders in its texts.
#[derive(Debug)]
pub struct Draft {
    id: Id,
    about: String,
    severity: Option<Severity>,
    remedy: &'static str,
    facts: Vec<Fact>,
}

impl Draft {
    /// Creates a finding about an interface, a node or a run.
    pub fn of(id: Id, about: impl Into<String>) -> Self {
        Self { id, about: about.into(), severity: None, remedy: "only", facts: Vec::new() }
    }

    /// Creates a finding about the whole machine.
    pub(crate) fn of_machine(id: Id) -> Self {
        Self::of(id, phrase("machine", &[]))
    }

    /// Adds a fact: `value` replaces the placeholder `name` in the texts.
    pub fn fact(mut self, name: &'static str, value: impl ToString) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }

    /// Chooses the remedy with this name, for a finding with several remedies.
    pub(crate) fn remedy(mut self, name: &'static str) -> Self {
        self.remedy = name;
        self
    }

    /// Sets the severity, for a finding with two severities.
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }
}

impl From<Draft> for Finding {
    fn from(Draft { id, about, severity, remedy, facts }: Draft) -> Self {
        let known = id.about();
        let severity = severity.or(known.severity.first().copied());
        let text = |text: &str| printable(&fill(text, &facts)).into_owned();
        Self {
            id,
            severity: severity.unwrap_or(Severity::Problem),
            about: sanitise(&about),
            seen: text(&known.text),
            cost: &known.cost,
            remedy: match known.remedy.get(remedy) {
                Some(Remedy::Command(command)) => Remedy::Command(text(command)),
                Some(Remedy::Advice(advice)) => Remedy::Advice(text(advice)),
                None => Remedy::Advice(remedy.into()),
            },
        }
    }
}
