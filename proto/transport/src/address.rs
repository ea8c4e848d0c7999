//! Address of a node: `HOST:PORT`, or `NAME@IP:PORT` if the node's certificate is for a name and
//! clients reach the node at an IP address. A link-local IPv6 address has a zone after a `%`, which
//! is valid on this machine only.

use std::{
    fmt,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    time::Duration,
};

use netdiv_node_common::resources::descriptors;
use tokio::{net::lookup_host, time::timeout};

use crate::open_error::OpenError;

/// Remedy if the system's resolver does not answer.
pub(crate) const RESOLVER_HINT: &str =
    "; check /etc/resolv.conf, or name the node by its IP address";

/// Name of this machine (RFC 6761, section 6.3).
const LOCALHOST: &str = "localhost";

/// Address of a node, as the user wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// Name in the node's certificate, if it differs from the host.
    name: Option<String>,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, OpenError> {
        let bad = |why: &str| OpenError::BadAddress { address: text.into(), why: why.into() };
        if text.contains('/') {
            return Err(bad("give host and port, without a scheme or a path"));
        }
        let (name, place) = match text.split_once('@') {
            Some((name, place)) => (Some(name), place),
            None => (None, text),
        };
        let (host, port) = place.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
        let port = port.parse().map_err(|_| bad("the port is not a number from 0 to 65535"))?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(bad("it contains a space or a control character"));
        }
        // Resolvers may know this name in lower case and without a dot only.
        let host = if canonical_name(host) == LOCALHOST { LOCALHOST } else { host };
        let address = Self { name: name.map(str::to_owned), host: host.into(), port };
        match address.zone() {
            Some("") => return Err(bad("the zone after the % is missing")),
            Some(_) if address.ip().is_none() => {
                return Err(bad("a zone belongs to an IPv6 address, [fe80::1%eth0]:50051"));
            }
            _ => {}
        }
        match name {
            Some("") => Err(bad("the name before the @ is missing")),
            Some(_) if address.ip().is_none() => {
                Err(bad("the host after a name and an @ must be an IP address"))
            }
            _ => Ok(address),
        }
    }

    /// Returns the host as an IP address, if the host is an IP address.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        ip(&self.host)
    }

    /// Returns the host in a canonical form, for comparisons.
    pub(crate) fn canonical_host(&self) -> String {
        let zone = self.zone().map(|zone| format!("%{zone}")).unwrap_or_default();
        self.ip().map_or_else(|| canonical_name(&self.host), |ip| format!("{ip}{zone}"))
    }

    /// Returns the name that the node's certificate must be for.
    pub(crate) fn certified_host(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| without_zone(&self.host).0)
    }

    /// Returns the authority of a call's URI, `HOST:PORT`. A zone is left out, because it is valid
    /// on this machine only (RFC 9110, section 4.2; RFC 6874).
    pub(crate) fn authority(&self) -> String {
        match (&self.name, self.zone()) {
            (None, Some(_)) => format!("[{}]:{}", self.certified_host(), self.port),
            (name, _) => format!("{}:{}", name.as_ref().unwrap_or(&self.host), self.port),
        }
    }

    /// Resolves the host with the system's resolver, for at most `patience`. A zone becomes the
    /// number of its interface.
    pub(crate) async fn look_up(&self, patience: Duration) -> Result<Vec<SocketAddr>, OpenError> {
        let unreachable = |why: String| OpenError::Unreachable { address: self.to_string(), why };
        let found = timeout(patience, lookup_host((bare(&self.host), self.port))).await;
        let late = || unreachable(format!("the name was not resolved in time{RESOLVER_HINT}"));
        match found.map_err(|_| late())? {
            Ok(found) => Ok(found.collect()),
            // Without a free file descriptor, the resolver only reports that it did not find the
            // name.
            Err(error) => Err(match (descriptors::check(1), self.zone()) {
                (Err(exhausted), _) => OpenError::of_socket(self, &exhausted),
                (Ok(()), Some(zone)) => unreachable(no_interface(zone)),
                (Ok(()), None) => unreachable(error.to_string()),
            }),
        }
    }

    fn zone(&self) -> Option<&str> {
        without_zone(&self.host).1
    }
}

/// Parses a socket address, `IP:PORT`. An IPv6 address may have a zone, `[fe80::1%eth0]:50051`;
/// names are not looked up.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    // The standard library accepts a numeric zone.
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let has_zone = |address: &Address| address.zone().is_some() && address.name.is_none();
    let address = Address::parse(text).ok().filter(has_zone).filter(|_| text.starts_with('['));
    let address = address.ok_or("not an address of the form IP:PORT")?;
    let found = (bare(&address.host), address.port).to_socket_addrs();
    let first = found.ok().and_then(|mut all| all.next());
    first.ok_or_else(|| no_interface(address.zone().unwrap_or_default()))
}

/// Returns the name of a host in lower case, without the dot that ends an absolute name (RFC 1034,
/// section 3.1).
fn canonical_name(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_lowercase()
}

/// Parses an IP address, in a form such as `10.0.0.1`, `::1`, `[::1]` or `[fe80::1%eth0]`. Drops
/// the zone.
fn ip(host: &str) -> Option<IpAddr> {
    let (host, zone) = without_zone(host);
    let ip = host.parse::<IpAddr>().ok()?;
    (zone.is_none() || ip.is_ipv6()).then(|| ip.to_canonical())
}

/// Returns the host without the brackets that an IPv6 address has in front of a port.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Returns the host without its brackets and zone, and the zone.
fn without_zone(host: &str) -> (&str, Option<&str>) {
    match bare(host).split_once('%') {
        Some((host, zone)) => (host, Some(zone)),
        None => (bare(host), None),
    }
}

