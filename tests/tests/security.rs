//! Authentication over both transports: each refusal is a clear error at both ends, and the node
//! keeps running.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
};

use e2e::{Folder, LoadGen, SutNode, assert_refused, process::loadgen_node, wait_until};
use netdiv_contract::{PROTOCOL_VERSION, framing, v1::CallHeader};
use quinn::crypto::rustls::QuicClientConfig;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

const TRANSPORTS: [&str; 2] = ["grpc", "quic"];

/// A folder of certificates for these hosts, created by the program itself.
struct CertificateFolder(Folder);

impl CertificateFolder {
    fn new(hosts: &str) -> Self {
        let certificates = Self(Folder::create());
        certificates.order(&["--hosts", hosts], 0, "");
        certificates
    }

    /// Runs `loadgen-node certificates` into the folder, and asserts its exit code and a part of
    /// its output.
    fn order(&self, args: &[&str], code: i32, text: &str) {
        let output = ["certificates", "--output", &self.path("")];
        loadgen_node(&[&output, args].concat()).expect_text(code, text);
    }

    fn path(&self, name: &str) -> String {
        self.0.path(name)
    }

    /// Returns the options of a node. With `mutual` it requires client certificates.
    fn node(&self, host: &str, mutual: bool) -> Vec<String> {
        let mut args = self.pair(host);
        if mutual {
            args.extend(["--tls-client-ca".into(), self.path("ca.pem")]);
        }
        args
    }

    fn pair(&self, name: &str) -> Vec<String> {
        let [certificate, key] = ["pem", "key"].map(|end| self.path(&format!("{name}.{end}")));
        vec!["--tls-certificate".into(), certificate, "--tls-key".into(), key]
    }

    /// Returns the options of a client that trusts the authority.
    fn client(&self) -> Vec<String> {
        vec!["--tls-ca".into(), self.path("ca.pem")]
    }

    /// Returns the options of a client with a certificate.
    fn known_client(&self) -> Vec<String> {
        [self.client(), self.pair("client")].concat()
    }

    /// Returns the TLS configuration of a foreign client, with or without a client certificate.
    fn tls(&self, alpn: &[u8], known: bool) -> Arc<ClientConfig> {
        let certificates = |name: &str| -> Vec<_> {
            let found = CertificateDer::pem_file_iter(self.path(name)).expect("a file");
            found.collect::<Result<_, _>>().expect("certificates")
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates("ca.pem"));
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots);
        let mut config = if known {
            let key = PrivateKeyDer::from_pem_file(self.path("client.key")).expect("a key");
            builder.with_client_auth_cert(certificates("client.pem"), key).expect("a pair")
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        Arc::new(config)
    }
}

fn node(name: &str, args: &[String]) -> SutNode {
    SutNode::echo(name, &strs(args))
}

fn strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Runs `loadgen-node nodes`. Returns true if it reached the node, and its output.
fn ask(address: &str, transport: &str, args: &[String]) -> (bool, String) {
    let fixed = ["nodes", "--nodes", address, "--transport", transport, "--connect-timeout", "2s"];
    let ended = loadgen_node(&[&fixed, &strs(args)[..]].concat());
    (ended.code == Some(0), ended.said())
}

fn assert_welcome(address: &str, transport: &str, args: &[String]) {
    let (found, text) = ask(address, transport, args);
    assert!(found && text.contains("round trip"), "{transport}: {text}");
}

fn assert_turned_away(address: &str, transport: &str, args: &[String], words: &[&str]) {
    let (found, text) = ask(address, transport, args);
    assert!(!found, "{transport}: {text}");
    assert!(words.iter().any(|words| text.contains(words)), "{transport}: {text}");
}

#[test]
fn a_run_with_mutual_tls_over_both_transports() {
    let certificates = CertificateFolder::new("127.0.0.1");
    let node = SutNode::start("a", &strs(&certificates.node("127.0.0.1", true)));
    for transport in TRANSPORTS {
        let outcome = LoadGen::new(&[&node.address], "offline")
            .transport(transport)
            .accuracy()
            .args(&["--streams", "2"])
            .args(&strs(&certificates.known_client()))
            .run()
            .expect(0);
        let result = outcome.result();
        assert_eq!(result["accuracy"]["correct"], 493, "{result:#}");
        assert_eq!((&result["transport"], &result["tls"]), (&transport.into(), &true.into()));
    }
}

#[test]
fn a_certificate_of_a_client_is_not_valid_for_a_node() {
    let folder = CertificateFolder::new("127.0.0.1");
    let client = node("client", &folder.node("client", false));
    let words = ["does not allow extended key usage"];
    assert_turned_away(&client.address, "grpc", &folder.client(), &words);
}

