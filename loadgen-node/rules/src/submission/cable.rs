//! A link between two ports, as `submission.toml` has it.

use super::submission_toml::Link;
pub(super) use crate::derived::cluster::End;

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
