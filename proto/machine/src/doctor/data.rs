//! Texts of all findings, read from `findings.toml`, with their severities and remedies.

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing
    Note,
    /// A run works, but may measure worse
    Warning,
    /// A run does not work, or not correctly
    Problem,
}

/// Remedy of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Shell command, for root if it changes the system.
    Command(String),
    /// Advice, if no command fixes it.
    Advice(String),
}

/// Description of a finding. Names in braces are placeholders for facts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindingDescription {
    /// Severity, or several of them, the highest first.
    pub severity: Vec<Severity>,
    /// Condition under which the doctor reports the finding.
    pub when: String,
    /// Consequence for a run if the cause is not fixed.
    pub cost: String,
    /// Observation, with placeholders for the figures.
    pub text: String,
    /// Remark on the remedy for the documentation, such as the condition under which it applies.
    #[serde(default)]
    pub remark: String,
    /// Remedies by name; `only` if there is a single one.
    pub remedy: BTreeMap<String, Remedy>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    finding: BTreeMap<String, FindingDescription>,
    unknown: BTreeMap<String, String>,
}

// A test compares the file with the names in the code.
static DATA: LazyLock<Data> =
    LazyLock::new(|| toml::from_str(include_str!("findings.toml")).unwrap_or_default());

static NOTHING: LazyLock<FindingDescription> = LazyLock::new(FindingDescription::default);

/// Fact for a text: the name of a placeholder, and the value that replaces it.
pub(crate) type Fact = (&'static str, String);

/// Returns the description of the finding that has this name in `findings.toml`.
pub(crate) fn about(word: &str) -> &'static FindingDescription {
    DATA.finding.get(word).unwrap_or(&NOTHING)
}

/// Returns the text that reports an unreadable fact. `word` is its name in `findings.toml`; `facts`
/// replace its placeholders.
pub(crate) fn unknown(word: &str, facts: &[Fact]) -> String {
    fill(DATA.unknown.get(word).map_or(word, String::as_str), facts)
}

/// Replaces the names of facts in braces by their values. A name in the value of a fact is not
/// replaced.
pub(crate) fn fill(text: &str, facts: &[Fact]) -> String {
    replace_names(text, |name| {
        facts.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    })
}

/// Returns a remedy as a cell of a Markdown table. Placeholders are in capitals: `{link}` becomes
/// `LINK`.
pub(crate) fn markdown(remedy: &Remedy) -> String {
    let (text, quote) = match remedy {
        Remedy::Command(text) => (text, "`"),
        Remedy::Advice(text) => (text, ""),
    };
    let cell = replace_names(text, |name| {
        name.bytes().all(|byte| byte.is_ascii_lowercase()).then(|| name.to_uppercase())
    });
    format!("{quote}{}{quote}", cell.replace('|', "\\|"))
}

/// Replaces each name in braces by the text that `value` returns for it. Names without a text
/// remain.
fn replace_names(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        replaced += before;
        let found = behind.split_once('}').and_then(|(name, behind)| Some((value(name)?, behind)));
        match found {
            Some((value, behind)) => {
                replaced += &value;
                rest = behind;
            }
            None => {
                replaced.push('{');
                rest = behind;
            }
        }
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Id;

    #[test]
    fn the_file_describes_every_finding_and_no_other() {
        let data: Data = toml::from_str(include_str!("findings.toml")).unwrap();
        let mut ids: Vec<_> = Id::all().map(Id::word).collect();
        ids.sort_unstable();
        assert_eq!(data.finding.keys().map(String::as_str).collect::<Vec<_>>(), ids);
        for (word, about) in &data.finding {
            assert!(!about.severity.is_empty() && !about.remedy.is_empty(), "{word}");
            assert!(about.severity.is_sorted_by(|a, b| a > b), "{word}: the gravest comes first");
            assert!(about.cost.ends_with('.') && !about.text.is_empty(), "{word}");
            assert!(![&about.when, &about.cost].iter().any(|text| text.contains('|')), "{word}");
        }
    }

    #[test]
    fn a_fact_is_filled_in_once() {
        let facts = [("a", "{b}".to_owned()), ("b", "7".to_owned())];
        assert_eq!(fill("{a} {b} {c} {print $1} {", &facts), "{b} 7 {c} {print $1} {");
        let command = Remedy::Command("sysctl {key} | awk '{print $1}'".into());
        assert_eq!(markdown(&command), "`sysctl KEY \\| awk '{print $1}'`");
    }
}
