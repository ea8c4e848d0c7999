//! Received chunks, read as one contiguous buffer.

use std::collections::VecDeque;

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
use prost::Message;

/// Maximum length of a chunk that may always be sliced, in bytes. A slice keeps its whole chunk
/// alive. A longer chunk is sliced only for payloads of at least a sixteenth of it, so that a few
/// slow samples do not keep megabytes alive.
const ALWAYS_SLICED_BYTES: usize = 64 << 10;

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
}

/// Message in one chunk. Its payload becomes a slice of the chunk directly, without slicing the
/// message first: counting references costs more than reading a short message.
struct SingleChunkMessage<'a> {
    chunk: &'a Chunk,
    at: usize,
    end: usize,
}

impl Buf for SingleChunkMessage<'_> {
    fn remaining(&self) -> usize {
        self.end - self.at
    }

    fn chunk(&self) -> &[u8] {
        &self.chunk.left[self.at..self.end]
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.remaining(), "advanced beyond the message");
        self.at += count;
    }

    fn copy_to_bytes(&mut self, length: usize) -> Bytes {
        let begin = self.at;
        self.advance(length);
        if self.chunk.can_slice(length) {
            self.chunk.left.slice(begin..self.at)
        } else {
            Bytes::copy_from_slice(&self.chunk.left[begin..self.at])
        }
    }
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

    /// Reads a message of `length` bytes, all of which have been received.
    pub(crate) fn read<M: Message + Default>(
        &mut self,
        length: usize,
    ) -> Result<M, prost::DecodeError> {
        // A short message is nearly always in one chunk, which is faster to read than a list.
        let Some(front) = self.queue.front().filter(|front| front.left.len() >= length) else {
            return M::decode(self.take(length));
        };
        let message = M::decode(SingleChunkMessage { chunk: front, at: 0, end: length });
        self.advance(length);
        message
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
