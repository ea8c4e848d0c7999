//! Messages between the node and a worker: a head of 16 bytes, and a body. `protocol.py` is the
//! worker's side.

/// Version of the messages. The worker's sources are part of the node, so that both agree.
pub(super) const VERSION: u32 = 2;

/// Length of a head, in bytes: kind and slot as u32, a number as u64, in the machine's byte order.
const HEAD_BYTES: usize = 16;

/// Maximum length of a message, in bytes.
pub(crate) const MAX_BYTES: usize = 128 << 10;

/// Value in place of a seed, if a prompt has no seed. Seeds have 31 bits.
pub(crate) const NO_SEED: u32 = u32::MAX;

/// Kinds of messages to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ToWorker {
    /// The first message: JSON.
    Start = 1,
    /// The shared memory, as a file.
    Memory = 2,
    /// A batch in a slot, with its number; the body is the number of its samples, and the lengths of
    /// named dimensions.
    Batch = 3,
    /// A prompt in a slot; the number is that of its ids. The body is the maximum number of output
    /// tokens, and the seed or [`NO_SEED`].
    Generate = 4,
    /// Nobody waits for the output of a slot any more.
    Cancel = 5,
}

/// Kinds of messages from a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(u32)]
pub(crate) enum FromWorker {
    /// The declaration of the engine: JSON.
    Declared = 11,
    /// The engine is loaded and was tried: JSON.
    Ready = 12,
    /// The engine cannot be loaded, or fails when it is tried: JSON.
    Fault = 13,
    /// The outputs of a slot's batch are in the memory; the body is the lengths of their named
    /// dimensions, and the numbers of tokens if the engine counts them.
    Done = 14,
    /// The batch or the output of a slot has failed; the body is the reason.
    Failed = 15,
    /// Token ids of slots.
    Tokens = 16,
    /// The output of a slot has ended.
    Ended = 17,
    /// The engine is loaded; its trial begins or makes progress.
    Trying = 18,
}

#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) kind: FromWorker,
    pub(crate) slot: usize,
    pub(crate) number: u64,
    pub(crate) body: &'a [u8],
}

pub(crate) fn encode(kind: ToWorker, slot: usize, number: u64, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEAD_BYTES + body.len());
    message.extend((kind as u32).to_ne_bytes());
    message.extend((slot as u32).to_ne_bytes());
    message.extend(number.to_ne_bytes());
    message.extend(body);
    message
}

impl<'a> Message<'a> {
    /// Decodes a message; `None` if it has no head or an unknown kind.
    pub(crate) fn decode(message: &'a [u8]) -> Option<Self> {
        let (head, body) = message.split_at_checked(HEAD_BYTES)?;
        let word = |at: usize| head[at..at + 4].try_into().ok().map(u32::from_ne_bytes);
        let kind = FromWorker::from_repr(word(0)?)?;
        let number = head[8..].try_into().map_or(0, u64::from_ne_bytes);
        Some(Self { kind, slot: word(4)? as usize, number, body })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.body).into_owned()
    }
}

/// Reads numbers of 32 bits from the body of a message.
pub(crate) fn words(body: &[u8]) -> impl Iterator<Item = u32> {
    body.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_ne_bytes))
}

/// Reads the parts of [`FromWorker::Tokens`]: a slot, and ids. Returns `None` for a part that is
/// cut off.
pub(crate) fn token_parts(mut body: &[u8]) -> impl Iterator<Item = Option<(usize, Vec<i32>)>> {
    std::iter::from_fn(move || {
        if body.is_empty() {
            return None;
        }
        let part = (|| {
            let (head, rest) = body.split_at_checked(8)?;
            let mut head = words(head);
            let (slot, count) = (head.next()? as usize, head.next()? as usize);
            let (ids, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
            body = rest;
            Some((slot, words(ids).map(|id| id as i32).collect()))
        })();
        if part.is_none() {
            body = &[];
        }
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_head_and_a_body() {
        let sent = encode(ToWorker::Batch, 1, 32, b"xy");
        assert_eq!(
            (sent.len(), sent[0], sent[4], sent[8], &sent[16..]),
            (18, 3, 1, 32, &b"xy"[..])
        );
        let mut received = sent;
        received[0] = 15;
        let message = Message::decode(&received).unwrap();
        assert_eq!(
            (message.kind, message.slot, message.text()),
            (FromWorker::Failed, 1, "xy".into())
        );
        assert!(Message::decode(&received[..15]).is_none(), "too short");
        received[0] = 3;
        assert!(Message::decode(&received).is_none(), "a kind of the node");
    }

    #[test]
    fn tokens_are_parts_and_one_that_is_cut_off_is_noticed() {
        let body: Vec<u8> =
            [7_u32, 2, 100, 200, 9, 1, 300].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let parts: Vec<_> = token_parts(&body).collect();
        assert_eq!(parts, [Some((7, vec![100, 200])), Some((9, vec![300]))]);
        let parts: Vec<_> = token_parts(&body[..body.len() - 1]).collect();
        assert_eq!(parts, [Some((7, vec![100, 200])), None]);
    }
}
