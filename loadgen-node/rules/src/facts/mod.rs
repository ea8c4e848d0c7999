//! What the files of a run say, read once: each kind of file has one reader, and so have the machines in the evidence.
//!
//! - [`official_log`]: LoadGen's logs
//! - [`machines`]: the machines of a run and what tells them apart; [`interfaces`]: which adapters carry their traffic
//! - [`running`]: what runs at the nodes
//! - [`measurements`]: what the maker of a measurements file takes from the record, and its check compares
//! - [`markdown_links`]: where a document leads
//! - [`fabric`]: the permitted fabrics; [`rate`]: bits per second, read and written

pub(crate) mod fabric;
pub(crate) mod interfaces;
pub(crate) mod machines;
pub(crate) mod markdown_links;
pub(crate) mod measurements;
pub mod official_log;
pub(crate) mod rate;
pub(crate) mod running;

use std::collections::BTreeMap;

/// Each text once, in order, with how often it is there: `2 x ConnectX-6 Dx`.
pub(crate) fn counted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text.as_ref().into()).or_default() += 1;
    }
    counts.iter().map(|(text, count)| format!("{count} x {text}")).collect()
}
