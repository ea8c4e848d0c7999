//! Errors of the discovery of nodes.

use std::time::Duration;

/// Error of the discovery of nodes.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DiscoveryError {
    /// No node is named.
    #[error(
        "no nodes; give {option} HOST:PORT,…, a host list such as rack[1-8], dns:NAME:PORT, or @FILE"
    )]
    NoNodes { option: &'static str },
    /// An entry is invalid, or a file cannot be used.
    #[error("{option} {named}: {why}")]
    Named {
        option: &'static str,
        /// Text of the entry; for an entry in a file, also the path and the line.
        named: String,
        why: String,
    },
    /// Two entries stand for the same address.
    #[error("{option} {second}: {address} is given twice{}", beside(first, second))]
    Duplicate { option: &'static str, address: String, first: String, second: String },
    /// A name in the DNS has no address.
    #[error(
        "{option} {named}: no address after {} s: {why}. Are the nodes up, and is the name right? --connect-timeout sets \
         how long to wait",
        waited.as_secs_f64()
    )]
    NoRecord {
        option: &'static str,
        /// Text of the entry; for an entry in a file, also the path and the line.
        named: String,
        why: String,
        waited: Duration,
    },
    /// The number of nodes differs from the expected number.
    #[error("--nodes-expected is {expected}, but {option} has {found}{}", after(*waited))]
    Count {
        option: &'static str,
        expected: usize,
        found: usize,
        /// Time for which the discovery waited for more nodes; `None` if it did not wait.
        waited: Option<Duration>,
    },
}

fn beside(first: &str, second: &str) -> String {
    if first == second { String::new() } else { format!(", also as {first}") }
}

fn after(waited: Option<Duration>) -> String {
    waited
        .map(|time| {
            format!(" after {} s; --connect-timeout sets how long to wait", time.as_secs_f64())
        })
        .unwrap_or_default()
}
