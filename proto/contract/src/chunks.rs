//! Received chunks, read as one contiguous buffer.

use std::{collections::VecDeque, ops::Range};

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use prost::{
    DecodeError,
    encoding::{DecodeContext, decode_key},
};

use crate::payload_message::{ID_TAG, PAYLOAD_TAG, PayloadMessage};

/// Maximum length of a chunk that may always be sliced, in bytes. A slice keeps its whole chunk
/// alive. A longer chunk is sliced only for payloads of at least a sixteenth of it, so that a few
/// slow samples do not keep megabytes alive.
const ALWAYS_SLICED_BYTES: usize = 64 << 10;

/// Wire types of fields, in the lower three bits of a key.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH_DELIMITED: u8 = 2;

/// Unread rest of a chunk.
#[derive(Debug)]
struct Chunk {
    left: Bytes,
    received_bytes: usize,
}

impl Chunk {
    /// Returns true if a payload of `length` bytes may be a slice of the chunk. Otherwise it must
    /// be copied.
    fn can_slice(&self, length: usize) -> bool {
        self.received_bytes <= ALWAYS_SLICED_BYTES || length >= self.received_bytes / 16
    }

    /// Returns a part of the chunk, as a slice or a copy.
    fn part(&self, range: Range<usize>) -> Bytes {
        if self.can_slice(range.len()) {
            self.left.slice(range)
        } else {
            Bytes::copy_from_slice(&self.left[range])
        }
    }

    /// Reads the message in the first `length` bytes. Its payload becomes a part of the chunk
    /// directly: slicing the message first would count references, which costs more than reading a
    /// short message. Known numbers are read here, because prost checks each byte of them.
    fn read<M: PayloadMessage>(&self, length: usize, message: &mut M) -> Result<(), DecodeError> {
        let mut left = &self.left[..length];
        while let Some((key, field)) = left.split_first() {
            let tag = u32::from(key >> 3);
            left = match key & 7 {
                VARINT
                    if let Some((number, rest)) = split_number(field)
                        && message.set_number(tag, number) =>
                {
                    rest
                }
                FIXED64
                    if tag == ID_TAG
                        && let Some((id, rest)) = field.split_first_chunk() =>
                {
                    message.set_id(u64::from_le_bytes(*id));
                    rest
                }
                LENGTH_DELIMITED
                    if tag == PAYLOAD_TAG
                        && let Some((bytes, rest)) = split_number(field)
                        && let Some(after) =
                            rest.get(usize::try_from(bytes).unwrap_or(usize::MAX)..) =>
                {
                    *message.payload_mut() = self.part(length - rest.len()..length - after.len());
                    after
                }
                _ => {
                    let (tag, wire_type) = decode_key(&mut left)?;
                    message.merge_field(tag, wire_type, &mut left, DecodeContext::default())?;
                    left
                }
            };
        }
        Ok(())
    }
}

/// Splits a number of at most nine bytes from the beginning.
fn split_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for place in 0..bytes.len().min(9) {
        number |= u64::from(bytes[place] & 0x7f) << (7 * place);
        if bytes[place] < 0x80 {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

/// Queue of chunks, read as one contiguous buffer.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    queue: VecDeque<Chunk>,
    bytes: usize,
}

impl Chunks {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.bytes += chunk.len();
            self.queue.push_back(Chunk { received_bytes: chunk.len(), left: chunk });
        }
    }

    /// Puts a chunk in front of all others.
    pub(crate) fn put_back(&mut self, chunk: Bytes) {
        self.bytes += chunk.len();
        self.queue.push_front(Chunk { received_bytes: chunk.len(), left: chunk });
    }

    /// Number of chunks that are not empty.
    pub(crate) fn count(&self) -> usize {
        self.queue.len()
    }

    /// Reads a message of `length` bytes, all of which have been received, into the default
    /// `message`.
    pub(crate) fn read<M: PayloadMessage>(
        &mut self,
        length: usize,
        message: &mut M,
    ) -> Result<(), DecodeError> {
        // A short message is nearly always in one chunk, which is faster to read than a list.
        let Some(front) = self.queue.front().filter(|front| front.left.len() >= length) else {
            return message.merge(self.take(length));
        };
        let outcome = front.read(length, message);
        self.advance(length);
        outcome
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.bytes
    }

    fn chunk(&self) -> &[u8] {
        self.queue.front().map_or(&[], |front| &front.left)
    }

    fn advance(&mut self, mut count: usize) {
        self.bytes -= count;
        while let Some(front) = self.queue.front_mut() {
            if count < front.left.len() {
                return front.left.advance(count);
            }
            count -= front.left.len();
            self.queue.pop_front();
        }
    }

    /// Returns a slice if one chunk contains the bytes, else a copy.
    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        let slice = match self.queue.front_mut() {
            Some(front) if front.left.len() > length && front.can_slice(length) => {
                front.left.split_to(length)
            }
            Some(front) if front.left.len() == length && front.can_slice(length) => {
                let whole = std::mem::take(&mut front.left);
                self.queue.pop_front();
                whole
            }
            _ => {
                let mut copy = BytesMut::with_capacity(length);
                copy.put(self.take(length));
                return copy.freeze();
            }
        };
        self.bytes -= length;
        slice
    }
}
