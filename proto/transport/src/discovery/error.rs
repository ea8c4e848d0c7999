//! Why there are no nodes to talk to.

use std::time::Duration;

/// Why there are no nodes to talk to.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// Nothing was named.
    #[error(
        "no nodes; give {option} HOST:PORT,…, a host list such as rack[1-8], dns:NAME:PORT, or @FILE"
    )]
    NoNodes {
        /// The option.
        option: &'static str,
    },
    /// An entry that makes no sense, or a file that cannot be used.
    #[error("{option} {named}: {why}")]
    Named {
        /// The option.
        option: &'static str,
        /// The user's text; of an entry in a file with its place there.
        named: String,
        /// The fault.
        why: String,
    },
    /// The same address twice.
    #[error("{option} {second}: {address} is given twice{}", beside(first, second))]
    Twice {
        /// The option.
        option: &'static str,
        /// The address.
        address: String,
        /// The first text that stands for it.
        first: String,
        /// The second text.
        second: String,
    },
    /// A name has no address.
    #[error(
        "{option} {named}: no address after {} s: {why}. Are the nodes up, and is the name right? --connect-timeout says \
         how long to wait",
        waited.as_secs_f64()
    )]
    NoRecord {
        /// The option.
        option: &'static str,
        /// The user's text; of an entry in a file with its place there.
        named: String,
        /// What the resolver says.
        why: String,
        /// How long it was asked.
        waited: Duration,
    },
    /// More nodes, or fewer, than were said to come.
    #[error("--nodes-expected: expected {expected} nodes, and {option} has {found}{}", after(*waited))]
    Count {
        /// The option.
        option: &'static str,
        /// Nodes that were expected.
        expected: usize,
        /// Nodes that are there.
        found: usize,
        /// How long more were waited for.
        waited: Option<Duration>,
    },
}

fn beside(first: &str, second: &str) -> String {
    if first == second { String::new() } else { format!(", also as {first}") }
}

fn after(waited: Option<Duration>) -> String {
    waited
        .map(|time| {
            format!(" after {} s; --connect-timeout says how long to wait", time.as_secs_f64())
        })
        .unwrap_or_default()
}
