//! Checksums of messages: CRC32C (RFC 3720, appendix B.4), which processors compute at many
//! gigabytes per second.
//!
//! The 16-bit checksums of TCP and UDP miss one damaged packet in 65,536, and do not cover what
//! happens inside an adapter or a switch. These checksums cover the whole path from the QSL to the
//! engine and back to LoadGen.

use crate::v1::{InferRequest, InferResponse};

/// Mismatch between a message and its checksum. The id in the text may be damaged too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {id:#018x} {why}")]
pub struct ChecksumError {
    id: u64,
    why: String,
}

/// Returns the CRC32C of a payload, from which [`request_checksum`] continues. It depends on the
/// payload alone, so it is equal each time the sample is sent.
pub fn payload_checksum(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

/// Returns the checksum of a request, continued from the checksum of its payload.
pub fn request_checksum(payload: u32, id: u64, encoding: i32, decoded_bytes: u64) -> u32 {
    let mut header = [0; 20];
    header[..8].copy_from_slice(&id.to_le_bytes());
    header[8..12].copy_from_slice(&encoding.to_le_bytes());
    header[12..].copy_from_slice(&decoded_bytes.to_le_bytes());
    crc32c::crc32c_append(payload, &header)
}

/// Returns the checksum of a response.
pub fn response_checksum(response: &InferResponse) -> u32 {
    let sum = crc32c::crc32c_append(payload_checksum(&response.payload), response.error.as_bytes());
    let mut header = [0; 52];
    header[..8].copy_from_slice(&response.id.to_le_bytes());
    header[8..12].copy_from_slice(&response.status.to_le_bytes());
    header[12..16].copy_from_slice(&response.encoding.to_le_bytes());
    let numbers =
        [response.decoded_bytes, response.queue_ns, response.prepare_ns, response.compute_ns];
    for (bytes, number) in header[16..48].chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    header[48..].copy_from_slice(&response.batch_size.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &header);
    let InferResponse { part, token_count, first_token_ns, cached_tokens, .. } = *response;
    let mut tokens = [0; 20];
    tokens[..4].copy_from_slice(&part.to_le_bytes());
    tokens[4..8].copy_from_slice(&token_count.to_le_bytes());
    tokens[8..16].copy_from_slice(&first_token_ns.to_le_bytes());
    tokens[16..].copy_from_slice(&cached_tokens.to_le_bytes());
    let has_tokens = (part, token_count, first_token_ns) != (0, 0, 0);
    let from = if has_tokens { 0 } else { 16 };
    let to = if cached_tokens > 0 { 20 } else { 16 };
    crc32c::crc32c_append(sum, &tokens[from..to])
}

/// Checks a request of a session with checksums.
pub fn check_request(request: &InferRequest) -> Result<(), ChecksumError> {
    let InferRequest { id, encoding, decoded_bytes, crc32c, payload } = request;
    let found = request_checksum(payload_checksum(payload), *id, *encoding, *decoded_bytes);
    compare(*id, payload.len(), *crc32c, found)
}

/// Checks a response of a session with checksums.
pub fn check_response(response: &InferResponse) -> Result<(), ChecksumError> {
    let found = response_checksum(response);
    compare(response.id, response.payload.len(), response.crc32c, found)
}

fn compare(id: u64, bytes: usize, said: Option<u32>, found: u32) -> Result<(), ChecksumError> {
    let why = match said {
        Some(said) if said == found => return Ok(()),
        Some(said) => format!(
            "of {bytes} bytes has the CRC32C {found:#010x}, but states {said:#010x}: it was changed in transit"
        ),
        None => "has no checksum, in a session where every message has one".into(),
    };
    Err(ChecksumError { id, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> InferRequest {
        let (id, encoding, decoded_bytes) = (0x0001_0000_0200_0003, 1, 300);
        let payload = bytes::Bytes::from_static(b"a sample");
        let sum = request_checksum(payload_checksum(&payload), id, encoding, decoded_bytes);
        InferRequest { id, encoding, decoded_bytes, crc32c: Some(sum), payload }
    }

    fn response(part: i32, token_count: u32, cached_tokens: u32) -> InferResponse {
        let mut response = InferResponse {
            id: 7,
            status: 2,
            error: "too warm".into(),
            encoding: 2,
            decoded_bytes: 9,
            queue_ns: 1000,
            prepare_ns: 200,
            compute_ns: 30_000,
            batch_size: 4,
            part,
            token_count,
            first_token_ns: u64::from(token_count) * 1000,
            cached_tokens,
            crc32c: None,
            payload: bytes::Bytes::from_static(b"an answer"),
        };
        response.crc32c = Some(response_checksum(&response));
        response
    }

    #[test]
    fn the_polynomial_is_that_of_the_rfc() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(payload_checksum(&[0; 32]), 0x8a91_36aa);
    }

    /// Flips each bit of a message in turn. The decoder or the checksum detects the flip, or the
    /// meaning is unchanged.
    fn every_flipped_bit_is_found<M: prost::Message + Default + PartialEq>(
        message: &M,
        check: impl Fn(&M) -> Result<(), ChecksumError>,
    ) {
        check(message).unwrap();
        let bytes = message.encode_to_vec();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = M::decode(&damaged[..]) {
                assert!(check(&read).is_err() || read == *message, "bit {bit}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_of_a_message_is_found() {
        every_flipped_bit_is_found(&request(), check_request);
        for (part, token_count, cached_tokens) in
            [(0, 0, 0), (1, 1, 0), (0, 9, 0), (0, 9, 16), (0, 0, 1)]
        {
            let response = response(part, token_count, cached_tokens);
            every_flipped_bit_is_found(&response, check_response);
        }
    }

    #[test]
    fn a_message_without_a_checksum_is_refused() {
        let bare = InferRequest { crc32c: None, ..request() };
        assert!(check_request(&bare).unwrap_err().to_string().contains("has no checksum"));
    }
}
