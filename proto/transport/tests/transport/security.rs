//! Tests of tokens and certificates. The tests of the programs cover clients and nodes whose TLS
//! settings or tokens do not match.

use std::{sync::Arc, time::Duration};

use netdiv_contract::v1::DescribeRequest;
use tonic::Code;

use super::{BOTH, node::TestNode, options};
use crate::{
    Options,
    security::{ClientTls, ServerTls, ServerToken, TlsFiles, Token},
};

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
fn a_certificate_that_is_not_good_now_is_refused_where_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let now = time::OffsetDateTime::now_utc();
    let day = Duration::from_secs(86_400);
    for (begin, end, words) in [
        (now - 2 * day, now - day, "a.pem cannot be used: it expired on"),
        (now + day, now + 2 * day, "is this machine's clock right?"),
    ] {
        let mut own = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        (own.not_before, own.not_after) = (begin, end);
        let key = rcgen::KeyPair::generate().unwrap();
        let text = own.self_signed(&key).unwrap().pem();
        std::fs::write(folder.path().join("a.pem"), &text).unwrap();
        std::fs::write(folder.path().join("ca.pem"), &text).unwrap();
        std::fs::write(folder.path().join("a.key"), key.serialize_pem()).unwrap();
        let [ca, certificate, key] =
            ["ca.pem", "a.pem", "a.key"].map(|name| Some(folder.path().join(name)));
        let files = TlsFiles { ca, certificate, key };
        let error = ServerTls::load(files.clone()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        let error = ClientTls::load(&files).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
