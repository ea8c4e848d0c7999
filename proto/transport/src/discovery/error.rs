//! Why there are no nodes to talk to.

use std::{path::PathBuf, time::Duration};

/// Why there are no nodes to talk to.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// Nothing was named.
    #[error(
        "no nodes; give --nodes HOST:PORT,…, a host list such as rack[1-8], dns:NAME:PORT, or @FILE"
    )]
    NoNodes,
    /// What was named makes no sense.
    #[error("--nodes {named}: {why}")]
    Named {
        /// The user's text; of an entry in a file with its place there.
        named: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file of nodes cannot be used.
    #[error("--nodes @{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The same address twice.
    #[error("--nodes {second}: {address} is given twice{}", beside(first, second))]
    Twice {
        /// The address.
        address: String,
        /// The first text that stands for it.
        first: String,
        /// The second text.
        second: String,
    },
    /// A name has no address.
    #[error(
        "--nodes {named}: no address after {} s: {why}. Are the nodes up, and is the name right? --connect-timeout says \
         how long to wait",
        waited.as_secs_f64()
    )]
    NoRecord {
        /// The user's text; of an entry in a file with its place there.
        named: String,
        /// What the resolver says.
        why: String,
        /// How long it was asked.
        waited: Duration,
    },
    /// More nodes, or fewer, than were said to come.
    #[error("--nodes-expected {expected}: --nodes stands for {found}{}", after(*waited))]
    Count {
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
