//! A link between two ports, as `submission.toml` has it.

use std::fmt;

use super::submission_toml::Link;

/// An end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    /// Name of the machine or the switch.
    pub(super) device: String,
    /// Name of the interface or the port.
    pub(super) port: String,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.port)
    }
}

/// A link whose ends exist.
#[derive(Debug, Clone)]
pub(super) struct Cable<'a> {
    pub(super) ends: [End; 2],
    pub(super) link: &'a Link,
}

impl Cable<'_> {
    /// Its media, rate and length.
    pub(super) fn text(&self) -> String {
        let Link { media, rate, length, .. } = self.link;
        let length = length.as_ref().map_or_else(String::new, |length| format!(", {length}"));
        format!("{media}, {rate}{length}")
    }
}
