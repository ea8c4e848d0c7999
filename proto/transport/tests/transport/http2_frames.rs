//! HTTP/2 frames (RFC 9113) for tests.

pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;

pub(crate) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Returns a GOAWAY frame. The first call has the stream 1.
pub(crate) fn go_away(last_stream: u8, code: u32, text: &[u8]) -> Vec<u8> {
    frame(GO_AWAY, 0, 0, &[&[0, 0, 0, last_stream], &code.to_be_bytes()[..], text].concat())
}
