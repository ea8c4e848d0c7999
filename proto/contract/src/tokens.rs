//! Tokens on the wire: which of them a stream gets, and ids as bytes.

use bytes::Bytes;

use crate::v1::Tokens;

/// Bytes of a token id: an int32, little-endian.
pub const ID_BYTES: usize = 4;

/// What the header [`crate::TOKENS_HEADER`] says; `None` where it is not sent.
pub const fn word(tokens: Tokens) -> Option<&'static str> {
    match tokens {
        Tokens::Whole => None,
        Tokens::First => Some("first"),
        Tokens::Every => Some("every"),
    }
}

/// What the header means; `None` where it is none of the words.
pub fn of_word(said: Option<&[u8]>) -> Option<Tokens> {
    let all = [Tokens::Whole, Tokens::First, Tokens::Every];
    all.into_iter().find(|tokens| word(*tokens).map(str::as_bytes) == said)
}

/// Ids as a payload.
pub fn to_bytes(ids: &[i32]) -> Bytes {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

/// The ids of a payload; bytes that make no whole id are left out.
pub fn ids(payload: &[u8]) -> impl ExactSizeIterator<Item = i32> + '_ {
    let (ids, _) = payload.as_chunks::<ID_BYTES>();
    ids.iter().map(|id| i32::from_le_bytes(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_ids_come_back() {
        for tokens in [Tokens::Whole, Tokens::First, Tokens::Every] {
            assert_eq!(of_word(word(tokens).map(str::as_bytes)), Some(tokens));
        }
        assert_eq!(of_word(Some(b"all")), None);
        let numbers = [0, 1, -1, i32::MAX, 31_999];
        assert_eq!(ids(&to_bytes(&numbers)).collect::<Vec<_>>(), numbers);
        assert_eq!(ids(&[1, 0, 0, 0, 9]).collect::<Vec<_>>(), [1]);
    }
}
