//! Findings of one rule with one text, as one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, Outcome, Rule};

/// Something that was found, and everywhere that it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grouped {
    /// The rule.
    pub rule: Rule,
    /// Whether it is kept.
    pub outcome: Outcome,
    /// All files, folders, nodes and settings that it is about; empty when it is about all.
    pub places: Vec<String>,
    /// What was seen, and what to do about it.
    pub text: String,
}

impl Grouped {
    fn of(finding: &Finding) -> Self {
        let Finding { rule, outcome, text, .. } = finding;
        let text = text.clone();
        let mut group = Self { rule: *rule, outcome: *outcome, places: Vec::new(), text };
        group.add(&finding.place);
        group
    }

    fn add(&mut self, place: &str) {
        if !place.is_empty() && !self.places.iter().any(|known| known == place) {
            self.places.push(place.into());
        }
    }

    /// Both as one, with both texts.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.text = format!("{}; {}", self.text, other.text);
        other.places.iter().for_each(|place| self.add(place));
        self
    }

    /// A line for people: places without `prefix`, and of many only the first.
    pub(crate) fn brief(&self, prefix: &str) -> String {
        let bare = |place: &String| place.strip_prefix(prefix).unwrap_or(place).to_owned();
        match self.places.as_slice() {
            [] => self.to_string(),
            [place] => self.before(&bare(place)),
            [one, other] => self.after(&[short(&bare(one)), short(&bare(other))].join(" and ")),
            [first, more @ ..] => {
                self.after(&format!("{} and {} more", short(&bare(first)), more.len()))
            }
        }
    }

    fn head(&self) -> String {
        format!("{} (section {})", self.rule, self.rule.section())
    }

    /// One place, of which the text says something.
    fn before(&self, place: &str) -> String {
        format!("{}: {place}: {}", self.head(), self.text)
    }

    /// Several.
    fn after(&self, places: &str) -> String {
        format!("{}: {} (in {places})", self.head(), self.text)
    }
}

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.places.as_slice() {
            [] => format!("{}: {}", self.head(), self.text),
            [place] => self.before(place),
            places => self.after(&places.join(", ")),
        };
        f.write_str(&line)
    }
}

/// A path whose middle is left out.
fn short(path: &str) -> String {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [first, _, _, .., folder, file] => format!("{first}/…/{folder}/{file}"),
        _ => path.to_owned(),
    }
}

/// The findings, in order, those of one rule and outcome with the same text as one.
pub(crate) fn grouped<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Grouped> {
    let mut groups: Vec<Grouped> = Vec::new();
    for finding in findings {
        let same = groups.iter_mut().find(|group| {
            (group.rule, group.outcome, &group.text)
                == (finding.rule, finding.outcome, &finding.text)
        });
        match same {
            Some(group) => group.add(&finding.place),
            None => groups.push(Grouped::of(finding)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_one_line_with_its_places() {
        let rule = Rule::N22;
        let run = |name: &str| format!("network/acme/measurements/x/resnet50/Offline/{name}");
        let findings = ["a.json", "b.json", "c.json", "a.json"]
            .map(|name| Finding::fail(rule, run(name), "firmware not known"));
        let other = Finding::fail(rule, run("a.json"), "model not known");
        let groups = grouped(findings.iter().chain([&other]));
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].places, ["a.json", "b.json", "c.json"].map(run));
        let head = "N22 (section 6.2.3)";
        assert_eq!(
            groups[0].brief("network/acme/"),
            format!("{head}: firmware not known (in measurements/…/Offline/a.json and 2 more)")
        );
        assert_eq!(
            groups[1].brief("network/acme/"),
            format!("{head}: measurements/x/resnet50/Offline/a.json: model not known")
        );
        assert!(groups[0].to_string().contains(&run("c.json")));
    }
}
