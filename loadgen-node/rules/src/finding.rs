//! What is found about a rule.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator as _;

/// Makes the enum of the rules of their numbers, the sections that ask for them, and what they ask.
macro_rules! rules {
    ($($name:ident $section:literal: $text:literal;)*) => {
        /// One of the 38 MUSTs of the Network division, as docs/RULES.md numbers them.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
            strum::Display, strum::EnumIter,
        )]
        #[schemars(with = "String")]
        pub enum Rule {
            $(#[doc = $text] $name,)*
        }

        impl Rule {
            /// The section that asks for it.
            pub const fn section(self) -> &'static str {
                match self {
                    $(Self::$name => $section,)*
                }
            }

            /// What it asks.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

// Sections of the MLPerf Inference rules v5.0, or who else asks.
rules! {
    N1 "6.2": "datacenter suite only";
    N2 "6.2, 4.1.1": "all rules of the Closed division";
    N3 "5.1": "LoadGen unmodified, from a tagged revision";
    N4 "6.2.2": "SUT and QDL on physically separate systems";
    N5 "6.2.2": "a permitted fabric";
    N6 "6.2.2": "OSI layers 1 to 4 can be told from the metadata";
    N7 "6.2.1": "no pre-processing, conversion or padding in the QDL";
    N8 "6.2.1": "no post-processing of responses in the QDL";
    N9 "6.2.1": "no batching in the QDL";
    N10 "6.2.1, 6.2.3": "no caching of queries or responses";
    N11 "6.2.1": "responses are decompressed inside the timed region";
    N12 "6.2.1": "a single SUT to LoadGen";
    N13 "6.2.1": "the SUT's name contains \"Network SUT\"";
    N14 "6.2.1": "Name() makes a round trip over the network";
    N15 "6.2.1": "Name() asks each node; each has a name of its own";
    N16 "6.2.1": "the QDL's source is in the submission";
    N17 "6.2.1": "the session layer is documented";
    N18 "6.2.3": "queries and responses all cross the network";
    N19 "6.2.3": "batching, pre- and post-processing at the SUT";
    N20 "6.2.3": "the SUT's configuration is named";
    N21 "6.2.3": "everything outside the LoadGen node is the SUT";
    N22 "6.2.3": "network interfaces of all components are described";
    N23 "6.2.3": "a system diagram with its text";
    N24 "6.2.3": "an available system names all its versions";
    N25 "6.2.4": "compression only as the table allows";
    N26 "6.2.4": "token ids are what an LLM is sent";
    N27 "Appendix B, 5.1": "the NICs carry what Appendix B asks";
    N28 "5.1": "a description of the system's architecture";
    N29 "4.1.1": "ECC is on";
    N30 "5.1": "the same responses in accuracy and performance mode";
    N31 "2.4": "no randomness but the announced seeds";
    N32 "3, 4.1.1": "scenarios, duration and number of queries";
    N33 "5.1": "the result is VALID and no log has an error";
    N34 "submission rules": "compliance tests";
    N35 "submission rules": "files of a submission";
    N36 "submission checker": "is_network and the fields of a network system";
    N37 "2.8": "networking can be compared in an audit";
    N38 "6.2": "what does not conform goes to the Open division";
}

impl Rule {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::iter()
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
