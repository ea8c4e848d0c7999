//! Faults before a run begins.

use std::{io::Write as _, net::TcpListener, thread, time::Duration};

use e2e::{Behaviour, fake_node::silent_port, ports::CLOSED};

use super::{
    credentials::Credentials,
    fault::{ExpectedEnd, Fault, StruckNode},
};

/// Short timeouts, for nodes that never answer.
const SOON: [&str; 4] = ["--connect-timeout", "1s", "--control-timeout", "1s"];

pub fn faults(papers: &Credentials) -> Vec<Fault> {
    let unreachable = "no node answers at ";
    let silent = "accepts connections but has not answered for 1 s";
    // The UDP port of the same number has no listener.
    let elsewhere = |name: &str, words, address| {
        Fault::refused(name, words, StruckNode::Elsewhere(address))
            .args(&SOON)
            .expect_over_quic(ExpectedEnd::Refused(unreachable))
    };
    let fake = |name: &str, words, change: fn(&mut Behaviour)| {
        let mut behaviour = Behaviour::good("fake");
        change(&mut behaviour);
        Fault::refused(name, words, StruckNode::Fake(Box::new(behaviour)))
    };
    let real = |name: &str, words| Fault::refused(name, words, StruckNode::Slow);
    let ours = &papers.ours;
    let certified = ["--tls-certificate", ours.certificate, "--tls-key", ours.key];
    vec![
        elsewhere("no listener at the port", unreachable, || CLOSED.to_owned()),
        elsewhere("a silent listener at the port", silent, silent_port),
        elsewhere(
            "a web server at the port",
            "; if the node uses TLS, give --tls-ca",
            web_server,
        ),
        fake("node of another version", "speaks version 3 of the wire contract", |node| {
            node.description.protocol_version = 3;
        }),
        fake("node that does not return the nonce", "does not return the nonce", |node| {
            node.honest_nonce = false;
        }),
        fake("node without a name", "its name is ` `; a name has", |node| {
            node.description.node_name = " ".into();
        }),
        fake("node whose name has 256 bytes", "1 to 255 bytes", |node| {
            node.description.node_name = "0123456789abcdef".repeat(16);
        }),
        fake("node that accepts no samples", "its max_in_flight_samples is 0", |node| {
            node.description.max_in_flight_samples = 0;
        }),
        fake("node whose program would clear the terminal", "it contains `\\u{1b}[2J`", |node| {
            node.description.software_version = "\u{1b}[2J".into();
        }),
        fake("node that accepts only shorter samples", "accepts at most 99", |node| {
            node.description.max_payload_bytes = 99;
        }),
        fake("node without checksums", "fake does not support checksums", |_| {})
            .args(&["--checksums"]),
        Fault { is_reusable: true, ..real("node frozen before the run", silent) }
            .inject(|stage| stage.signal("-STOP"))
            .args(&SOON)
            .expect_over_quic(ExpectedEnd::Refused(unreachable)),
        real(
            "more connections than the node accepts",
            "--connections asks for 3 connections to each node, but node struck accepts 2; ",
        )
        .more_node_args(&["--max-connections", "2"])
        .args(&["--connections", "3"]),
        real(
            "more streams on a connection than the node accepts",
            "--streams asks for 65 streams on each connection, but node struck accepts 64; ",
        )
        .args(&["--streams", "65"]),
        real(
            "more streams than the node accepts",
            "--connections and --streams ask for 300 streams to each node, but node struck accepts 256; ",
        )
        .args(&["--connections", "5", "--streams", "60"]),
        real(
            "node whose last connection another client holds",
            "has no room: the node has 1 connection and accepts no more (--max-connections)",
        )
        .inject(|stage| {
            stage.flood();
            thread::sleep(Duration::from_millis(500));
        })
        .args(&SOON)
        .more_node_args(&["--max-connections", "1"]),
        real("wrong token", "the token is missing or wrong; give --token-file")
            .more_node_args(&["--token-file", papers.token])
            .args(&["--token-file", papers.wrong_token]),
        real("TLS at the LoadGen node only", "does the node use TLS?")
            .args(&["--tls-ca", ours.authority])
            .expect_over_quic(ExpectedEnd::Refused("UnknownIssuer")),
        real("node with a certificate of another authority", "UnknownIssuer")
            .more_node_args(&certified)
            .args(&["--tls-ca", papers.theirs.authority]),
    ]
}

fn web_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    address
}