#[test]
fn orders_for_certificates_that_make_no_sense_are_refused() {
    let folder = CertificateFolder::new("127.0.0.1");
    for (args, words) in [
        (&["--hosts", "127.0.0.1"][..], "exists already"),
        (&["--hosts", "b", "--valid-for", "1s"], "a minute to ten years"),
        (&["--hosts", "b", "--valid-for", "11y"], "a minute to ten years"),
        (&["--hosts", "b", "--valid-for", "365"], "has no unit"),
        (
            &["--hosts", "::1"],
            "--hosts ::1: it has several colons; write an IPv6 address in brackets",
        ),
        (&["--hosts", "b,n[1"], "--hosts n[1: a bracket is opened and not closed"),
        (&[], "--hosts"),
    ] {
        folder.order(args, 2, words);
    }
    assert!(["b.pem", "b.key"].iter().all(|name| !folder.0.root().join(name).exists()));
}

#[test]
fn a_certificate_says_that_it_ends_before_it_does() {
    let soon = CertificateFolder(Folder::create());
    soon.order(&["--hosts", "127.0.0.1", "--valid-for", "13d"], 0, "");
    let mut node = node("a", &soon.node("127.0.0.1", true));
    let (found, text) = ask(&node.address, "grpc", &soon.known_client());
    assert!(found && text.contains("client.pem expires on"), "{text}");
    let (_, log) = node.stop();
    assert!(log.contains("127.0.0.1.pem expires on"), "{log}");
}

#[test]
fn strangers_are_refused_and_the_node_lives_on() {
    let ours = CertificateFolder::new("127.0.0.1");
    let theirs = CertificateFolder::new("127.0.0.1");
    let mut node = node("a", &ours.node("127.0.0.1", true));
    for transport in TRANSPORTS {
        let at = |args: &[String], words: &[&str]| {
            assert_turned_away(&node.address, transport, args, words);
        };
        at(&ours.client(), &["give --tls-certificate and --tls-key"]);
        at(&theirs.known_client(), &["UnknownIssuer"]);
        let false_papers = [&ours.client()[..], &theirs.known_client()[2..]].concat();
        at(&false_papers, &["UnknownCA", "UnknownIssuer", "DecryptError", "BadSignature"]);
        at(&[], &["if the node uses TLS, give --tls-ca", "peer sent no certificates"]);
        assert_welcome(&node.address, transport, &ours.known_client());
    }
    let (code, log) = node.stop();
    assert_eq!(code, Some(0), "{log}");
    for reason in ["peer sent no certificates", "InvalidContentType", "UnknownIssuer"] {
        let line = log.lines().find(|line| line.contains(reason));
        let line = line.unwrap_or_else(|| panic!("no {reason} in {log}"));
        assert!(line.contains("a connection was refused") && line.contains("peer="), "{line}");
    }
}

/// In TLS 1.3 a node shows its certificate to any peer. A peer without a certificate then gets no
/// byte of a reply: not to a call, not to health or reflection, which need no token, and not even
/// the initial settings of HTTP/2.
#[tokio::test]
async fn with_mutual_tls_a_stranger_learns_the_certificate_and_nothing_else() {
    let certificates = CertificateFolder::new("127.0.0.1");
    let node = node("a", &certificates.node("127.0.0.1", true));
    let address: SocketAddr = node.address.parse().expect("an address");
    let shown = CertificateDer::from_pem_file(certificates.path("127.0.0.1.pem"));
    let shown = shown.expect("a certificate");
    for known in [true, false] {
        let name = "127.0.0.1".try_into().expect("a name");
        let tls = ClientConnection::new(certificates.tls(b"h2", known), name).expect("a client");
        let mut stream = StreamOwned::new(tls, TcpStream::connect(address).expect("connects"));
        // The preface and empty settings. An HTTP/2 server replies to them with its own settings at
        // once.
        let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        let mut answer = [0; 4];
        let read = stream.read(&mut answer);
        assert_eq!(stream.conn.peer_certificates(), Some(&[shown.clone()][..]));
        if known {
            assert!(read.is_ok_and(|bytes| bytes > 0), "our own client is answered")
        } else {
            let error = read.expect_err("no answer").to_string();
            assert!(error.contains("CertificateRequired"), "{error}");
        }

        let tls = QuicClientConfig::try_from(certificates.tls(b"netdiv/1", known));
        let config = quinn::ClientConfig::new(Arc::new(tls.expect("a configuration")));
        let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a socket");
        let connecting = endpoint.connect_with(config, address, "127.0.0.1").expect("connects");
        let answer = async {
            let (mut send, mut receive) = connecting.await.ok()?.open_bi().await.ok()?;
            let header = CallHeader { protocol_version: PROTOCOL_VERSION, ..CallHeader::default() };
            send.write_all(&framing::encode(&header)).await.ok()?;
            send.finish().ok()?;
            receive.read_chunk(1, true).await.ok()?
        };
        assert_eq!(answer.await.is_some(), known, "an answer over QUIC");
    }
}

