//! Texts that explain why a QUIC connection, or a call on it, ended.

use std::{error::Error, iter};

use quinn::{ConnectionError, ReadError, TransportErrorCode, VarInt, WriteError};

use crate::open_error::{CERTIFICATE_REMEDY, peer_reason};

/// Error codes of TLS alerts (RFC 9001, section 4.8).
const CRYPTO_ERRORS: std::ops::Range<u64> = 0x100..0x200;

/// Code of the TLS alert from a peer that supports none of the offered protocols (RFC 7301).
const NO_APPLICATION_PROTOCOL: u64 = 0x178;

/// Code of the TLS alert from a node whose client has no certificate (RFC 8446, section 6.2).
const CERTIFICATE_REQUIRED: u64 = 0x174;

/// Code with which netdiv's programs, client and node, close a QUIC connection. Any other code is
/// from other software.
pub(super) const NETDIV_CLOSES: VarInt = VarInt::from_u32(0);

/// Returns a text that explains an error by its deepest cause, which is the most specific one.
pub(super) fn explain(error: &(dyn Error + 'static)) -> String {
    let deepest = iter::successors(Some(error), |cause| (*cause).source()).last().unwrap_or(error);
    if let Some(error) = deepest.downcast_ref() {
        return of_connection(error);
    }
    match (deepest.downcast_ref(), deepest.downcast_ref()) {
        (Some(ReadError::Reset(code)), _) => {
            format!("it reset the call with the code {code}; see the log there")
        }
        (_, Some(WriteError::Stopped(code))) => {
            format!("it stopped reading the call with the code {code}; see the log there")
        }
        _ => deepest.to_string(),
    }
}

fn of_connection(error: &ConnectionError) -> String {
    match error {
        ConnectionError::TimedOut => "it sent nothing for too long".into(),
        ConnectionError::VersionMismatch => {
            "it supports no version of QUIC that this program supports; install current releases at both ends".into()
        }
        ConnectionError::Reset => {
            "it does not know the connection (stateless reset): it was restarted, or its address now reaches another machine"
                .into()
        }
        ConnectionError::LocallyClosed => "this program closed the connection".into(),
        ConnectionError::CidsExhausted => {
            "this program has no connection id left; use fewer connections".into()
        }
        ConnectionError::ApplicationClosed(close) => {
            let how = "it closed the connection";
            let reason = peer_reason(&close.reason);
            match (close.error_code, reason.as_str()) {
                (NETDIV_CLOSES, "") => format!("{how} and gave no reason; see the log there"),
                (NETDIV_CLOSES, reason) => format!("{how}: {reason}"),
                (code, reason) => format!(
                    "{how} with the code {code}, which netdiv does not use{}; is it a SUT node of this release?",
                    in_brackets(reason)
                ),
            }
        }
        ConnectionError::ConnectionClosed(close) => {
            let lacks_certificate = u64::from(close.error_code) == CERTIFICATE_REQUIRED;
            let remedy = if lacks_certificate { CERTIFICATE_REMEDY } else { "" };
            let why = of_code(close.error_code, &peer_reason(&close.reason));
            format!("it closed the connection with {why}{remedy}")
        }
        ConnectionError::TransportError(error) => {
            let reason = peer_reason(error.reason.as_bytes());
            format!("this program closed the connection with {}", of_code(error.code, &reason))
        }
    }
}

/// Returns a text with the name of a QUIC transport error code, the peer's reason, the meaning of
/// the code and a remedy.
fn of_code(code: TransportErrorCode, reason: &str) -> String {
    use TransportErrorCode as Code;

    let (number, reason) = (u64::from(code), in_brackets(reason));
    let remedy = match code {
        _ if number == NO_APPLICATION_PROTOCOL => {
            return format!(
                "TLS alert 120{reason}: the two ends share no protocol; is it a SUT node of this release?"
            );
        }
        _ if CRYPTO_ERRORS.contains(&number) => {
            return format!("TLS alert {}{reason}", number - CRYPTO_ERRORS.start);
        }
        _ if number > Code::NO_VIABLE_PATH.into() => {
            return format!("{number:#x}{reason}: RFC 9000 does not define this code");
        }
        Code::NO_ERROR => "it may be shutting down; try again",
        Code::INTERNAL_ERROR | Code::APPLICATION_ERROR => "see the log there",
        Code::CONNECTION_REFUSED => "it is shutting down, or accepts no more; try again",
        Code::NO_VIABLE_PATH => "check the routes and the firewalls on the path",
        _ => "install current releases at both ends, and see the log there",
    };
    format!("{code:?}{reason}: {code}; {remedy}")
}

/// Returns true if TLS ended the connection, because one end does not trust the other.
pub(super) fn is_distrust(error: &ConnectionError) -> bool {
    let code = match error {
        ConnectionError::TransportError(error) => error.code,
        ConnectionError::ConnectionClosed(close) => close.error_code,
        _ => return false,
    };
    let code = u64::from(code);
    CRYPTO_ERRORS.contains(&code) && code != NO_APPLICATION_PROTOCOL
}

fn in_brackets(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quinn::{ApplicationClose, ConnectionClose};

    use super::*;

    fn closed(error_code: TransportErrorCode, reason: &'static [u8]) -> ConnectionError {
        let reason = reason.into();
        ConnectionError::ConnectionClosed(ConnectionClose { error_code, frame_type: None, reason })
    }

    #[test]
    fn each_code_of_the_transport_has_a_message_of_its_own() {
        use TransportErrorCode as Code;

        let codes = [
            Code::NO_ERROR,
            Code::INTERNAL_ERROR,
            Code::CONNECTION_REFUSED,
            Code::FLOW_CONTROL_ERROR,
            Code::STREAM_LIMIT_ERROR,
            Code::STREAM_STATE_ERROR,
            Code::FINAL_SIZE_ERROR,
            Code::FRAME_ENCODING_ERROR,
            Code::TRANSPORT_PARAMETER_ERROR,
            Code::CONNECTION_ID_LIMIT_ERROR,
            Code::PROTOCOL_VIOLATION,
            Code::INVALID_TOKEN,
            Code::APPLICATION_ERROR,
            Code::CRYPTO_BUFFER_EXCEEDED,
            Code::KEY_UPDATE_ERROR,
            Code::AEAD_LIMIT_REACHED,
            Code::NO_VIABLE_PATH,
        ];
        let messages: BTreeSet<_> =
            codes.iter().map(|code| explain(&closed(*code, b"a\x1b reason"))).collect();
        assert_eq!(messages.len(), codes.len());
        for (code, message) in codes.iter().zip(codes.map(|code| explain(&closed(code, b"a\x1b"))))
        {
            let begins = format!("it closed the connection with {code:?} (a\\u{{1b}}): ");
            assert!(message.starts_with(&begins), "{message}");
        }
    }

    #[test]
    fn alerts_of_tls_are_distrust_except_for_another_protocol() {
        for (alert, is_distrusted, words) in [
            (48, true, "it closed the connection with TLS alert 48 (unknown CA)"),
            (120, false, "is it a SUT node of this release?"),
        ] {
            let error = closed(TransportErrorCode::crypto(alert), b"unknown CA");
            assert_eq!(is_distrust(&error), is_distrusted);
            let message = explain(&error);
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn an_application_that_closes_is_quoted_and_cut() {
        let long: &[u8] = &[b'x'; 5000];
        for (code, reason, message) in [
            (0, &b"the node ends"[..], "it closed the connection: the node ends"),
            (0, b"", "it closed the connection and gave no reason; see the log there"),
            (
                7,
                b"H3_NO_ERROR",
                "it closed the connection with the code 7, which netdiv does not use (H3_NO_ERROR); is it a SUT node of \
                 this release?",
            ),
        ] {
            let close =
                ApplicationClose { error_code: VarInt::from_u32(code), reason: reason.into() };
            assert_eq!(explain(&ConnectionError::ApplicationClosed(close)), message);
        }
        let close = ApplicationClose { error_code: NETDIV_CLOSES, reason: long.into() };
        assert!(explain(&ConnectionError::ApplicationClosed(close)).len() < 300);
    }

    #[test]
    fn other_ends_are_explained_through_the_errors_of_streams() {
        let lost = |error| explain(&ReadError::ConnectionLost(error));
        for (message, words) in [
            (lost(ConnectionError::TimedOut), "it sent nothing for too long"),
            (lost(ConnectionError::Reset), "it was restarted"),
            (lost(ConnectionError::VersionMismatch), "no version of QUIC"),
            (lost(ConnectionError::LocallyClosed), "this program closed the connection"),
            (explain(&ReadError::Reset(VarInt::from_u32(7))), "it reset the call with the code 7"),
            (
                explain(&WriteError::Stopped(VarInt::from_u32(7))),
                "it stopped reading the call with",
            ),
        ] {
            assert!(message.contains(words), "{message}");
        }
    }
}
