//! Groups findings of the same rule and text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Finding, Outcome, Rule};

/// Finding, with all places where it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupedFinding {
    /// Rule that the finding is about.
    pub rule: Rule,
    /// Outcome for the rule.
    pub outcome: Outcome,
    /// Files, folders, nodes and settings that the finding is about; empty if it is about all.
    pub places: Vec<String>,
    /// Description of the finding, with its remedy.
    pub text: String,
}

impl GroupedFinding {
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

    /// Appends the text of another finding to this one, and adds its places.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.text = format!("{}; {}", self.text, other.text);
        other.places.iter().for_each(|place| self.add(place));
        self
    }
}

/// Start of a finding about a run folder. The rest of the text names evidence that only a
/// submission contains.
pub(crate) const NEEDS_SUBMISSION: &str = "only a submission shows ";

/// Start of a finding about an error in LoadGen's log. The rest of the text is LoadGen's message.
pub(crate) const LOGGED_ERROR: &str = "LoadGen logged an error: ";

/// Findings that have one cause and are shown on one line: their texts are equal, or differ only in
/// figures.
struct Cause {
    rules: BTreeSet<Rule>,
    /// Text of the first finding, without its figures (see [`without_figures`]).
    shape: String,
    texts: BTreeSet<String>,
    /// First finding, with the places of all findings of this cause.
    first: GroupedFinding,
}

impl Cause {
    fn add(&mut self, finding: &GroupedFinding) {
        self.rules.insert(finding.rule);
        self.texts.insert(finding.text.clone());
        finding.places.iter().for_each(|place| self.first.add(place));
    }

    /// Formats the findings as one line for readers, without `prefix` before the places. The line
    /// names one or two places; of more places it names the first and counts the others.
    fn line(&self, prefix: &str) -> String {
        let rules = match self.rules.len() {
            1 => rule_heading(self.first.rule),
            _ => self.rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(", "),
        };
        if self.shape == NEEDS_SUBMISSION {
            let text = "make a submission from its runs, and check it";
            return format!("{rules}: {NEEDS_SUBMISSION}this: {text}");
        }
        let text = on_one_line(&self.first.text);
        let bare = |place: &String| place.strip_prefix(prefix).unwrap_or(place).to_owned();
        let places: Vec<String> = shown(&self.first.places).iter().map(bare).collect();
        let more = self.texts.len() - 1;
        let said = match places.as_slice() {
            [] if more > 0 => format!("{text} (and {more} more that differ in figures)"),
            [] => text,
            [place] if more > 0 => format!("{place}: {text} (and {more} more of this kind)"),
            [place] => format!("{place}: {text}"),
            [one, other] => {
                let [one, other] = [one, other].map(|place| shorten(place, &places));
                format!("{text} (in {one} and {other}{})", other_figures(more))
            }
            [first, others @ ..] => {
                let (first, count) = (shorten(first, &places), others.len());
                format!("{text} (in {first} and {count} more{})", other_figures(more))
            }
        };
        format!("{rules}: {said}")
    }
}

fn other_figures(more: usize) -> &'static str {
    if more > 0 { ", with other figures" } else { "" }
}

/// Formats findings as lines for readers, one line for each cause, without `prefix` before the
/// places. Findings have one cause if their outcomes are equal and their texts differ only in
/// figures; their rules may differ. All errors in LoadGen's logs also have one cause, and so do all
/// findings that only a submission can answer.
pub fn lines<'a>(
    findings: impl IntoIterator<Item = &'a GroupedFinding>,
    prefix: &str,
) -> Vec<String> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut known: BTreeMap<(Outcome, String), usize> = BTreeMap::new();
    for finding in findings {
        let shape = without_figures(&finding.text);
        let place = *known.entry((finding.outcome, shape.clone())).or_insert(causes.len());
        if place == causes.len() {
            let (rules, texts) = (BTreeSet::new(), BTreeSet::new());
            causes.push(Cause { rules, shape, texts, first: finding.clone() });
        }
        causes[place].add(finding);
    }
    causes.iter().map(|cause| cause.line(prefix)).collect()
}

/// Replaces each figure in a text by `#`. A figure is a number, a version, or a digest in hex. A
/// text that begins with [`NEEDS_SUBMISSION`] or [`LOGGED_ERROR`] is reduced to that beginning.
fn without_figures(text: &str) -> String {
    if let Some(start) =
        [NEEDS_SUBMISSION, LOGGED_ERROR].into_iter().find(|start| text.starts_with(start))
    {
        return start.into();
    }
    let is_part = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    let mut shape = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if end == 0 { c.len_utf8() } else { end });
        shape += if is_figure(word) { "#" } else { word };
        rest = after;
    }
    shape
}

fn is_figure(word: &str) -> bool {
    let bare = word.trim_end_matches('.').trim_start_matches(['+', '-']);
    let has_digit = bare.contains(|c: char| c.is_ascii_digit());
    let is_number = bare.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_digest = bare.len() >= 7 && bare.chars().all(|c| c.is_ascii_hexdigit());
    has_digit && (is_number || is_digest)
}

/// Returns a text without line breaks, and without characters that would control a terminal.
fn on_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("; ");
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Returns the places to show: those of a run's folder alone say nothing.
fn shown(places: &[String]) -> &[String] {
    if places == ["."] { &[] } else { places }
}

