use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use proptest::prelude::*;

use super::*;
use crate::{
    burst::Messages,
    limits::{MAX_ERROR_BYTES, MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES},
    v1::{InferRequest, InferResponse},
};

fn request(id: u64, payload: Bytes) -> InferRequest {
    InferRequest { id, payload, ..InferRequest::default() }
}

fn next(decoder: &mut Decoder) -> Result<Option<InferRequest>, FramingError> {
    let mut messages = Vec::new();
    match decoder.next_arrived()? {
        Some(Frame::Message(length)) => decoder.read(length, &mut messages)?,
        Some(Frame::End(status)) => panic!("{status:?}"),
        None => {}
    }
    Ok(messages.pop())
}

fn chunks(messages: Vec<InferRequest>) -> Vec<Bytes> {
    let mut encoder = Encoder::default();
    messages.into_iter().for_each(|message| encoder.push(message));
    std::iter::from_fn(|| encoder.next_chunk()).collect()
}

#[test]
fn bytes_on_the_wire_are_those_of_grpc() {
    for payload in [0, 3, 5000] {
        let message = request(7, vec![1; payload].into());
        let plain = message.encode_to_vec();
        let wire = chunks(vec![message]).concat();
        assert_eq!(wire[..5], [&[0], &(plain.len() as u32).to_be_bytes()[..]].concat());
        assert_eq!(wire[5..], plain);
    }
}

#[test]
fn the_longest_header_fits_its_place() {
    let mut message = InferResponse {
        id: u64::MAX,
        status: -1,
        error: String::new(),
        encoding: -1,
        decoded_bytes: u64::MAX,
        queue_ns: u64::MAX,
        prepare_ns: u64::MAX,
        compute_ns: u64::MAX,
        batch_size: u32::MAX,
        crc32c: Some(u32::MAX),
        part: -1,
        token_count: u32::MAX,
        first_token_ns: u64::MAX,
        cached_tokens: u32::MAX,
        payload: Bytes::new(),
    };
    assert_eq!(message.encoded_len(), SHORT_HEADER_BYTES);
    for (payload, error) in [(0, 0), (1 << 20, 0), (10, 3), (1 << 20, 3000)] {
        message =
            InferResponse { payload: vec![7; payload].into(), error: "e".repeat(error), ..message };
        let mut encoder = Encoder::default();
        encoder.push(message.clone());
        let mut decoder = Decoder::new(MAX_PAYLOAD_BYTES);
        while let Some(chunk) = encoder.next_chunk() {
            decoder.push(chunk);
        }
        let mut read: Vec<InferResponse> = Vec::new();
        decoder.take_messages(&mut read).unwrap();
        assert_eq!(read, [message.clone()]);
    }
}

#[test]
fn long_payloads_are_neither_copied_out_nor_in() {
    let payload = Bytes::from(vec![3; 100_000]);
    let sent = chunks(vec![request(1, payload.clone()), request(2, payload.clone())]);
    assert_eq!(sent.len(), 4, "header, payload, header, payload");
    assert_eq!(sent[1].as_ptr(), payload.as_ptr());
    let mut decoder = Decoder::new(MAX_PAYLOAD_BYTES);
    sent.into_iter().for_each(|chunk| decoder.push(chunk));
    for id in [1, 2] {
        let message = next(&mut decoder).unwrap().unwrap();
        assert_eq!((message.id, message.payload.as_ptr()), (id, payload.as_ptr()));
    }
    assert!(decoder.finish().is_ok());
}

#[test]
fn a_short_payload_does_not_hold_on_to_a_long_chunk() {
    let short = (0..2000).map(|id| request(id, vec![1; 64].into()));
    let mut chunk = BytesMut::new();
    chunks(short.collect()).iter().for_each(|part| chunk.put_slice(part));
    let chunk = chunk.freeze();
    let place = chunk.as_ptr_range();
    let mut decoder = Decoder::new(1000);
    decoder.push(chunk);
    let first = next(&mut decoder).unwrap().unwrap();
    assert!(!place.contains(&first.payload.as_ptr()));
}

#[test]
fn bad_prefixes_bad_messages_and_early_ends_are_errors() {
    let only = |bytes: &'static [u8]| {
        let mut decoder = Decoder::new(10);
        decoder.push(Bytes::from_static(bytes));
        let message = next(&mut decoder);
        message.and_then(|message| decoder.finish().map(|()| message))
    };
    assert!(matches!(only(&[1, 0, 0, 0, 0]), Err(FramingError::Flag(1))));
    let long = only(&[0, 0, 0, 0, 11]);
    assert!(matches!(long, Err(FramingError::TooLong { announced: 11, limit: 10 })));
    assert!(matches!(only(&[0, 0, 0, 0, 1, 0xff]), Err(FramingError::Damaged(_))));
    assert!(matches!(only(&[0, 0, 0, 0, 2, 0]), Err(FramingError::Truncated)));
    assert!(matches!(only(&[0, 0, 0]), Err(FramingError::Truncated)));
    assert_eq!(only(&[0, 0, 0, 0, 0]).unwrap(), Some(InferRequest::default()));
    assert_eq!(only(&[]).unwrap(), None);
}

