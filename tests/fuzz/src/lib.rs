//! Every decoder that faces the network, as a function of hostile bytes. It must come back, and what it says must be
//! true; a panic is a finding.
//!
//! `make test` runs each on its corpus and on mutations of it; `make fuzz MINUTES=n` runs each under libFuzzer, which
//! follows the branches that are taken.

use bytes::Bytes;
use netdiv_proto::{
    encoding,
    framing::{Decoder, Encoder, Frame, Framed},
    layout::{self, DataType, InputLayout, TensorSpec},
    probe,
    v1::{CallHeader, InferRequest, InferResponse},
};

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 6] = [
    ("requests", requests),
    ("responses", responses),
    ("call_headers", call_headers),
    ("encodings", encodings),
    ("layouts", layouts),
    ("probes", probes),
];

/// Limits of a decoder under test, in bytes.
const LONGEST: usize = 4096;

/// A stream of requests, as a node reads it: the first byte says how it is cut.
pub fn requests(data: &[u8]) {
    stream::<InferRequest>(data);
}

/// A stream of responses, as the QDL reads it, and what it decodes of them.
pub fn responses(data: &[u8]) {
    for response in stream::<InferResponse>(data) {
        let InferResponse { encoding, payload, decoded_bytes, .. } = response;
        decode(encoding, payload, decoded_bytes);
    }
}

fn stream<M: Framed + PartialEq + Clone + std::fmt::Debug>(data: &[u8]) -> Vec<M> {
    let Some((cut, wire)) = data.split_first() else { return Vec::new() };
    let mut decoder = Decoder::new(LONGEST);
    let mut messages: Vec<M> = Vec::new();
    for chunk in wire.chunks(usize::from(*cut) + 1) {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next_frame() {
                Ok(Some(Frame::Message(message))) => messages.push(message),
                Ok(Some(Frame::End(_))) => {}
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    // What was read can be sent, and is then read as the same.
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

/// The first message of a QUIC stream.
pub fn call_headers(data: &[u8]) {
    let mut decoder = Decoder::new(LONGEST);
    decoder.push(Bytes::copy_from_slice(data));
    let _ = decoder.next_frame::<CallHeader>();
}

/// A compressed payload: the first byte is the encoding, the next two are the announced length.
pub fn encodings(data: &[u8]) {
    let [encoding, low, high, payload @ ..] = data else { return };
    let announced = u64::from(*low) | u64::from(*high) << 8;
    decode(i32::from(*encoding), Bytes::copy_from_slice(payload), announced);
}

fn decode(encoding: i32, payload: Bytes, announced: u64) {
    if let Ok(plain) = encoding::decode(encoding, payload, announced, LONGEST) {
        assert!(plain.len() <= LONGEST && (encoding == 0 || plain.len() as u64 == announced));
    }
}

/// A packed sample, for models that take one thing or the other.
pub fn layouts(data: &[u8]) {
    let spec = |data_type: DataType, shape: &[i64]| TensorSpec {
        name: String::new(),
        data_type: data_type as i32,
        shape: shape.to_vec(),
    };
    let ids = spec(DataType::Int64, &[-1]);
    for tensors in
        [vec![], vec![spec(DataType::Uint8, &[3])], vec![ids.clone()], vec![ids.clone(), ids]]
    {
        let _ = layout::read(&InputLayout { tensors }, data);
    }
    if let Ok(tensors) = layout::unpack(data) {
        assert_eq!(layout::pack(&tensors), data, "there is one way to pack tensors");
    }
}

/// A sample that a node without a model answers.
pub fn probes(data: &[u8]) {
    if let Some(bytes) = probe::answer_bytes(data) {
        assert_eq!(probe::sample(data.len(), bytes as usize)[..16], data[..16]);
    }
}
