//! Entries that name nodes, and their parsing.

use std::{fmt::Display, net::Ipv6Addr, path::Path};

use netdiv_node_common::resources::files;

use super::{host_list, records::Family};

/// Maximum number of nodes of a run. Each node has at least one stream, and the ids of samples have
/// room for 65,535 streams.
pub const MOST_NODES: usize = 65_535;

/// Maximum length of a file that lists nodes, in bytes.
pub const FILE_BYTES: u64 = 4 << 20;

/// Error of the discovery of nodes: a text that names the option.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DiscoveryError(pub(super) String);

impl DiscoveryError {
    /// Returns the error for an option that names no node.
    pub fn no_nodes(option: &str) -> Self {
        Self(format!(
            "no nodes; give {option} HOST:PORT,…, a host list such as rack[1-8], dns:NAME:PORT, or @FILE"
        ))
    }

    /// Returns the error for a text that names nodes in an option; for an entry in a file, the text
    /// has also the path and the line.
    pub(super) fn named(option: &str, named: &str, why: impl Display) -> Self {
        Self(format!("{option} {named}: {why}"))
    }
}

/// Entry of an option: the address of one node, or a name in the DNS that stands for several nodes.
/// A host list becomes one entry for each host.
#[derive(Debug)]
pub(super) struct Entry {
    /// Option that contains the entry, for errors.
    pub(super) option: &'static str,
    /// Text of the entry, for errors; for an entry in a file, also the path and the line.
    pub(super) written: String,
    pub(super) target: Target,
}

/// Nodes that an entry stands for.
#[derive(Debug)]
pub(super) enum Target {
    /// Address of one node, `HOST:PORT` or `NAME@IP:PORT`; not checked yet.
    Address(String),
    /// All nodes at the addresses that the DNS has for a name.
    Name { name: String, port: u16, family: Family },
}

impl Entry {
    /// Returns the node of this entry; `None` if a name has to be looked up.
    pub(super) fn node(&self) -> Option<ResolvedNode<'_>> {
        match &self.target {
            Target::Address(address) => {
                Some(ResolvedNode { entry: self, address: address.clone() })
            }
            Target::Name { .. } => None,
        }
    }

    /// Returns the error that refuses this entry for the reason `why`.
    pub(super) fn refused(&self, why: String) -> DiscoveryError {
        DiscoveryError::named(self.option, &self.written, why)
    }
}

/// Address of a node, and the entry from which it was found.
#[derive(Debug)]
pub(super) struct ResolvedNode<'a> {
    pub(super) entry: &'a Entry,
    pub(super) address: String,
}

/// Reads all entries in the values of an option and in the files that they name, and expands host
/// lists. `port` is the port of nodes without a port.
pub(super) fn read(
    option: &'static str,
    named: &[String],
    port: u16,
) -> Result<Vec<Entry>, DiscoveryError> {
    let mut reading = Reading { option, port, entries: Vec::new() };
    for text in named {
        for named in split(text) {
            match named.strip_prefix('@') {
                Some(path) => reading.add_file(Path::new(path))?,
                None => reading.add(named, named.to_owned())?,
            }
        }
    }
    let entries = reading.entries;
    if entries.is_empty() { Err(DiscoveryError::no_nodes(option)) } else { Ok(entries) }
}

/// Replaces the path in each entry `@FILE` of a text that names nodes, and returns the new text.
/// `place` returns the replacement of a path, or the reason why the file cannot be used.
pub fn with_files(
    text: &str,
    place: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let placed = split(text).map(|named| {
        let Some(path) = named.strip_prefix('@') else { return Ok(named.to_owned()) };
        let path = place(path)?;
        if path.contains(',') {
            return Err(format!("{path}: the path of a file of nodes cannot contain a comma"));
        }
        Ok(format!("@{path}"))
    });
    Ok(placed.collect::<Result<Vec<_>, _>>()?.join(","))
}

/// Reader of the entries of an option, with the entries read so far.
struct Reading {
    option: &'static str,
    port: u16,
    entries: Vec<Entry>,
}

