//! Facts from the files of a run: LoadGen's logs, the machines in the evidence, and the documents of
//! a submission.

pub(crate) mod fabric;
pub(crate) mod interfaces;
pub(crate) mod machines;
pub(crate) mod node_software;
pub mod official_log;
pub(crate) mod rate;

use std::collections::BTreeMap;

/// Lists each text once, in alphabetical order, with its count: `2 x ConnectX-6 Dx`.
pub(crate) fn count_texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text.as_ref().into()).or_default() += 1;
    }
    counts.iter().map(|(text, count)| format!("{count} x {text}")).collect()
}
