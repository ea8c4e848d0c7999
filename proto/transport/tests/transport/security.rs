//! Tests of clients and nodes whose TLS settings or tokens do not match.

use std::{path::Path, sync::Arc, time::Duration};

use netdiv_contract::v1::DescribeRequest;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use tonic::Code;

use super::{
    BOTH,
    node::{Serving, TestNode},
    options,
};
use crate::{
    Connection, OpenError, Options, Transport,
    security::{ClientTls, ServerTls, ServerToken, TlsFiles, Token, make_certificates},
};

const HOST: &str = "127.0.0.1";

/// Creates certificates of a new authority, for this host and for a client.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path(), &[HOST.into()]).unwrap();
    folder
}

fn files(folder: &Path, ca: bool, name: Option<&str>) -> TlsFiles {
    let file = |name: &str, kind: &str| Some(folder.join(format!("{name}.{kind}")));
    TlsFiles {
        ca: ca.then(|| folder.join("ca.pem")),
        certificate: name.and_then(|name| file(name, "pem")),
        key: name.and_then(|name| file(name, "key")),
    }
}

async fn node(folder: &Path, mutual: bool, transport: Transport) -> Serving {
    let tls = ServerTls::load(files(folder, mutual, Some(HOST))).unwrap();
    TestNode { tls: Some(Arc::new(tls)), ..TestNode::default() }.serve(transport).await
}

/// Returns the outcome of `Describe` for a client with these options.
async fn describe(node: &Serving, options: &Options) -> Result<(), String> {
    let connection = match Connection::open(&node.address.to_string(), options).await {
        Ok(connection) => connection,
        Err(OpenError::Untrusted { why, .. }) => return Err(format!("untrusted: {why}")),
        Err(error) => return Err(error.to_string()),
    };
    let said = connection.describe(DescribeRequest::default()).await;
    said.map(drop).map_err(|status| format!("{:?}: {}", status.code(), status.message()))
}

fn with_tls(transport: Transport, files: &TlsFiles) -> Options {
    Options { tls: Some(ClientTls::load(files).unwrap()), ..options(transport) }
}

#[tokio::test]
async fn a_certificate_of_the_authority_is_taken_and_no_other() {
    let (ours, theirs) = (certificates(), certificates());
    for transport in BOTH {
        let node = node(ours.path(), false, transport).await;
        let trusted = with_tls(transport, &files(ours.path(), true, None));
        assert_eq!(describe(&node, &trusted).await, Ok(()));
        let other = with_tls(transport, &files(theirs.path(), true, None));
        let error = describe(&node, &other).await.unwrap_err();
        assert!(error.starts_with("untrusted") && error.contains("certificate"), "{error}");
    }
}

#[tokio::test]
async fn a_client_without_the_right_certificate_is_refused() {
    let (ours, theirs) = (certificates(), certificates());
    for transport in BOTH {
        let node = node(ours.path(), true, transport).await;
        let right = with_tls(transport, &files(ours.path(), true, Some("client")));
        assert_eq!(describe(&node, &right).await, Ok(()));
        let mut wrong = files(theirs.path(), true, Some("client"));
        wrong.ca = files(ours.path(), true, None).ca;
        let remedy = "give --tls-certificate and --tls-key";
        for (files, remedy) in [(files(ours.path(), true, None), remedy), (wrong, "")] {
            let error = describe(&node, &with_tls(transport, &files)).await.unwrap_err();
            let is_refused = error.starts_with("Unauthenticated") || error.contains("fatal alert");
            assert!(is_refused && error.contains(remedy), "{error}");
        }
    }
}

