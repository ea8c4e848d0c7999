//! Parser of the HTTP/2 frames that a node sends. It finds what hyper does not report: the reason
//! why the node closes the connection.
//!
//! hyper reports the code of a GOAWAY frame to a call only if the frame arrives while the call is
//! open, and if the last stream that it names is earlier than the stream of the call.

use super::http2_close::Http2Close;

/// Length of a frame's header, in bytes.
const HEADER_BYTES: usize = 9;

/// Type of GOAWAY frames.
const GO_AWAY: u8 = 7;

/// Number of payload bytes before the text of a GOAWAY frame: 4 for the last stream, 4 for the
/// code.
const FIXED_BYTES: usize = 8;

/// Maximum number of bytes kept of a GOAWAY frame.
const MAX_KEPT_BYTES: usize = 512;

/// Beginning of an HTTP/1 answer, which a peer without HTTP/2 sends instead of the first frame.
const HTTP1: &[u8] = b"HTTP/1.";

/// Parser of the frames of one connection, and its position in the current frame.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: [u8; HEADER_BYTES],
    /// Number of bytes of the current frame's header that were received.
    header_bytes: usize,
    /// Number of bytes of the current frame's payload that are still missing.
    missing: usize,
    /// Beginning of the current frame's payload, if the frame is GOAWAY.
    kept: Vec<u8>,
    has_begun: bool,
}

/// Fact about the peer that its frames show.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameFinding {
    GoAway(Http2Close),
    /// The peer uses HTTP/1.
    Http1,
}

impl Frames {
    /// Parses the next bytes that the peer has sent, and returns the last finding in them.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> Option<FrameFinding> {
        let mut found = None;
        while !bytes.is_empty() {
            if self.header_bytes < HEADER_BYTES {
                let (new, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header_bytes));
                self.header[self.header_bytes..][..new.len()].copy_from_slice(new);
                self.header_bytes += new.len();
                bytes = rest;
                if self.header_bytes < HEADER_BYTES {
                    break;
                }
                let [a, b, c, ..] = self.header;
                self.missing = u32::from_be_bytes([0, a, b, c]) as usize;
                if !self.has_begun && self.header.starts_with(HTTP1) {
                    found = Some(FrameFinding::Http1);
                }
                self.has_begun = true;
            }
            let (payload, rest) = bytes.split_at(bytes.len().min(self.missing));
            let is_go_away = self.header[3] == GO_AWAY;
            if is_go_away {
                let room = MAX_KEPT_BYTES - self.kept.len();
                self.kept.extend(&payload[..payload.len().min(room)]);
            }
            self.missing -= payload.len();
            bytes = rest;
            if self.missing == 0 {
                self.header_bytes = 0;
                if is_go_away && let Some(close) = close(&self.kept) {
                    found = Some(FrameFinding::GoAway(close));
                }
                self.kept.clear();
            }
        }
        found
    }
}

fn close(payload: &[u8]) -> Option<Http2Close> {
    let (fixed, debug_data) = payload.split_first_chunk::<FIXED_BYTES>()?;
    let [.., a, b, c, d] = *fixed;
    Some(Http2Close::go_away(u32::from_be_bytes([a, b, c, d]), debug_data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::http2_frames::{self, SETTINGS, go_away};

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        http2_frames::frame(kind, 0, 0, payload)
    }

    #[test]
    fn go_away_is_found_however_its_bytes_are_cut() {
        let bytes = [
            frame(SETTINGS, b""),
            // A DATA frame whose payload looks like a GOAWAY frame.
            frame(0, &go_away(1, 1, b"")),
            go_away(1, 0, b""),
            go_away(1, 11, b"too_many_pings"),
            frame(6, &[7; 8]),
        ]
        .concat();
        for piece in 1..=bytes.len() {
            let mut frames = Frames::default();
            let found: Vec<_> =
                bytes.chunks(piece).filter_map(|piece| frames.follow(piece)).collect();
            let calm = FrameFinding::GoAway(Http2Close::go_away(11, b"too_many_pings"));
            assert_eq!(found.last(), Some(&calm), "{piece}");
            assert!(found.len() <= 2, "{found:?}");
        }
    }

    #[test]
    fn a_short_or_a_long_go_away_does_no_harm() {
        let mut frames = Frames::default();
        assert_eq!(frames.follow(&frame(GO_AWAY, &[0; 7])), None);
        let long = [&[0; 8][..], &[b'x'; 70_000]].concat();
        let Some(FrameFinding::GoAway(close)) = frames.follow(&frame(GO_AWAY, &long)) else {
            panic!("it is found")
        };
        assert!(close.to_string().len() < 400, "{close}");
    }

    #[test]
    fn only_a_peer_that_begins_with_http_1_speaks_it() {
        let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        assert_eq!(Frames::default().follow(answer), Some(FrameFinding::Http1));
        let later = [frame(SETTINGS, b""), answer.to_vec()].concat();
        assert_eq!(Frames::default().follow(&later), None);
    }
}
