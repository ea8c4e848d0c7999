//! Discovery: from the entries of an operator to the addresses of nodes. Entries are hosts, host
//! lists, names in the DNS, and files.
//!
//! All options that take nodes or hosts use this grammar, which `docs/OPERATING.md` describes.
//!
//! - `entry.rs`: parsing of entries
//! - `host_list.rs`: `rack[1-8,12]-gpu[01-04]`, as Slurm writes it
//! - `records.rs`: the addresses of a name in the DNS

mod entry;
mod host_list;
mod records;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

pub use self::entry::{DiscoveryError, FILE_BYTES, MOST_NODES, with_files};
use self::entry::{Entry, ResolvedNode, Target};
use crate::{address::Address, open_error::OpenError, waiting::Wait};

/// Port of a node that is named without a port. `sut-node` listens on it by default.
pub const PORT: u16 = 50_051;

/// Pause between two lookups in the DNS.
const PAUSE: Duration = Duration::from_millis(500);

/// Nodes that an operator names in an option, and the limits of their discovery.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// Option that names the nodes, for errors.
    pub option: &'static str,
    /// Values of the option. Each has entries, separated by commas: `HOST:PORT`, host lists,
    /// `dns:NAME:PORT`, `@FILE`.
    pub named: &'a [String],
    /// Port of nodes that are named without a port.
    pub port: u16,
    /// Expected number of nodes; `None`: any number.
    pub expected: Option<usize>,
    /// Maximum time to wait until names in the DNS have addresses.
    pub patience: Duration,
}

impl Nodes<'_> {
    /// Returns the addresses of all nodes in the order of the entries, and the addresses of each
    /// name in the DNS in ascending order. Repeats the lookup until each name has an address and
    /// the expected number is found.
    pub fn discover(&self) -> Result<Vec<String>, DiscoveryError> {
        self.discover_with(records::look_up)
    }

    /// Returns the addresses in the entries, in their order, without a lookup in the DNS. Names in
    /// the DNS are left out; if there are such names, the expected number is not checked.
    pub fn addresses(&self) -> Result<Vec<String>, DiscoveryError> {
        let entries = self.entries()?;
        let found = self.checked(entries.iter().filter_map(Entry::node).collect())?;
        if found.len() < entries.len() { Ok(found) } else { self.counted(found, None) }
    }

    /// Returns the hosts for which the nodes need certificates, each once, with the port of its
    /// first entry. The host of a name in the DNS is the name itself, which is not looked up.
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
        let mut wait = Wait::begin("--connect-timeout", self.patience);
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
                        // The name in a certificate has no dot at its end.
                        let address = format!("{}@{peer}", name.trim_end_matches('.'));
                        ResolvedNode { entry, address }
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
            let expected = self.expected.unwrap_or_default();
            let awaited = match missing.len() {
                0 => format!("node {} of {expected}", found.len() + 1),
                _ => named.clone(),
            };
            wait.announce(awaited);
            if !missing.is_empty() && is_late {
                let reasons: BTreeSet<_> = missing.into_iter().map(|(_, why)| why).collect();
                let why = reasons.into_iter().collect::<Vec<_>>().join("; ");
                let waited = self.patience.as_secs_f64();
                let why = format!(
                    "no address after {waited} s: {why}. Are the nodes up, and is the name right? --connect-timeout sets how \
                     long to wait"
                );
                return Err(DiscoveryError::named(self.option, &named, why));
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
                let (option, found) = (self.option, found.len());
                let after = |time: Duration| {
                    format!(
                        " after {} s; --connect-timeout sets how long to wait",
                        time.as_secs_f64()
                    )
                };
                let after = waited.map(after).unwrap_or_default();
                Err(DiscoveryError(format!(
                    "--nodes-expected is {expected}, but {option} has {found}{after}"
                )))
            }
            _ => Ok(found),
        }
    }

    /// Checks that the addresses are valid and different, and that there are not too many. Returns
    /// them in the same order.
    fn checked(&self, found: Vec<ResolvedNode<'_>>) -> Result<Vec<String>, DiscoveryError> {
        let mut seen = HashMap::new();
        for ResolvedNode { entry, address: text } in &found {
            let address = parsed(entry, text)?;
            let place = (address.canonical_host(), address.port);
            if let Some(first) = seen.insert(place, &entry.written) {
                let is_same = *first == entry.written;
                let beside = if is_same { String::new() } else { format!(", also as {first}") };
                return Err(entry.refused(format!("{text} is given twice{beside}")));
            }
        }
        if found.len() > MOST_NODES {
            let named = format!("({} nodes)", found.len());
            let why = format!("a run has at most {MOST_NODES}");
            return Err(DiscoveryError::named(self.option, &named, why));
        }
        Ok(found.into_iter().map(|found| found.address).collect())
    }
}

fn parsed(entry: &Entry, text: &str) -> Result<Address, DiscoveryError> {
    Address::parse(text).map_err(|error| match error {
        OpenError::BadAddress { why, .. } => entry.refused(why),
        error => entry.refused(error.to_string()),
    })
}

#[cfg(test)]
mod tests;