#[tokio::test]
async fn one_with_tls_and_one_without_do_not_talk() {
    let ours = certificates();
    let node_with = node(ours.path(), false, Transport::Grpc).await;
    let error = describe(&node_with, &options(Transport::Grpc)).await.unwrap_err();
    assert!(error.contains("if the node uses TLS, give --tls-ca"), "{error}");

    let listener = TcpListener::bind((HOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Unread bytes would make the system reset the connection.
        let mut hello = [0; 4096];
        assert!(stream.read(&mut hello).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        while stream.read(&mut hello).await.is_ok_and(|count| count > 0) {}
    });
    let with = with_tls(Transport::Grpc, &files(ours.path(), true, None));
    let error = Connection::open(&address, &with).await.unwrap_err().to_string();
    assert!(error.contains("does the node use TLS?"), "{error}");
}

#[tokio::test]
async fn a_call_needs_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = |text: &str| {
        let path = folder.path().join(text);
        std::fs::write(&path, format!("{text}\n")).unwrap();
        path
    };
    let (right, wrong) = (token("0123456789abcdef"), token("0123456789abcdeX"));
    for transport in BOTH {
        let required = ServerToken::load(right.clone()).unwrap();
        let node = TestNode { token: Some(Arc::new(required)), ..TestNode::default() };
        let node = node.serve(transport).await;
        let client =
            |path: &Path| Options { token: Some(Token::read(path).unwrap()), ..options(transport) };
        assert_eq!(describe(&node, &client(&right)).await, Ok(()));
        for options in [client(&wrong), options(transport)] {
            let error = describe(&node, &options).await.unwrap_err();
            assert!(error.starts_with("Unauthenticated: the token is missing or wrong"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_token_that_changes_ends_no_connection_that_was_let_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    for transport in BOTH {
        write("0123456789abcdef");
        let required = Arc::new(ServerToken::load(path.clone()).unwrap());
        let node = TestNode { token: Some(required.clone()), ..TestNode::default() };
        let node = node.serve(transport).await;
        let options = Options { token: Some(Token::read(&path).unwrap()), ..options(transport) };
        let (known, stranger) = (
            super::open(node.address, &options).await.unwrap(),
            super::open(node.address, &options).await.unwrap(),
        );
        known.describe(DescribeRequest::default()).await.unwrap();
        write("another-token-0123456789");
        required.reload().unwrap();
        known.describe(DescribeRequest::default()).await.expect("it was admitted");
        for connection in [&stranger, &super::open(node.address, &options).await.unwrap()] {
            let refused = connection.describe(DescribeRequest::default()).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        }
    }
}

#[test]
fn a_token_is_one_line_of_visible_characters_and_is_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    for (text, is_token) in [
        ("0123456789abcdef", true),
        (" 0123456789abcdef \n", true),
        ("0123456789abcde", false),
        ("0123456789 abcdef", false),
        ("0123456789abcde\u{e9}", false),
        ("", false),
    ] {
        std::fs::write(&path, text).unwrap();
        let token = Token::read(&path);
        assert_eq!(token.is_ok(), is_token, "{text}");
        assert!(!format!("{token:?}").contains("0123"), "{token:?}");
    }
    assert!(Token::read(&folder.path().join("nowhere")).is_err());
}

#[test]
fn a_node_that_cannot_read_its_files_again_keeps_what_it_has() {
    let folder = certificates();
    let tls = ServerTls::load(files(folder.path(), false, Some(HOST))).unwrap();
    std::fs::write(folder.path().join("127.0.0.1.key"), "no key").unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.contains("127.0.0.1.key holds no private key"), "{error}");
    let half = TlsFiles { key: None, ..files(folder.path(), false, Some(HOST)) };
    assert!(ServerTls::load(half).is_err());
}

#[test]
fn a_certificate_that_is_not_good_now_is_refused_where_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let now = time::OffsetDateTime::now_utc();
    let day = Duration::from_secs(86_400);
    for (begin, end, words) in [
        (now - 2 * day, now - day, "a.pem cannot be used: it expired on"),
        (now + day, now + 2 * day, "is this machine's clock right?"),
    ] {
        let mut own = rcgen::CertificateParams::new([HOST.to_owned()]).unwrap();
        (own.not_before, own.not_after) = (begin, end);
        let key = rcgen::KeyPair::generate().unwrap();
        let text = own.self_signed(&key).unwrap().pem();
        std::fs::write(folder.path().join("a.pem"), &text).unwrap();
        std::fs::write(folder.path().join("ca.pem"), &text).unwrap();
        std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
        let files = files(folder.path(), true, Some("a"));
        let error = ServerTls::load(files.clone()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        let error = ClientTls::load(&files).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
