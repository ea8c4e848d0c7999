//! Things of a kind, counted.

use std::collections::BTreeMap;

/// Each text once, in order, with how often it is there: `2 x ConnectX-6 Dx`.
pub(crate) fn counted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text.as_ref().into()).or_default() += 1;
    }
    counts.iter().map(|(text, count)| format!("{count} x {text}")).collect()
}
