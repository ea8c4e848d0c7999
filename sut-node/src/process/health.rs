//! `sut-node health`: reads the metrics of the node on this machine, and checks that it is ready to
//! serve. A probe needs neither TLS nor a token, because the metrics are served without them.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use netdiv_node_common::metrics::{PATH, sut_node::WELL};

/// Time limit for the node's answer, less than the 5 s that a probe usually has.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum size of the HTTP response with the metrics, in bytes: more than a node sends.
const MOST_BYTES: usize = 1 << 20;

/// Reason why the node is not ready to serve, or why this is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// `--metrics` is not set, so the address of the node's metrics is unknown.
    #[error(
        "--metrics is not set: a node's health is read from its metrics; start the node with --metrics 127.0.0.1:9400 and run health with the same settings"
    )]
    NoMetrics,
    /// No program answers at the address.
    #[error("no node answers at {address} (--metrics): {error}")]
    Unreachable {
        /// Address on which the node should serve its metrics over HTTP.
        address: SocketAddr,
        /// Error of the system.
        error: io::Error,
    },
    /// Another program answers at the address.
    #[error("{0} (--metrics) answers, but is not a node")]
    NoNode(SocketAddr),
    /// The node reports that it is not ready.
    #[error("the node is not ready to serve; its log states the reason")]
    Unwell,
}

impl HealthError {
    /// Returns the exit code of the program.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::NoMetrics => 2,
            Self::Unreachable { .. } | Self::NoNode(_) | Self::Unwell => 1,
        }
    }
}

/// Fails unless the node that serves its metrics at this address is ready to serve samples.
pub(crate) fn health(address: Option<SocketAddr>) -> Result<(), HealthError> {
    let mut address = address.ok_or(HealthError::NoMetrics)?;
    // A node that listens on all addresses also listens on loopback.
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    let page = page(address).map_err(|error| HealthError::Unreachable { address, error })?;
    // A node has no metric of its condition before its engines are ready.
    let is_page = page.starts_with(b"HTTP/1.1 200 ");
    let page = String::from_utf8_lossy(&page);
    let mut values = page.lines().filter_map(|line| line.strip_prefix(WELL.name));
    match values.next().map(str::trim) {
        Some("1") => Ok(()),
        _ if is_page => Err(HealthError::Unwell),
        _ => Err(HealthError::NoNode(address)),
    }
}

fn page(address: SocketAddr) -> io::Result<Vec<u8>> {
    let end = Instant::now() + ANSWER_TIMEOUT;
    let left = || match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::new(io::ErrorKind::TimedOut, "its answer takes too long")),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT)?;
    stream.set_write_timeout(Some(left()?))?;
    let mut host = address;
    if let SocketAddr::V6(host) = &mut host {
        // A zone is only meaningful on this machine.
        host.set_scope_id(0);
    }
    stream.write_all(format!("GET {PATH} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
    let mut page = Vec::new();
    let mut part = [0; 16 << 10];
    while page.len() < MOST_BYTES {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(length) => page.extend_from_slice(&part[..length]),
            // The system's message for a time-out is misleading.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => drop(left()?),
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// Returns the outcome of [`health`] for a server that sends this answer.
    fn found(answer: &'static str) -> Result<(), HealthError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut address = listener.local_addr().unwrap();
        address.set_ip(Ipv4Addr::UNSPECIFIED.into());
        let answering = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut asked = [0; 256];
            let length = stream.read(&mut asked).unwrap();
            assert!(asked[..length].starts_with(b"GET /metrics HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let found = health(Some(address));
        answering.join().unwrap();
        found
    }

    #[test]
    fn only_a_node_that_says_so_is_well() {
        let page = "HTTP/1.1 200 OK\r\n\r\n# TYPE netdiv_well gauge\nnetdiv_well 1\n";
        assert!(found(page).is_ok());
        for answer in [
            "HTTP/1.1 200 OK\r\n\r\nnetdiv_well 0\n",
            "HTTP/1.1 200 OK\r\n\r\nnetdiv_samples_received_total 0\n",
            "HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(matches!(found(answer), Err(HealthError::Unwell)), "{answer}");
        }
        for answer in ["", "HTTP/1.1 404 Not Found\r\n\r\n", "220 mail ESMTP\r\n"] {
            assert!(matches!(found(answer), Err(HealthError::NoNode(_))), "{answer}");
        }
    }

    #[test]
    fn an_answer_that_never_ends_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let dripping = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            while stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        });
        let error = health(Some(address)).unwrap_err();
        assert!(error.to_string().contains("takes too long"), "{error}");
        dripping.join().unwrap();
    }

    #[test]
    fn a_missing_listener_is_named() {
        let closed = "127.0.0.1:1".parse().unwrap();
        assert!(matches!(health(Some(closed)), Err(HealthError::Unreachable { .. })));
        assert!(matches!(health(None), Err(HealthError::NoMetrics)));
    }
}