/// Returns true if an address, `HOST:PORT` or `NAME@IP:PORT`, can only be on this machine.
pub fn is_loopback(address: &str) -> bool {
    let place = address.rsplit_once('@').map_or(address, |(_, place)| place);
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    canonical_name(host) == LOCALHOST || ip(host).is_some_and(|ip| ip.is_loopback())
}

fn no_interface(zone: &str) -> String {
    format!("this machine has no interface {zone}")
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.iter().map(|name| format!("{name}@")).collect::<String>();
        write!(f, "{name}{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, host, port) in [
            ("node-1:50051", "node-1", 50051),
            ("10.0.0.1:0", "10.0.0.1", 0),
            ("[::1]:65535", "::1", 65535),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((bare(&address.host), address.port), (host, port));
            assert_eq!(address.to_string(), text);
        }
        assert_eq!(Address::parse("LocalHost.:5").unwrap().to_string(), "localhost:5");
    }

    /// Uses the interface `lo`, which Linux always has.
    #[tokio::test]
    async fn a_zone_chooses_the_interface_and_stays_on_this_machine() {
        let scope = |found: SocketAddr| match found {
            SocketAddr::V6(found) => found.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        let named = Address::parse("[fe80::1%lo]:5").unwrap();
        assert_eq!(named.to_string(), "[fe80::1%lo]:5");
        assert_eq!(
            (named.authority().as_str(), named.certified_host()),
            ("[fe80::1]:5", "fe80::1")
        );
        assert_eq!(named.ip(), "fe80::1".parse().ok());
        assert!(named.authority().parse::<http::uri::Authority>().is_ok());
        assert!(crate::security::server_name(named.certified_host()).is_ok());
        let patience = Duration::from_secs(9);
        let found = named.look_up(patience).await.unwrap();
        assert!(found.iter().all(|found| found.port() == 5 && scope(*found) > 0), "{found:?}");
        let numbered = format!("[fe80::1%{}]:5", scope(found[0]));
        assert_eq!(Address::parse(&numbered).unwrap().look_up(patience).await.unwrap(), found);
        for text in ["[fe80::1%lo]:5", &numbered] {
            assert_eq!(socket_address(text), Ok(found[0]), "{text}");
        }
        let certified = Address::parse("n.lab@[fe80::1%lo]:5").unwrap();
        assert_eq!(certified.authority(), "n.lab:5");
        let stranger = Address::parse("[fe80::1%nope]:5").unwrap();
        let error = stranger.look_up(patience).await.unwrap_err().to_string();
        assert!(error.contains("this machine has no interface nope"), "{error}");
    }

    #[test]
    fn addresses_to_listen_on_are_ip_addresses() {
        for text in ["127.0.0.1:0", "0.0.0.0:50051", "[::1]:50051", "[fe80::1%7]:1"] {
            assert_eq!(socket_address(text).unwrap().to_string(), text);
        }
        for (text, why) in [
            ("localhost:1", "not an address of the form IP:PORT"),
            ("fe80::1%lo:1", "not an address of the form IP:PORT"),
            ("a@[fe80::1%lo]:1", "not an address of the form IP:PORT"),
            ("[fe80::1%]:1", "not an address of the form IP:PORT"),
            ("[fe80::1%nope]:1", "this machine has no interface nope"),
        ] {
            assert_eq!(socket_address(text), Err(why.into()), "{text}");
        }
    }

    #[test]
    fn a_name_beside_an_ip_address_is_the_one_of_the_certificate() {
        for (text, ip) in [("nodes.lab@10.0.0.1:5", "10.0.0.1"), ("nodes.lab@[::1]:5", "::1")] {
            let address = Address::parse(text).unwrap();
            assert_eq!((bare(&address.host), address.certified_host()), (ip, "nodes.lab"));
            assert_eq!(address.authority(), "nodes.lab:5");
            assert_eq!(address.to_string(), text);
        }
        let plain = Address::parse("[::1]:5").unwrap();
        assert_eq!((plain.certified_host(), plain.authority().as_str()), ("::1", "[::1]:5"));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, why) in [
            ("http://node:1", "without a scheme or a path"),
            ("node:1/x", "without a scheme or a path"),
            ("node", "the port is missing"),
            ("node:65536", "the port is not a number from 0 to 65535"),
            ("node:", "the port is not a number from 0 to 65535"),
            (":50051", "the host is missing"),
            ("a b:1", "a space"),
            ("a\u{7}:1", "a space or a control"),
            ("@10.0.0.1:1", "the name before the @ is missing"),
            ("me@node:1", "must be an IP address"),
            ("[fe80::1%]:1", "the zone after the % is missing"),
            ("10.0.0.1%eth0:1", "a zone belongs to an IPv6 address"),
            ("node%eth0:1", "a zone belongs to an IPv6 address"),
            ("me@10.0.0.1%eth0:1", "a zone belongs to an IPv6 address"),
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(why), "{error}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for address in [
            "localhost:1",
            "127.0.0.1:1",
            "127.8.9.1:1",
            "[::1]:1",
            "[::1%lo]:1",
            "localhost",
            "LOCALHOST:1",
            "localhost.:1",
            "[::ffff:127.0.0.1]:1",
            "a@127.0.0.1:1",
        ] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "0.0.0.0:1",
            "[::]:1",
            "10.0.0.1:1",
            "localhost.example:1",
            "localhost..:1",
            "[::ffff:10.0.0.1]:1",
            "localhost@10.0.0.1:1",
            "[fe80::1%lo]:1",
            ":1",
            "",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
