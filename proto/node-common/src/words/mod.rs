//! Enumerations that the command line, settings files, records and reports share.
//!
//! A variant's name in kebab case, or a name of MLPerf (`TEST07`), is its only spelling: clap reads
//! and lists it (`clap::ValueEnum`), serde reads and writes it, and [`Display`](std::fmt::Display)
//! prints it. The encodings of payloads and the decoding of outputs are part of the wire contract,
//! so `netdiv.v1.Encoding` and `netdiv.v1.Decoding` are generated with the same derives.
//! [`AnswerTokens`] has no spelling, because LoadGen's settings decide it.
//!
//! [`did_you_mean`] suggests known values for an unknown one, and [`todos`] finds the placeholders
//! for values.

/// Declares an enumeration whose names are its words.
macro_rules! word {
    ($(#[$attribute:meta])* pub enum $name:ident { $($variants:tt)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[derive(strum::Display, strum::IntoStaticStr)]
        #[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum $name { $($variants)* }

        impl $name {
            /// Returns the name on the command line and in records.
            pub fn word(self) -> &'static str {
                self.into()
            }
        }
    };
}

mod enumerations;
mod suggestion;
mod todo;

pub use enumerations::{
    DatasetPart, Division, EngineFacts, Mode, PartName, PrefixCaching, Scenario,
    SpeculativeDecoding, Transport,
};
pub use suggestion::{did_you_mean, nearest, with_suggestion};
pub use todo::{TODO, Todo, is_todo, refuse_dates, todos};

/// Formats a number of things: `1 round`, `3 rounds`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Facts that LoadGen receives about the tokens of a response. A token is an int32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerTokens {
    /// No facts: LoadGen does not count tokens.
    #[default]
    Uncounted,
    /// Number of tokens.
    Counted,
    /// Number of tokens, and the first token as soon as it exists.
    First,
}

#[cfg(all(test, feature = "clap"))]
mod tests {
    use std::fmt::Debug;

    use clap::ValueEnum;
    use serde::{Serialize, de::DeserializeOwned};

    use super::*;

    /// Checks that clap, serde and `Display` agree on every name.
    fn agree<W>(words: &[&str])
    where
        W: ValueEnum + Serialize + DeserializeOwned + ToString + PartialEq + Debug,
    {
        assert_eq!(W::value_variants().iter().map(ToString::to_string).collect::<Vec<_>>(), words);
        for word in W::value_variants() {
            let text = word.to_string();
            assert_eq!(W::from_str(&text, false).as_ref(), Ok(word));
            let json = serde_json::Value::from(text);
            assert_eq!(serde_json::to_value(word).ok().as_ref(), Some(&json));
            assert_eq!(serde_json::from_value::<W>(json).ok().as_ref(), Some(word));
        }
    }

    #[test]
    fn a_word_is_the_same_everywhere() {
        agree::<Scenario>(&["offline", "server", "single-stream", "multi-stream"]);
        agree::<Mode>(&["performance", "accuracy", "submission", "find-peak"]);
        agree::<PartName>(&["performance", "accuracy", "TEST07"]);
        agree::<Division>(&["exploratory", "closed", "network", "open"]);
        agree::<PrefixCaching>(&["off", "cannot-tell", "on"]);
        agree::<Transport>(&["grpc", "quic"]);
    }
}
