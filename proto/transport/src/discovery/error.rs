//! Errors of the discovery of nodes.

use std::time::Duration;

/// Error of the discovery of nodes.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// No node is named.
    #[error(
        "no nodes; give {option} HOST:PORT,…, a host list such as rack[1-8], dns:NAME:PORT, or @FILE"
    )]
    NoNodes {
        /// Option that names the nodes.
        option: &'static str,
    },
    /// An entry is invalid, or a file cannot be used.
    #[error("{option} {named}: {why}")]
    Named {
        /// Option that names the nodes.
        option: &'static str,
        /// Text of the entry; for an entry in a file, also the path and the line.
        named: String,
        /// Fault of the entry or file.
        why: String,
    },
    /// Two entries stand for the same address.
    #[error("{option} {second}: {address} is given twice{}", beside(first, second))]
    Duplicate {
        /// Option that names the nodes.
        option: &'static str,
        /// Address that occurs twice.
        address: String,
        /// First entry that stands for the address.
        first: String,
        /// Second entry that stands for the address.
        second: String,
    },
    /// A name in the DNS has no address.
    #[error(
        "{option} {named}: no address after {} s: {why}. Are the nodes up, and is the name right? --connect-timeout sets \
         how long to wait",
        waited.as_secs_f64()
    )]
    NoRecord {
        /// Option that names the nodes.
        option: &'static str,
        /// Text of the entry; for an entry in a file, also the path and the line.
        named: String,
        /// Error of the resolver.
        why: String,
        /// Time for which the lookup was repeated.
        waited: Duration,
    },
    /// The number of nodes differs from the expected number.
    #[error("--nodes-expected is {expected}, but {option} has {found}{}", after(*waited))]
    Count {
        /// Option that names the nodes.
        option: &'static str,
        /// Expected number of nodes.
        expected: usize,
        /// Number of nodes that were found.
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