#[test]
fn a_node_with_the_wrong_papers_is_refused() {
    let certificates = CertificateFolder::new("other.example");
    let elsewhere = node("a", &certificates.node("other.example", false));
    // A certificate that has expired.
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new([]).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = authority.self_signed(&authority_key).expect("signed").pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let mut old = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
    old.not_before = rcgen::date_time_ymd(2001, 1, 1);
    old.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let old = old.signed_by(&key, &issuer).expect("signed").pem();
    let expired = CertificateFolder(Folder::create());
    for (name, text) in [("ca.pem", ca), ("old.pem", old), ("old.key", key.serialize_pem())] {
        expired.0.write(name, text);
    }
    let outdated = SutNode::try_start("b", &strs(&expired.node("old", false)));
    assert_refused(outdated, "old.pem cannot be used: it expired on 2002-01-01");
    let plain = SutNode::echo("c", &[]);
    for transport in TRANSPORTS {
        let client = certificates.client();
        assert_turned_away(&elsewhere.address, transport, &client, &["not valid for name"]);
        // Over QUIC a node without certificates has a self-signed one.
        let words = ["does the node use TLS?", "UnknownIssuer"];
        assert_turned_away(&plain.address, transport, &client, &words);
        assert_welcome(&plain.address, transport, &[]);
    }
}

#[test]
fn a_token_opens_the_door_of_a_closed_lab() {
    let folder = Folder::create();
    let token = |name: &str, text: &str| ["--token-file".to_owned(), folder.write(name, text)];
    let right = token("right", "correct-horse-battery\n");
    let wrong = token("wrong", "correct-horse-staples\n");
    let short = token("short", "secret\n");
    let node = node("a", &right);
    for transport in TRANSPORTS {
        for args in [&wrong[..], &[]] {
            let words = ["the token is missing or wrong; give --token-file"];
            assert_turned_away(&node.address, transport, args, &words);
        }
        assert_turned_away(&node.address, transport, &short, &["holds no token: write one line"]);
        assert_welcome(&node.address, transport, &right);
        LoadGen::new(&[&node.address], "offline")
            .fabric("64x100")
            .transport(transport)
            .accuracy()
            .args(&strs(&right))
            .run()
            .expect(0);
    }
}

#[test]
fn certificates_are_read_again_on_sighup() {
    let certificates = CertificateFolder::new("127.0.0.1");
    let before = certificates.client();
    let mut node = node("a", &certificates.node("127.0.0.1", false));
    let old_ca = certificates.path("old-ca.pem");
    fs::rename(certificates.path("ca.pem"), &old_ca).expect("renames");
    for name in ["127.0.0.1.pem", "127.0.0.1.key", "client.pem", "client.key"] {
        fs::remove_file(certificates.path(name)).expect("removes");
    }
    // A file is missing: the certificates in use stay.
    node.signal("-HUP");
    node.wait_for_log("certificates cannot be reloaded");
    let old = vec!["--tls-ca".to_owned(), old_ca];
    for transport in TRANSPORTS {
        assert_welcome(&node.address, transport, &old);
    }
    certificates.order(&["--hosts", "127.0.0.1"], 0, "");
    node.signal("-HUP");
    for transport in TRANSPORTS {
        wait_until("the new certificate is shown", || ask(&node.address, transport, &before).0);
        assert_turned_away(&node.address, transport, &old, &["UnknownIssuer", "BadSignature"]);
    }
}

#[test]
fn nothing_is_open_by_mistake() {
    assert_refused(SutNode::try_start_at("0.0.0.0:0", &["--name", "a"]), "add --insecure");
    let certificates = CertificateFolder::new("127.0.0.1");
    let (certificate, key) = (certificates.path("127.0.0.1.pem"), certificates.path("client.key"));
    let empty = certificates.0.write("empty", "");
    for (args, words) in [
        (["--tls-certificate", &certificate].as_slice(), "give both files"),
        (&["--tls-certificate", &certificate, "--tls-key", &key], "cannot be used"),
        (&["--tls-certificate", &certificate, "--tls-key", "/nowhere"], "cannot read /nowhere"),
        (&["--tls-certificate", &empty, "--tls-key", &key], "holds no certificate"),
        (&["--tls-certificate", &certificate, "--insecure"], "exclude each other"),
        (&["--token-file", "/nowhere"], "cannot read /nowhere"),
    ] {
        assert_refused(SutNode::try_start("a", args), words);
    }
    for transport in TRANSPORTS {
        let words = ["192.0.2.1:50051 is on another machine; give --tls-ca, or --insecure"];
        assert_turned_away("192.0.2.1:50051", transport, &[], &words);
    }
    let both = [certificates.client(), vec!["--insecure".into()]].concat();
    assert_turned_away("127.0.0.1:1", "grpc", &both, &["exclude each other"]);
    assert_turned_away(
        "127.0.0.1:1",
        "grpc",
        &certificates.known_client()[2..],
        &["need --tls-ca"],
    );
}
