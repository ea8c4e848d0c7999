//! From what an operator names to the addresses of nodes: hosts, host lists, names in the DNS, and files.
//!
//! - `entry.rs`: what is named, taken apart
//! - `host_list.rs`: `rack[1-8,12]-gpu[01-04]`, as Slurm writes it
//! - `records.rs`: the addresses that a name has in the DNS

mod entry;
mod host_list;
mod records;

use std::{
    collections::HashSet,
    net::SocketAddr,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use self::entry::Entry;
use crate::{address::Address, open_error::OpenError};

/// The most nodes that a list may stand for: the ids of a run's samples have room for so many streams.
pub const MOST_NODES: usize = 65_535;

/// The port of a node that is named without one; `sut-node` listens there by default.
pub const PORT: u16 = 50_051;

/// The longest file of nodes, in bytes.
pub const FILE_BYTES: u64 = 4 << 20;

/// Pause between two looks into the DNS.
const PAUSE: Duration = Duration::from_millis(500);

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
        /// What was named.
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
    /// One of the addresses is none.
    #[error(transparent)]
    Address(#[from] OpenError),
    /// The same address twice.
    #[error("--nodes: {0} is given twice")]
    Twice(String),
    /// A name has no address.
    #[error(
        "--nodes dns:{name}: no address after {} s: {why}. Are the nodes up, and is the name right? --connect-timeout says \
         how long to wait",
        waited.as_secs_f64()
    )]
    NoRecord {
        /// The name.
        name: String,
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

fn after(waited: Option<Duration>) -> String {
    waited
        .map(|time| {
            format!(" after {} s; --connect-timeout says how long to wait", time.as_secs_f64())
        })
        .unwrap_or_default()
}

/// What an operator says of the nodes.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// Entries with commas between them: `HOST:PORT`, host lists, `dns:NAME:PORT`, `@FILE`.
    pub named: &'a [String],
    /// The port of those that are named without one.
    pub port: u16,
    /// How many nodes there have to be; `None`: as many as there are.
    pub expected: Option<usize>,
    /// How long to wait for names in the DNS.
    pub patience: Duration,
}

impl Nodes<'_> {
    /// The addresses of all nodes, in the order in which they are named, those of a name in the DNS in ascending order. Looks
    /// into the DNS until each name has an address and the expected number is there.
    pub fn discover(&self) -> Result<Vec<String>, DiscoveryError> {
        self.discover_with(records::look_up)
    }

    /// Checks what can be checked without a look into the DNS.
    pub fn check(&self) -> Result<(), DiscoveryError> {
        let entries = entry::read(self.named, self.port)?;
        self.checked(entries.iter().filter_map(Entry::address).cloned().collect()).map(drop)
    }

    fn discover_with(
        &self,
        look_up: impl Fn(&str, u16, Duration) -> Result<Vec<SocketAddr>, String>,
    ) -> Result<Vec<String>, DiscoveryError> {
        let entries = entry::read(self.named, self.port)?;
        let waits = entries.iter().any(|entry| entry.address().is_none());
        let deadline = Instant::now() + self.patience;
        loop {
            let (mut found, mut missing) = (Vec::new(), None);
            for entry in &entries {
                match entry {
                    Entry::Address(address) => found.push(address.clone()),
                    Entry::Name { name, port, family } => {
                        let left = deadline.saturating_duration_since(Instant::now());
                        match look_up(name, *port, left).map(|all| family.of(all)) {
                            Ok(all) if !all.is_empty() => found.extend(all.iter().map(|peer| {
                                // A certificate has no dot at its end.
                                format!("{}@{peer}", name.trim_end_matches('.'))
                            })),
                            Ok(_) => missing = Some((name, "it has none of that family".into())),
                            Err(why) => missing = Some((name, why)),
                        }
                    }
                }
            }
            let is_late = Instant::now() >= deadline;
            let few = self.expected.is_some_and(|expected| found.len() < expected);
            match missing {
                Some((name, why)) if is_late => {
                    let (name, waited) = (name.clone(), self.patience);
                    return Err(DiscoveryError::NoRecord { name, why, waited });
                }
                None if is_late || !waits || !few => {
                    let found = self.checked(found)?;
                    return self.counted(found, waits.then_some(self.patience).filter(|_| few));
                }
                _ => {}
            }
            thread::sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now())));
        }
    }

    fn counted(
        &self,
        found: Vec<String>,
        waited: Option<Duration>,
    ) -> Result<Vec<String>, DiscoveryError> {
        match self.expected {
            Some(expected) if expected != found.len() => {
                Err(DiscoveryError::Count { expected, found: found.len(), waited })
            }
            _ => Ok(found),
        }
    }

    /// Addresses that are addresses, each once.
    fn checked(&self, addresses: Vec<String>) -> Result<Vec<String>, DiscoveryError> {
        let mut seen = HashSet::new();
        for text in &addresses {
            let address = Address::parse(text)?;
            let host =
                address.ip().map_or_else(|| address.host.to_lowercase(), |ip| ip.to_string());
            if !seen.insert((host, address.port)) {
                return Err(DiscoveryError::Twice(text.clone()));
            }
        }
        if addresses.len() > MOST_NODES {
            let named = format!("({} nodes)", addresses.len());
            return Err(DiscoveryError::Named {
                named,
                why: format!("a run has at most {MOST_NODES}"),
            });
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests;
