//! What is found about a rule.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the 38 MUSTs of the Network division, as docs/RULES.md numbers them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Rule(u8);

/// What each rule asks, and where it stands: sections of the MLPerf Inference rules v5.0, or who else asks.
const RULES: [(&str, &str); 38] = [
    ("6.2", "datacenter suite only"),
    ("6.2, 4.1.1", "all rules of the Closed division"),
    ("5.1", "LoadGen unmodified, from a tagged revision"),
    ("6.2.2", "SUT and QDL on physically separate systems"),
    ("6.2.2", "a permitted fabric"),
    ("6.2.2", "OSI layers 1 to 4 can be told from the metadata"),
    ("6.2.1", "no pre-processing, conversion or padding in the QDL"),
    ("6.2.1", "no post-processing of responses in the QDL"),
    ("6.2.1", "no batching in the QDL"),
    ("6.2.1, 6.2.3", "no caching of queries or responses"),
    ("6.2.1", "responses are decompressed inside the timed region"),
    ("6.2.1", "a single SUT to LoadGen"),
    ("6.2.1", "the SUT's name contains \"Network SUT\""),
    ("6.2.1", "Name() makes a round trip over the network"),
    ("6.2.1", "Name() asks each node; each has a name of its own"),
    ("6.2.1", "the QDL's source is in the submission"),
    ("6.2.1", "the session layer is documented"),
    ("6.2.3", "queries and responses all cross the network"),
    ("6.2.3", "batching, pre- and post-processing at the SUT"),
    ("6.2.3", "the SUT's configuration is named"),
    ("6.2.3", "everything outside the LoadGen node is the SUT"),
    ("6.2.3", "network interfaces of all components are described"),
    ("6.2.3", "a system diagram with its text"),
    ("6.2.3", "an available system names all its versions"),
    ("6.2.4", "compression only as the table allows"),
    ("6.2.4", "token ids are what an LLM is sent"),
    ("Appendix B, 5.1", "the NICs carry what Appendix B asks"),
    ("5.1", "a description of the system's architecture"),
    ("4.1.1", "ECC is on"),
    ("5.1", "the same responses in accuracy and performance mode"),
    ("2.4", "no randomness but the announced seeds"),
    ("3, 4.1.1", "scenarios, duration and number of queries"),
    ("5.1", "the result is VALID and no log has an error"),
    ("submission rules", "compliance tests"),
    ("submission rules", "files of a submission"),
    ("submission checker", "is_network and the fields of a network system"),
    ("2.8", "networking can be compared in an audit"),
    ("6.2", "what does not conform goes to the Open division"),
];

impl Rule {
    /// Rule `number`, from 1 to 38.
    pub const fn new(number: u8) -> Self {
        assert!(1 <= number && number <= 38, "rules are N1 to N38");
        Self(number)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=38).map(Self)
    }

    /// The section that asks for it.
    pub fn section(self) -> &'static str {
        RULES[usize::from(self.0) - 1].0
    }

    /// What it asks.
    pub fn text(self) -> &'static str {
        RULES[usize::from(self.0) - 1].1
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "N{}", self.0)
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

impl TryFrom<String> for Rule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.strip_prefix('N').and_then(|number| number.parse().ok());
        match number {
            Some(number @ 1..=38) => Ok(Self(number)),
            _ => Err(format!("`{text}` is no rule from N1 to N38")),
        }
    }
}

/// Whether a rule is kept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is.
    Pass,
    /// It cannot be told; the text says what is missing.
    CannotTell,
    /// It is broken.
    Fail,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Whether it is kept.
    pub outcome: Outcome,
    /// The file, folder, node or setting that it is about; empty when it is about all.
    pub place: String,
    /// What was seen, and what to do about it.
    pub text: String,
}

impl Finding {
    /// The rule is kept.
    pub fn pass(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::Pass, place: place.into(), text: text.into() }
    }

    /// The rule is broken.
    pub fn fail(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::Fail, place: place.into(), text: text.into() }
    }

    /// It cannot be told.
    pub fn cannot_tell(rule: Rule, place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { rule, outcome: Outcome::CannotTell, place: place.into(), text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, text, .. } = self;
        let section = rule.section();
        if place.is_empty() {
            write!(f, "{rule} (section {section}): {text}")
        } else {
            write!(f, "{rule} (section {section}): {place}: {text}")
        }
    }
}
