//! A node's address: `HOST:PORT`, or `NAME@IP:PORT` where its certificate is for a name and it is reached at an IP address.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use netdiv_resources::descriptors;
use tokio::{net::lookup_host, time::timeout};

use crate::open_error::OpenError;

/// Host and port, as the user wrote them.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// The name in the node's certificate, where it is not the host.
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
            return Err(bad("a space or a control character is no part of an address"));
        }
        let address = Self { name: name.map(str::to_owned), host: host.into(), port };
        match name {
            Some("") => Err(bad("there is no name in front of the @")),
            Some(_) if address.ip().is_none() => {
                Err(bad("behind a name and an @ stands an IP address"))
            }
            _ => Ok(address),
        }
    }

    /// The host, where it is an IP address.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        // An address of one link has the interface behind a %.
        self.bare_host().split('%').next()?.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
    }

    /// The name that the node's certificate has to be for.
    pub(crate) fn certified_host(&self) -> &str {
        self.name.as_deref().unwrap_or(self.bare_host())
    }

    /// What the URI of a call names, `HOST:PORT`.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.name.as_deref().unwrap_or(&self.host), self.port)
    }

    /// The addresses that the host has, by the system's resolver.
    pub(crate) async fn look_up(&self, patience: Duration) -> Result<Vec<SocketAddr>, OpenError> {
        let unreachable = |why: String| OpenError::Unreachable { address: self.to_string(), why };
        let found = timeout(patience, lookup_host((self.bare_host(), self.port))).await;
        match found.map_err(|_| unreachable("the name was not resolved in time".into()))? {
            Ok(found) => Ok(found.collect()),
            // Without a descriptor it does not find the name, and says no more.
            Err(error) => Err(match descriptors::check(1) {
                Ok(()) => unreachable(error.to_string()),
                Err(exhausted) => OpenError::of_socket(self, &exhausted),
            }),
        }
    }

    /// The host without the brackets that an IPv6 address has in front of a port.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
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
            assert_eq!((address.bare_host(), address.port), (host, port));
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn a_name_beside_an_ip_address_is_the_one_of_the_certificate() {
        for (text, ip) in [("nodes.lab@10.0.0.1:5", "10.0.0.1"), ("nodes.lab@[::1]:5", "::1")] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.bare_host(), address.certified_host()), (ip, "nodes.lab"));
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
            ("@10.0.0.1:1", "no name in front of the @"),
            ("me@node:1", "stands an IP address"),
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(why), "{error}");
        }
    }
}
