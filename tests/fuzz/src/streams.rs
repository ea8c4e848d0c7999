//! Streams of messages, as both ends read them.

use bytes::Bytes;
use netdiv_contract::{
    checksum,
    framing::{Decoder, Encoder, Frame},
    payload_message::PayloadMessage,
    v1::{CallHeader, InferRequest, InferResponse},
};

use crate::{input::LONGEST, payloads::decode};

/// Reads a stream of requests as a node does; the first byte chooses the length of the pieces.
pub(crate) fn requests(data: &[u8]) {
    for request in stream::<InferRequest>(data) {
        let InferRequest { id, encoding, decoded_bytes, payload, .. } = &request;
        let sum = checksum::request_checksum(
            checksum::payload_checksum(payload),
            *id,
            *encoding,
            *decoded_bytes,
        );
        assert_eq!(checksum::check_request(&request).is_ok(), request.crc32c == Some(sum));
    }
}

/// Reads a stream of responses as the QDL does, and decodes their payloads.
pub(crate) fn responses(data: &[u8]) {
    for response in stream::<InferResponse>(data) {
        let sum = checksum::response_checksum(&response);
        assert_eq!(checksum::check_response(&response).is_ok(), response.crc32c == Some(sum));
        let InferResponse { encoding, payload, decoded_bytes, .. } = response;
        decode(encoding, payload, decoded_bytes);
    }
}

/// Reads a stream in place, as both ends do, and with prost alone, and compares the messages.
fn stream<M: PayloadMessage + PartialEq + Clone + std::fmt::Debug>(data: &[u8]) -> Vec<M> {
    let Some((cut, wire)) = data.split_first() else { return Vec::new() };
    let (mut decoder, mut prost) = (Decoder::new(LONGEST), Decoder::new(LONGEST));
    let (mut messages, mut expected): (Vec<M>, Vec<M>) = Default::default();
    for chunk in wire.chunks(usize::from(*cut) + 1) {
        let chunk = Bytes::copy_from_slice(chunk);
        decoder.push(chunk.clone());
        prost.push(chunk);
        let read = decoder.take_messages(&mut messages);
        let end = loop {
            match prost.next_frame() {
                Ok(Some(Frame::Message(message))) => expected.push(message),
                Ok(None) => break false,
                Ok(Some(Frame::End(_))) | Err(_) => break true,
            }
        };
        assert_eq!(messages, expected);
        assert!(end || read.is_ok(), "{read:?}");
        if end {
            break;
        }
    }
    // Messages that were read can be sent, and then read as the same messages.
    let mut encoder = Encoder::default();
    messages.iter().for_each(|message| encoder.push(message.clone()));
    let mut again = Decoder::new(2 * LONGEST);
    while let Some(chunk) = encoder.next_chunk() {
        again.push(chunk);
    }
    for message in &messages {
        let read = again.next_frame::<M>();
        assert!(matches!(&read, Ok(Some(Frame::Message(read))) if read == message), "{read:?}");
    }
    messages
}

/// Reads the first message of a QUIC stream.
pub(crate) fn call_headers(data: &[u8]) {
    let mut decoder = Decoder::new(LONGEST);
    decoder.push(Bytes::copy_from_slice(data));
    let _ = decoder.next_frame::<CallHeader>();
}
