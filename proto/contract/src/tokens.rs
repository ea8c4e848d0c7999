//! Token ids as bytes, and the header that selects the tokens which a stream receives.

use bytes::Bytes;

use crate::v1::Tokens;

/// Length of a token id, in bytes: an int32, little-endian.
pub const ID_BYTES: usize = 4;

/// Returns the value of the header [`crate::TOKENS_HEADER`], or `None` if it is not sent.
pub const fn header_value(tokens: Tokens) -> Option<&'static str> {
    match tokens {
        Tokens::Whole => None,
        Tokens::First => Some("first"),
        Tokens::Every => Some("every"),
    }
}

/// Returns the tokens that the header's value selects, or `None` if the value is unknown.
pub fn from_header_value(said: Option<&[u8]>) -> Option<Tokens> {
    let all = [Tokens::Whole, Tokens::First, Tokens::Every];
    all.into_iter().find(|tokens| header_value(*tokens).map(str::as_bytes) == said)
}

/// Length of the table before the ids, in bytes, in a packed payload whose only tensor is a list of
/// ids: see [`crate::layout`].
const TABLE_BYTES: u64 = 24;

/// Returns the number of tokens that a sample takes up in the limits of both ends: the tokens of
/// its prompt and of the longest output.
pub const fn cost(decoded_bytes: u64, longest_output: u32) -> u64 {
    prompt_tokens(decoded_bytes) + longest_output as u64
}

/// Returns the number of tokens of a prompt that is a packed payload.
pub const fn prompt_tokens(decoded_bytes: u64) -> u64 {
    decoded_bytes.saturating_sub(TABLE_BYTES) / ID_BYTES as u64
}

/// Returns ids as a payload.
pub fn to_bytes(ids: &[i32]) -> Bytes {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

/// Returns the ids in a payload. Ignores bytes at its end that are not a whole id.
pub fn ids(payload: &[u8]) -> impl ExactSizeIterator<Item = i32> + '_ {
    let (ids, _) = payload.as_chunks::<ID_BYTES>();
    ids.iter().map(|id| i32::from_le_bytes(*id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{DataType, Tensor, pack};

    #[test]
    fn a_sample_counts_its_own_tokens_and_the_longest_output() {
        for ids in [&[][..], &[5], &[5, 6, 7]] {
            let data = to_bytes(ids);
            let prompt =
                Tensor { data_type: DataType::Int32, shape: vec![ids.len()], data: &data[..] };
            let bytes = pack(&[prompt]).len() as u64;
            assert_eq!(cost(bytes, 100), ids.len() as u64 + 100);
        }
        assert_eq!(cost(0, 1), 1);
    }

    #[test]
    fn words_and_ids_come_back() {
        for tokens in [Tokens::Whole, Tokens::First, Tokens::Every] {
            assert_eq!(from_header_value(header_value(tokens).map(str::as_bytes)), Some(tokens));
        }
        assert_eq!(from_header_value(Some(b"all")), None);
        let numbers = [0, 1, -1, i32::MAX, 31_999];
        assert_eq!(ids(&to_bytes(&numbers)).collect::<Vec<_>>(), numbers);
        assert_eq!(ids(&[1, 0, 0, 0, 9]).collect::<Vec<_>>(), [1]);
    }
}
