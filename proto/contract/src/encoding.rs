//! Lossless compression of one payload, one sample at a time (rules, section 6.2.4).
//!
//! Decoding never produces more bytes than the message announces or the caller allows, so a few
//! hostile bytes cannot fill the memory.

use bytes::Bytes;

pub use crate::v1::Encoding;

/// Level of Zstandard: its default. Samples are encoded once, outside the timed region.
#[cfg(feature = "wire")]
const ZSTD_LEVEL: i32 = 3;

/// Payload as it is sent.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Compression of the bytes.
    pub encoding: Encoding,
    /// Length after decoding, in bytes; 0 for [`Encoding::None`].
    pub decoded_bytes: u64,
    /// CRC32C of the bytes, if messages have checksums: see `checksum::payload_checksum`.
    pub crc32c: Option<u32>,
}

impl Encoded {
    /// Returns the number of bytes that the sample takes up in windows and in a node's limits: the
    /// length of its payload before or after decoding, whichever is larger, because a node needs
    /// memory for both. See [`cost`].
    #[inline]
    pub fn cost(&self) -> usize {
        usize::try_from(cost(self.bytes.len(), self.decoded_bytes)).unwrap_or(usize::MAX)
    }
}

/// Returns the number of bytes that a payload takes up in the limits of both ends: `encoded_bytes`
/// or `decoded_bytes`, whichever is larger.
#[inline]
pub fn cost(encoded_bytes: usize, decoded_bytes: u64) -> u64 {
    decoded_bytes.max(encoded_bytes as u64)
}

/// Failure to encode or decode a payload.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EncodingError {
    /// The message has an unknown encoding.
    #[error("unknown encoding number {0}")]
    Unknown(i32),
    /// The message announces a longer payload than the limit allows.
    #[error("decodes to {announced} bytes, the limit is {limit}")]
    TooLong {
        /// Announced length, in bytes.
        announced: u64,
        /// Limit, in bytes.
        limit: usize,
    },
    /// The compressed bytes are damaged, or longer or shorter than announced.
    #[error(
        "damaged {encoding} payload ({why}); repeat with --checksums: if they match, the sender is faulty"
    )]
    Damaged { encoding: Encoding, why: String },
    /// The encoder failed.
    #[error("cannot encode with {encoding}: {why}")]
    Encoder { encoding: Encoding, why: String },
}

impl Encoding {
    /// Name on the command line, in settings files and in results.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Encodes one payload.
#[cfg(feature = "wire")]
#[inline]
pub fn encode(encoding: Encoding, plain: Bytes) -> Result<Encoded, EncodingError> {
    let decoded_bytes = plain.len() as u64;
    let failed = |why: String| EncodingError::Encoder { encoding, why };
    let bytes = match encoding {
        Encoding::None => {
            return Ok(Encoded { bytes: plain, encoding, decoded_bytes: 0, crc32c: None });
        }
        Encoding::Zstd => {
            zstd::bulk::compress(&plain, ZSTD_LEVEL).map_err(|e| failed(e.to_string()))?
        }
        Encoding::Lz4 => lz4_flex::block::compress(&plain),
    };
    Ok(Encoded { bytes: bytes.into(), encoding, decoded_bytes, crc32c: None })
}

/// Returns the encoding for a number on the wire. Fails if the number is unknown.
#[inline]
pub fn from_wire(encoding: i32) -> Result<Encoding, EncodingError> {
    Encoding::try_from(encoding).map_err(|_| EncodingError::Unknown(encoding))
}

/// Decodes one payload like [`decode_known`], with the encoding's number on the wire.
#[cfg(feature = "wire")]
pub fn decode(
    encoding: i32,
    bytes: Bytes,
    decoded_bytes: u64,
    limit: usize,
) -> Result<Bytes, EncodingError> {
    decode_known(from_wire(encoding)?, bytes, decoded_bytes, limit)
}

/// Decodes one payload of at most `limit` bytes. Returns the bytes unchanged for
/// [`Encoding::None`].
#[cfg(feature = "wire")]
#[inline]
pub fn decode_known(
    encoding: Encoding,
    bytes: Bytes,
    decoded_bytes: u64,
    limit: usize,
) -> Result<Bytes, EncodingError> {
    let announced = match encoding {
        Encoding::None => bytes.len() as u64,
        Encoding::Zstd | Encoding::Lz4 => decoded_bytes,
    };
    let length = usize::try_from(announced).ok().filter(|length| *length <= limit);
    let length = length.ok_or(EncodingError::TooLong { announced, limit })?;
    let damaged = |why: String| EncodingError::Damaged { encoding, why };
    let plain = match encoding {
        Encoding::None => return Ok(bytes),
        // Unlike a streaming decoder, it needs no window besides the output.
        #[expect(clippy::disallowed_methods, reason = "the length is within the limit")]
        Encoding::Zstd => {
            zstd::bulk::decompress(&bytes, length).map_err(|e| damaged(e.to_string()))?
        }
        Encoding::Lz4 => {
            lz4_flex::block::decompress(&bytes, length).map_err(|e| damaged(e.to_string()))?
        }
    };
    if plain.len() != length {
        return Err(damaged(format!(
            "decoded to {} bytes, the header announces {length}",
            plain.len()
        )));
    }
    Ok(plain.into())
}

#[cfg(all(test, feature = "wire"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_encoding_returns_the_same_bytes(plain in proptest::collection::vec(any::<u8>(), 0..5000)) {
            for encoding in [Encoding::None, Encoding::Zstd, Encoding::Lz4] {
                let sent = encode(encoding, plain.clone().into()).unwrap();
                let back = decode(encoding as i32, sent.bytes, sent.decoded_bytes, 5000).unwrap();
                prop_assert_eq!(&back[..], &plain[..]);
            }
        }
    }

    #[test]
    fn a_bomb_is_refused_by_its_header_and_by_its_content() {
        let zeros = Bytes::from(vec![0; 10 << 20]);
        for encoding in [Encoding::Zstd, Encoding::Lz4] {
            let bomb = encode(encoding, zeros.clone()).unwrap();
            let honest = decode(encoding as i32, bomb.bytes.clone(), bomb.decoded_bytes, 1 << 20);
            assert!(matches!(honest, Err(EncodingError::TooLong { .. })), "{honest:?}");
            let lying = decode(encoding as i32, bomb.bytes, 1000, 1 << 20);
            assert!(matches!(lying, Err(EncodingError::Damaged { .. })), "{lying:?}");
        }
    }

    #[test]
    fn an_unknown_encoding_and_a_long_plain_payload_are_refused() {
        assert!(matches!(decode(9, Bytes::new(), 0, 10), Err(EncodingError::Unknown(9))));
        let long = decode(0, Bytes::from_static(b"12345678901"), 0, 10);
        assert!(matches!(long, Err(EncodingError::TooLong { announced: 11, limit: 10 })));
    }
}