/// Stream of one chunk.
struct OneChunk(Option<Bytes>);

impl Stream for OneChunk {
    type Item = Result<Bytes, WireError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}

#[test]
fn a_message_with_much_beside_its_payload_is_refused() {
    for (unknown, is_taken) in [(100, true), (MAX_HEADER_BYTES + 1, false)] {
        let mut message = Vec::new();
        // No message has a field 99.
        prost::encoding::bytes::encode(99, &vec![0_u8; unknown], &mut message);
        message.extend(request(1, Bytes::from_static(b"payload")).encode_to_vec());
        let chunk = [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat();
        let mut messages = Messages::new(OneChunk(Some(chunk.into())), 1 << 20);
        let mut burst = Vec::<InferRequest>::new();
        let mut next = Box::pin(messages.next_burst(&mut burst));
        match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(_)) if is_taken => {}
            Poll::Ready(Err(status)) if !is_taken => {
                assert!(status.to_string().contains("beside its payload of 7"), "{status}");
            }
            other => panic!("{unknown} bytes: {other:?}"),
        }
        drop(next);
        assert_eq!(burst.len(), usize::from(is_taken));
    }
}

#[test]
fn a_status_ends_a_stream() {
    let status = CallStatus { code: 3, message: "no".into() };
    let mut decoder = Decoder::new(10);
    decoder.push(encode(&request(1, Bytes::new())));
    decoder.push(encode_end(&status));
    assert_eq!(next(&mut decoder).unwrap().unwrap().id, 1);
    assert_eq!(decoder.next_frame::<InferRequest>().unwrap(), Some(Frame::End(status)));
}

#[test]
fn short_and_long_headers_are_written_as_prost_writes_them() {
    for (error, number) in [(0, 0), (0, u64::MAX), (60, 0), (2000, u64::MAX)] {
        let response = InferResponse {
            id: number,
            status: 2,
            error: "x".repeat(error),
            encoding: 2,
            decoded_bytes: number,
            queue_ns: number,
            prepare_ns: number,
            compute_ns: number,
            batch_size: number as u32,
            part: i32::from(number > 0),
            token_count: number as u32,
            first_token_ns: number,
            cached_tokens: number as u32,
            crc32c: Some(number as u32),
            payload: Bytes::from_static(b"an answer"),
        };
        let mut encoder = Encoder::default();
        encoder.push(response.clone());
        assert_eq!(encoder.next_chunk().unwrap(), encode(&response));
    }
}

#[test]
fn whole_messages_are_taken_and_a_part_is_left() {
    let mut decoder = Decoder::new(10);
    let message = |id| encode(&request(id, Bytes::new()));
    decoder.push(message(1));
    decoder.push(message(2));
    decoder.push(message(3).slice(..8));
    let mut taken: Vec<InferRequest> = Vec::new();
    decoder.take_messages(&mut taken).unwrap();
    assert_eq!(taken.iter().map(|message| message.id).collect::<Vec<_>>(), [1, 2]);
    assert!(decoder.is_mid_message());

    decoder.push(message(3).slice(8..));
    decoder.push(encode_end(&CallStatus { code: 15, message: "no".into() }));
    let end = decoder.take_messages(&mut taken).unwrap_err();
    assert_eq!(taken.len(), 3);
    assert_eq!(end, WireError::Ended { code: 15, message: "no".into() });
    assert!(!decoder.is_mid_message());
}

proptest! {
    #[test]
    fn messages_survive_any_cut_of_the_stream(
        sizes in proptest::collection::vec(0_usize..10_000, 1..20), cut in 1_usize..5000,
    ) {
        let messages: Vec<_> = sizes
            .iter()
            .zip(0_u8..)
            .map(|(size, n)| request(n.into(), vec![n; *size].into()))
            .collect();
        let wire = Bytes::from(chunks(messages.clone()).concat());
        let mut decoder = Decoder::new(20_000);
        let mut received = Vec::new();
        for at in (0..wire.len()).step_by(cut) {
            decoder.push(wire.slice(at..wire.len().min(at + cut)));
            while let Some(message) = next(&mut decoder).unwrap() {
                received.push(message);
            }
        }
        prop_assert!(decoder.finish().is_ok());
        prop_assert_eq!(received, messages);
    }
}

#[test]
fn a_peer_cannot_fill_a_log_with_the_end_of_a_call() {
    let mut decoder = Decoder::new(MAX_PAYLOAD_BYTES);
    decoder.push(encode_end(&CallStatus { code: 13, message: "x\n".repeat(1 << 20) }));
    let error = decoder.take_messages(&mut Vec::<InferRequest>::new()).unwrap_err();
    let WireError::Ended { code: 13, message } = error else { panic!("{error}") };
    assert!(message.len() <= MAX_ERROR_BYTES && !message.contains('\n'));
}
