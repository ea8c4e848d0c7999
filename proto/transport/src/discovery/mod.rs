//! From what an operator names to the addresses of nodes: hosts, host lists, names in the DNS, and files.
//!
//! All options that take nodes or hosts read them by this grammar, which `docs/OPERATING.md` describes.
//!
//! - `entry.rs`: what is named, taken apart
//! - `host_list.rs`: `rack[1-8,12]-gpu[01-04]`, as Slurm writes it
//! - `records.rs`: the addresses that a name has in the DNS

mod entry;
mod error;
mod host_list;
mod records;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use self::entry::{Entry, Found, Target};
pub use self::{
    entry::{FILE_BYTES, MOST_NODES, with_files},
    error::DiscoveryError,
};
use crate::{address::Address, open_error::OpenError, waiting::Wait};

/// The port of a node that is named without one; `sut-node` listens there by default.
pub const PORT: u16 = 50_051;

/// Pause between two looks into the DNS.
const PAUSE: Duration = Duration::from_millis(500);

/// What an operator says of the nodes.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// The option that names them, for errors.
    pub option: &'static str,
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

    /// The addresses that are named, in that order, without a look into the DNS: names in it are left out, and so is the
    /// expected number where there are some.
    pub fn addresses(&self) -> Result<Vec<String>, DiscoveryError> {
        let entries = self.entries()?;
        let found = self.checked(entries.iter().filter_map(Entry::node).collect())?;
        if found.len() < entries.len() { Ok(found) } else { self.counted(found, None) }
    }

    /// The hosts that certificates have to be for, each once, with their ports: for names in the DNS the names, without a look
    /// into it.
    pub fn hosts(&self) -> Result<Vec<(String, u16)>, DiscoveryError> {
        let entries = self.entries()?;
        self.checked(entries.iter().filter_map(Entry::node).collect())?;
        let mut seen = HashSet::new();
        let host = |entry: &Entry| match &entry.target {
            Target::Address(text) => {
                let address = parsed(entry, text)?;
                Ok((address.certified_host().to_owned(), address.port))
            }
            Target::Name { name, port, .. } => Ok((name.trim_end_matches('.').to_owned(), *port)),
        };
        let hosts: Vec<_> = entries.iter().map(host).collect::<Result<_, DiscoveryError>>()?;
        Ok(hosts.into_iter().filter(|(host, _)| seen.insert(host.clone())).collect())
    }

    fn entries(&self) -> Result<Vec<Entry>, DiscoveryError> {
        entry::read(self.option, self.named, self.port)
    }

    fn discover_with(
        &self,
        look_up: impl Fn(&str, u16, Duration) -> Result<Vec<SocketAddr>, String>,
    ) -> Result<Vec<String>, DiscoveryError> {
        let entries = self.entries()?;
        let waits = entries.iter().any(|entry| entry.node().is_none());
        let deadline = Instant::now() + self.patience;
        let mut wait = Wait::begin();
        loop {
            let (mut found, mut missing) = (Vec::new(), Vec::new());
            for entry in &entries {
                let Target::Name { name, port, family } = &entry.target else {
                    found.extend(entry.node());
                    continue;
                };
                let left = deadline.saturating_duration_since(Instant::now());
                let left = wait.before_announcement(left);
                match look_up(name, *port, left).and_then(|all| family.of(all)) {
                    Ok(all) => found.extend(all.iter().map(|peer| {
                        // A certificate has no dot at its end.
                        let address = format!("{}@{peer}", name.trim_end_matches('.'));
                        Found { entry, address }
                    })),
                    Err(why) => missing.push((&entry.written[..], why)),
                }
            }
            let is_late = Instant::now() >= deadline;
            let few = self.expected.is_some_and(|expected| found.len() < expected);
            let named = missing.iter().map(|(named, _)| *named).collect::<Vec<_>>().join(", ");
            if missing.is_empty() && (is_late || !waits || !few) {
                let found = self.checked(found)?;
                return self.counted(found, waits.then_some(self.patience).filter(|_| few));
            }
            if !missing.is_empty() && is_late {
                let reasons: BTreeSet<_> = missing.into_iter().map(|(_, why)| why).collect();
                let why = reasons.into_iter().collect::<Vec<_>>().join("; ");
                let (option, waited) = (self.option, self.patience);
                return Err(DiscoveryError::NoRecord { option, named, why, waited });
            }
            let expected = self.expected.unwrap_or_default();
            let awaited = match missing.len() {
                0 => format!("{expected} nodes, of which {} are there", found.len()),
                _ => named,
            };
            wait.announce(awaited, self.patience);
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
                let (option, found) = (self.option, found.len());
                Err(DiscoveryError::Count { option, expected, found, waited })
            }
            _ => Ok(found),
        }
    }

    /// Addresses that are addresses, each once.
    fn checked(&self, found: Vec<Found<'_>>) -> Result<Vec<String>, DiscoveryError> {
        let mut seen = HashMap::new();
        for Found { entry, address: text } in &found {
            let address = parsed(entry, text)?;
            let place = (address.canonical_host(), address.port);
            if let Some(first) = seen.insert(place, &entry.written) {
                let (first, second) = (first.clone(), entry.written.clone());
                let (option, address) = (self.option, text.clone());
                return Err(DiscoveryError::Twice { option, address, first, second });
            }
        }
        if found.len() > MOST_NODES {
            let named = format!("({} nodes)", found.len());
            let why = format!("a run has at most {MOST_NODES}");
            return Err(DiscoveryError::Named { option: self.option, named, why });
        }
        Ok(found.into_iter().map(|found| found.address).collect())
    }
}

/// The address of an entry.
fn parsed(entry: &Entry, text: &str) -> Result<Address, DiscoveryError> {
    Address::parse(text).map_err(|error| match error {
        OpenError::BadAddress { why, .. } => entry.refused(why),
        error => entry.refused(error.to_string()),
    })
}

#[cfg(test)]
mod tests;
