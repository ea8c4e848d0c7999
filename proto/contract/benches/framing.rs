//! The cost of encoding and decoding one message, without a network.

#![allow(missing_docs, clippy::expect_used, reason = "a benchmark")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netdiv_contract::{
    encoding::{self, Encoding},
    framing::{Decoder, Encoder, Frame},
    limits::MAX_MESSAGE_BYTES,
    v1::InferRequest,
};

/// Number of messages in one burst.
const MESSAGES: u64 = 256;

fn request(id: u64, payload: &Bytes) -> InferRequest {
    InferRequest { id, payload: payload.clone(), ..InferRequest::default() }
}

fn chunks(payload: &Bytes) -> Vec<Bytes> {
    let mut encoder = Encoder::default();
    (0..MESSAGES).for_each(|id| encoder.push(request(id, payload)));
    std::iter::from_fn(|| encoder.next_chunk()).collect()
}

fn framing(criterion: &mut Criterion) {
    for bytes in [64, 150_528] {
        let payload = Bytes::from(vec![7; bytes]);
        let mut group = criterion.benchmark_group(format!("framing, {bytes} B"));
        group.throughput(Throughput::Elements(MESSAGES));
        group.bench_function("encode", |bencher| bencher.iter(|| chunks(&payload)));
        let received = chunks(&payload);
        group.bench_function("decode", |bencher| {
            bencher.iter(|| {
                let mut decoder = Decoder::new(MAX_MESSAGE_BYTES);
                let mut count = 0;
                for chunk in &received {
                    decoder.push(chunk.clone());
                    while let Some(frame) = decoder.next_frame::<InferRequest>().expect("good") {
                        count += u64::from(matches!(frame, Frame::Message(_)));
                    }
                }
                assert_eq!(count, MESSAGES);
            });
        });
        group.finish();
    }
}

fn encodings(criterion: &mut Criterion) {
    // As compressible as text: 4 random bits per byte.
    let plain: Bytes =
        (0..150_528_u64).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 20) as u8 & 15).collect();
    let mut group = criterion.benchmark_group("decode 150,528 B");
    group.throughput(Throughput::Bytes(plain.len() as u64));
    for encoding in [Encoding::Zstd, Encoding::Lz4] {
        let sent = encoding::encode(encoding, plain.clone()).expect("encodes");
        group.bench_function(encoding.word(), |bencher| {
            bencher.iter(|| {
                let (bytes, length) = (sent.bytes.clone(), sent.decoded_bytes);
                encoding::decode(encoding as i32, bytes, length, 1 << 20).expect("decodes")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, framing, encodings);
criterion_main!(benches);