impl Reading {
    /// Adds the entries of a file. Each of its lines may have entries, separated by commas, and a
    /// comment after `#`.
    fn add_file(&mut self, path: &Path) -> Result<(), DiscoveryError> {
        let named = format!("@{}", path.display());
        let text = files::read_short_text(path, FILE_BYTES)
            .map_err(|error| self.refused(&named, error.to_string()))?;
        let before = self.entries.len();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            for entry in split(line) {
                let written = format!("{named}, line {number}: `{entry}`");
                if entry.starts_with('@') {
                    return Err(
                        self.refused(&written, "a file of nodes cannot name another file".into())
                    );
                }
                self.add(entry, written)?;
            }
        }
        if self.entries.len() == before {
            return Err(self.refused(&named, "it names no node".into()));
        }
        Ok(())
    }

    /// Adds the nodes of the entry `named`; errors quote `written`.
    fn add(&mut self, named: &str, written: String) -> Result<(), DiscoveryError> {
        match targets(named, self.port, MOST_NODES.saturating_sub(self.entries.len())) {
            Ok(targets) => {
                let option = self.option;
                let entry = |target| Entry { option, written: written.clone(), target };
                self.entries.extend(targets.into_iter().map(entry));
                Ok(())
            }
            Err(why) => Err(self.refused(&written, why)),
        }
    }

    fn refused(&self, named: &str, why: String) -> DiscoveryError {
        DiscoveryError::named(self.option, named, why)
    }
}

/// Splits a text at its commas, except for commas in brackets, which belong to host lists.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

/// Parses an entry, which may name up to `limit` nodes. `port` is the port of nodes without a port.
fn targets(named: &str, port: u16, limit: usize) -> Result<Vec<Target>, String> {
    if named.is_empty() {
        return Err("a node is missing; there may be a comma too many".into());
    }
    if named.contains('/') {
        return Err("give host and port, without a scheme or a path".into());
    }
    if let Some((word, family, rest)) = dns(named) {
        let (name, port) = with_port(rest, port)?;
        let name = name.to_owned();
        if name.is_empty() || name.contains(['[', ']', '@']) {
            return Err(format!("write {word}:NAME:PORT"));
        }
        return Ok(vec![Target::Name { name, port, family }]);
    }
    let hosts = if is_zoned(named) {
        vec![format!("[{named}]")]
    } else if is_ipv6(named) {
        vec![named.to_owned()]
    } else {
        host_list::expand(named, limit)?
    };
    let address = |host: String| {
        let (host, port) = with_port(&host, port)?;
        Ok(Target::Address(format!("{host}:{port}")))
    };
    hosts.into_iter().map(address).collect()
}

/// Returns true for an IPv6 address with a zone and without brackets, `fe80::1%eth0`. No port may
/// follow such an address, so it is not ambiguous.
fn is_zoned(named: &str) -> bool {
    let parts = named.split_once('%');
    parts
        .is_some_and(|(ip, zone)| ip.parse::<Ipv6Addr>().is_ok() && !zone.contains([':', '[', ']']))
}

/// Parses `dns:NAME`, `dns4:NAME` or `dns6:NAME`, with a port or without. Returns the keyword, its
/// address family, and the text after the colon. `dns:50051` is a host with the name `dns`.
fn dns(named: &str) -> Option<(&str, Family, &str)> {
    let (word, rest) = named.split_once(':')?;
    let family = match word {
        "dns" => Family::Any,
        "dns4" => Family::V4,
        "dns6" => Family::V6,
        _ => return None,
    };
    let is_port = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then_some((word, family, rest))
}

/// Returns true if the brackets contain an IPv6 address, `[::1]`, and not the numbers of a host
/// list.
fn is_ipv6(named: &str) -> bool {
    let place = named.split_once('@').map_or(named, |(_, place)| place);
    let inside = place.strip_prefix('[').and_then(|rest| rest.split(']').next());
    inside.is_some_and(|inside| inside.contains(':'))
}

/// Returns host and port; `port` applies if the text has none.
fn with_port(text: &str, port: u16) -> Result<(&str, u16), String> {
    // The colons of an IPv6 address are in its brackets.
    let behind = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let colons = text[behind..].matches(':').count();
    match text[behind..].split_once(':') {
        None => Ok((text, port)),
        Some(_) if colons > 1 => {
            Err("it has several colons; write an IPv6 address in brackets, [::1]:50051".into())
        }
        Some((_, number)) => {
            let number = number.parse();
            let number = number.map_err(|_| "the port is not a number from 0 to 65535")?;
            Ok((&text[..text.rfind(':').unwrap_or(text.len())], number))
        }
    }
}
