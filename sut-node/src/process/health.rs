//! `sut-node health`: reads the metrics of the node on this machine, and checks that it is ready to
//! serve. A probe needs neither TLS nor a token, because the metrics are served without them.

use std::{
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use netdiv_node_common::metrics::{PATH, sut_node::READY};

/// Time limit for the node's answer, less than the 5 s that a probe usually has.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum size of the HTTP response with the metrics, in bytes: more than a node sends.
const MOST_BYTES: usize = 1 << 20;

/// Reason why the node is not ready to serve.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotReady(String);

/// Fails unless the node that serves its metrics at this address is ready to serve samples.
pub(crate) fn health(address: Option<SocketAddr>) -> anyhow::Result<()> {
    let mut address = address.context(
        "--metrics is not set: a node's health is read from its metrics; start the node with --metrics 127.0.0.1:9400 and run health with the same settings",
    )?;
    // A node that listens on all addresses also listens on loopback.
    match address.ip() {
        ip if !ip.is_unspecified() => {}
        IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
    }
    let silent = |error| NotReady(format!("no node answers at {address} (--metrics): {error}"));
    let page = page(address).map_err(silent)?;
    // A node has no metric of its condition before its engines are ready.
    let is_page = page.starts_with(b"HTTP/1.1 200 ");
    let page = String::from_utf8_lossy(&page);
    let mut values = page.lines().filter_map(|line| line.strip_prefix(READY.name));
    let why = match values.next().map(str::trim) {
        Some("1") => return Ok(()),
        _ if is_page => "the node is not ready to serve; its log states the reason".into(),
        _ => format!("{address} (--metrics) answers, but is not a node"),
    };
    Err(NotReady(why).into())
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
    fn found(answer: &'static str) -> anyhow::Result<()> {
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

    fn why(found: anyhow::Result<()>) -> String {
        found.unwrap_err().downcast::<NotReady>().unwrap().0
    }

    #[test]
    fn only_a_node_that_says_so_is_well() {
        let page = "HTTP/1.1 200 OK\r\n\r\n# TYPE netdiv_ready gauge\nnetdiv_ready 1\n";
        assert!(found(page).is_ok());
        for answer in [
            "HTTP/1.1 200 OK\r\n\r\nnetdiv_ready 0\n",
            "HTTP/1.1 200 OK\r\n\r\nnetdiv_samples_received_total 0\n",
            "HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(why(found(answer)).contains("is not ready to serve"), "{answer}");
        }
        for answer in ["", "HTTP/1.1 404 Not Found\r\n\r\n", "220 mail ESMTP\r\n"] {
            assert!(why(found(answer)).contains("is not a node"), "{answer}");
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
        assert!(why(health(Some(closed))).contains("no node answers at 127.0.0.1:1"));
        assert!(!health(None).unwrap_err().is::<NotReady>());
    }
}
