//! A node's address, `HOST:PORT`.

use std::fmt;

use crate::open_error::OpenError;

/// Host and port, as the user wrote them.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, OpenError> {
        let bad = |why: &str| OpenError::BadAddress { address: text.into(), why: why.into() };
        if text.contains('/') {
            return Err(bad("give host and port, without a scheme or a path"));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
        let port = port.parse().map_err(|_| bad("the port is not a number from 0 to 65535"))?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        Ok(Self { host: host.into(), port })
    }

    /// The host without the brackets that an IPv6 address has in front of a port.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Checks that a text is an address, `HOST:PORT`.
pub fn check_address(address: &str) -> Result<(), OpenError> {
    Address::parse(address).map(drop)
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
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, why) in [
            ("http://node:1", "without a scheme or a path"),
            ("node:1/x", "without a scheme or a path"),
            ("node", "the port is missing"),
            ("node:65536", "the port is not a number from 0 to 65535"),
            ("node:", "the port is not a number from 0 to 65535"),
            (":50051", "the host is missing"),
        ] {
            let error = check_address(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(why), "{error}");
        }
    }
}