fn rule_heading(rule: Rule) -> String {
    format!("{rule} ({})", rule.source())
}

impl fmt::Display for GroupedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = on_one_line(&self.text);
        let line = match shown(&self.places) {
            [] => text,
            [place] => format!("{place}: {text}"),
            places => format!("{text} (in {})", places.join(", ")),
        };
        write!(f, "{}: {line}", rule_heading(self.rule))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", GroupedFinding::of(self))
    }
}

/// Shortens a path: replaces its middle parts by `…` where all paths in `others` have the same
/// parts.
fn shorten(path: &str, others: &[String]) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let differs = |number: usize| {
        others.iter().any(|other| {
            let other: Vec<&str> = other.split('/').collect();
            match other.len() == parts.len() {
                true => other[number] != parts[number],
                false => !other.contains(&parts[number]),
            }
        })
    };
    let is_kept = |number: usize| number == 0 || number + 2 >= parts.len() || differs(number);
    let mut kept: Vec<&str> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        match is_kept(number) {
            true => kept.push(part),
            false if kept.last() == Some(&"…") => {}
            false => kept.push("…"),
        }
    }
    kept.join("/")
}

/// Merges findings of equal rule, outcome and text into one, in the order in which they first
/// occur.
pub(crate) fn grouped<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<GroupedFinding> {
    let mut groups: Vec<GroupedFinding> = Vec::new();
    for finding in findings {
        let same = groups.iter_mut().find(|group| {
            (group.rule, group.outcome, &group.text)
                == (finding.rule, finding.outcome, &finding.text)
        });
        match same {
            Some(group) => group.add(&finding.place),
            None => groups.push(GroupedFinding::of(finding)),
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
        let of_another_rule = GroupedFinding { rule: Rule::N24, ..groups[1].clone() };
        let told = lines(groups.iter().chain([&of_another_rule]), "network/acme/");
        let want = [
            "N22 (section 6.2.3): firmware not known (in measurements/…/Offline/a.json and 2 more)",
            "N22, N24: measurements/x/resnet50/Offline/a.json: model not known",
        ];
        assert_eq!(told, want);
        assert!(groups[0].to_string().contains(&run("c.json")));
    }

    #[test]
    fn findings_that_differ_in_figures_have_one_line() {
        let took = |ns: u64, place: &str| {
            let text = format!("Name() took {ns} ns, in which nothing crosses a network");
            Finding::fail(Rule::N14, place, text)
        };
        let findings = [
            took(210, "results/s/llama/Offline/performance/run_1"),
            took(190, "results/s/llama/Server/performance/run_1"),
            took(190, "results/s/bert/Server/performance/run_1"),
        ];
        let told = |findings: &[Finding]| lines(&grouped(findings), "");
        let want = "N14 (section 6.2.1): Name() took 210 ns, in which nothing crosses a network (in \
                    results/…/llama/Offline/performance/run_1 and 2 more, with other figures)";
        assert_eq!(told(&findings), [want]);
        // Names with digits are not figures.
        let other = |test: &str| Finding::fail(Rule::N34, "x", format!("{test} is missing"));
        assert_eq!(told(&[other("TEST01"), other("TEST04")]).len(), 2);
        let built = |revision: &str| {
            Finding::fail(
                Rule::N3,
                "x",
                format!("LoadGen 5.1.0 @ {revision} was built with uncommitted changes"),
            )
        };
        let same = told(&[built("6ad8e26f92"), built("6481ff4f8a")]);
        assert_eq!(
            same,
            [
                "N3 (section 5.1): x: LoadGen 5.1.0 @ 6ad8e26f92 was built with uncommitted changes (and 1 more of this kind)"
            ]
        );
    }

    #[test]
    fn one_cause_is_one_line_of_text() {
        let error = |what: &str| Finding::fail(Rule::N33, "log", format!("{LOGGED_ERROR}{what}"));
        let errors = ["lost a sample", "two\nlines\n", "\u{1b}[31mred"].map(error);
        let told = lines(&grouped(&errors), "");
        assert_eq!(
            told,
            [
                "N33 (section 5.1): log: LoadGen logged an error: lost a sample (and 2 more of this kind)"
            ]
        );
        let of_the_run = Finding::fail(Rule::N36, ".", "no table");
        let of_the_run = grouped([&of_the_run]);
        assert_eq!(of_the_run[0].to_string(), lines(&of_the_run, "")[0]);
        assert_eq!(lines(&of_the_run, ""), [format!("N36 ({}): no table", Rule::N36.source())]);
        let told = lines(&grouped(&errors[1..2]), "");
        assert_eq!(told, ["N33 (section 5.1): log: LoadGen logged an error: two; lines"]);
        assert!(!lines(&grouped(&errors[2..]), "")[0].contains('\u{1b}'));
        let of_submission =
            |rule, what: &str| Finding::cannot_tell(rule, "", format!("{NEEDS_SUBMISSION}{what}"));
        let both =
            [of_submission(Rule::N16, "the sources"), of_submission(Rule::N36, "the fields")];
        let want =
            "N16, N36: only a submission shows this: make a submission from its runs, and check it";
        assert_eq!(lines(&grouped(&both), ""), [want]);
    }
}
