//! Findings of one rule with one text, as one.

use std::{collections::BTreeSet, fmt};

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

    /// A line for people, after the rules: places without `prefix`, and of many only the first.
    fn brief(&self, prefix: &str) -> String {
        let bare = |place: &String| place.strip_prefix(prefix).unwrap_or(place).to_owned();
        match self.places.as_slice() {
            [] => self.text.clone(),
            [place] => self.before(&bare(place)),
            [one, other] => self.after(&[short(&bare(one)), short(&bare(other))].join(" and ")),
            [first, more @ ..] => {
                self.after(&format!("{} and {} more", short(&bare(first)), more.len()))
            }
        }
    }

    /// One place, of which the text says something.
    fn before(&self, place: &str) -> String {
        format!("{place}: {}", self.text)
    }

    /// Several.
    fn after(&self, places: &str) -> String {
        format!("{} (in {places})", self.text)
    }
}

/// Lines for people, one for each cause: what is said in the same words of several rules is said once.
pub(crate) fn lines<'a>(
    findings: impl IntoIterator<Item = &'a Grouped>,
    prefix: &str,
) -> Vec<String> {
    let mut causes: Vec<(BTreeSet<Rule>, Grouped)> = Vec::new();
    for finding in findings {
        let is_same =
            |other: &Grouped| (other.outcome, &other.text) == (finding.outcome, &finding.text);
        match causes.iter_mut().find(|(_, cause)| is_same(cause)) {
            Some((rules, cause)) => {
                rules.insert(finding.rule);
                finding.places.iter().for_each(|place| cause.add(place));
            }
            None => causes.push((BTreeSet::from([finding.rule]), finding.clone())),
        }
    }
    let line = |(rules, cause): &(BTreeSet<Rule>, Grouped)| {
        let rules = match rules.len() {
            1 => head(cause.rule),
            _ => rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(", "),
        };
        format!("{rules}: {}", cause.brief(prefix))
    };
    causes.iter().map(line).collect()
}

fn head(rule: Rule) -> String {
    format!("{rule} (section {})", rule.section())
}

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.places.as_slice() {
            [] => self.text.clone(),
            [place] => self.before(place),
            places => self.after(&places.join(", ")),
        };
        write!(f, "{}: {line}", head(self.rule))
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
        let of_another_rule = Grouped { rule: Rule::N24, ..groups[1].clone() };
        let told = lines(groups.iter().chain([&of_another_rule]), "network/acme/");
        let want = [
            "N22 (section 6.2.3): firmware not known (in measurements/…/Offline/a.json and 2 more)",
            "N22, N24: measurements/x/resnet50/Offline/a.json: model not known",
        ];
        assert_eq!(told, want);
        assert!(groups[0].to_string().contains(&run("c.json")));
    }
}
