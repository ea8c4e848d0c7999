//! What stands in the way before a run begins.

use std::{io::Write as _, net::TcpListener, thread};

use e2e::{Behaviour, fake_node::silent_port};

use super::{
    fault::{Expected, Fault, Node},
    papers,
};

pub fn faults() -> Vec<Fault> {
    let unreachable = "no node answers at ";
    let fake = |name: &str, words, node| Fault::refused(name, words, Node::Fake(node));
    let real = |name: &str, words| Fault::refused(name, words, Node::Slow);
    let mut faults = vec![
        Fault::refused("nobody listens at the port", unreachable, Node::Elsewhere(closed_port)),
        Fault::refused(
            "something listens at the port and says nothing",
            "takes connections but says nothing for 1 s",
            Node::Elsewhere(silent_port),
        )
        .expect_over_quic(Expected::Refused(unreachable)),
        Fault::refused(
            "a web server listens at the port",
            "web server",
            Node::Elsewhere(web_server),
        )
        .expect_over_quic(Expected::Refused(unreachable)),
        fake("node of another version", "speaks version 2 of the wire contract", || {
            let mut behaviour = Behaviour::good("fake");
            behaviour.description.protocol_version = 2;
            behaviour
        }),
        fake("node that does not return the nonce", "does not return the nonce", || Behaviour {
            honest_nonce: false,
            ..Behaviour::good("fake")
        }),
        fake("node without a name", "it has no name", || Behaviour::good(" ")),
        fake("node that takes shorter samples", "takes at most 99", || {
            let mut behaviour = Behaviour::good("fake");
            behaviour.description.max_payload_bytes = 99;
            behaviour
        }),
        Fault {
            inject: |stage| stage.signal("-STOP"),
            survives: true,
            ..real("node frozen before the run", "takes connections but says nothing for 1 s")
        }
        .expect_over_quic(Expected::Refused(unreachable)),
        real("wrong token", "the token is missing or wrong; give --token-file")
            .more_node_args(&["--token-file", papers::token("correct-horse-battery")])
            .args(&["--token-file", papers::token("correct-horse-staples")]),
    ];
    let ours = papers::ours();
    faults.push(
        Fault { survives: false, ..real("TLS at the LoadGen node only", "does the node use TLS?") }
            .args(&["--tls-ca", ours.authority])
            .expect_over_quic(Expected::Refused("UnknownIssuer")),
    );
    faults.push(
        real("node with a certificate of another authority", "UnknownIssuer")
            .more_node_args(&["--tls-certificate", ours.certificate, "--tls-key", ours.key])
            .args(&["--tls-ca", papers::theirs().authority]),
    );
    faults
}

fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").to_string()
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
