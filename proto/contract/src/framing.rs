//! Framing of messages in a stream of bytes, without copying payloads.
//!
//! The framing is gRPC's: a flag byte, the message's length in four bytes (big-endian), the
//! message.
//!
//! The encoder returns a list of chunks. It gathers headers and short payloads in a buffer. Each
//! long payload becomes a chunk without a copy. The decoder returns a payload that arrived in one
//! chunk as a slice of it, and copies a payload that arrived in several chunks once.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use netdiv_node_common::sanitise::sanitise;
use prost::Message;

use crate::{
    chunks::Chunks,
    payload_message::{PAYLOAD_TAG, PayloadMessage},
    v1::CallStatus,
    wire_error::{FramingError, WireError},
};

/// Length of the prefix of each message, in bytes.
const PREFIX_BYTES: usize = 5;

/// Flag of an uncompressed message.
const PLAIN: u8 = 0;

/// Flag of the status that ends a QUIC stream. gRPC-Web marks its trailers with it; gRPC itself
/// uses the trailers of HTTP/2.
const END: u8 = 0x80;

/// Minimum length of a payload that becomes a separate chunk, in bytes. Shorter payloads are copied
/// behind their header, because HTTP/2 writes a chunk separately, which would cost more than the
/// copy.
const GATHER_BELOW_BYTES: usize = 16 << 10;

/// Maximum length of a header without text, in bytes: that of an `InferResponse` with the largest
/// values.
const SHORT_HEADER_BYTES: usize = 120;

/// Maximum length of key and length in front of a payload, in bytes.
const PAYLOAD_PREFIX_BYTES: usize = 11;

/// Length at which the buffer of headers and short payloads becomes a chunk, in bytes.
const GATHERED_BYTES: usize = 32 << 10;

/// Maximum number of chunks of an incomplete message that are kept without assembling them.
const MAX_HELD_CHUNKS: usize = 2;

/// Key of the payload: length-delimited.
const PAYLOAD_KEY: u8 = (PAYLOAD_TAG as u8) << 3 | 2;

/// Content of one frame of a stream: a message, or the end of the call.
#[derive(Debug, PartialEq)]
pub enum Frame<M> {
    /// A message.
    Message(M),
    /// Status of the call at its end.
    End(CallStatus),
}

/// Encodes one short message with its prefix.
pub fn encode(message: &impl Message) -> Bytes {
    encode_with(PLAIN, message)
}

/// Encodes a call's end with its prefix.
pub fn encode_end(status: &CallStatus) -> Bytes {
    encode_with(END, status)
}

fn encode_with(flag: u8, message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::with_capacity(PREFIX_BYTES + message.encoded_len());
    bytes.put_u8(flag);
    bytes.put_u32(message.encoded_len() as u32);
    message.encode_raw(&mut bytes);
    bytes.freeze()
}

/// Encoder of messages into chunks.
#[derive(Debug, Default)]
pub struct Encoder {
    gathered: BytesMut,
    chunks: VecDeque<Bytes>,
}

impl Encoder {
    /// Adds a message.
    pub fn push<M: PayloadMessage>(&mut self, mut message: M) {
        let payload = std::mem::take(message.payload_mut());
        self.push_parts(&message, &payload);
    }

    /// Adds a message without a payload, and its payload.
    pub fn push_parts<M: PayloadMessage>(&mut self, header: &M, payload: &Bytes) {
        let tail = match payload.len() {
            0 => 0,
            n => 1 + prost::length_delimiter_len(n) + n,
        };
        if header.text_bytes() == 0 {
            // prost writes numbers byte by byte, which is slow in a buffer that can grow.
            let mut short = [0; PREFIX_BYTES + SHORT_HEADER_BYTES + PAYLOAD_PREFIX_BYTES];
            let (prefix, mut rest) = short.split_at_mut(PREFIX_BYTES);
            header.encode_raw(&mut rest);
            let written = SHORT_HEADER_BYTES + PAYLOAD_PREFIX_BYTES - rest.len();
            prefix[1..].copy_from_slice(&((written + tail) as u32).to_be_bytes());
            put_payload_prefix(payload.len(), &mut rest);
            let unused = rest.len();
            self.gathered.put_slice(&short[..short.len() - unused]);
        } else {
            self.gathered.put_u8(PLAIN);
            self.gathered.put_u32((header.encoded_len() + tail) as u32);
            header.encode_raw(&mut self.gathered);
            put_payload_prefix(payload.len(), &mut self.gathered);
        }
        if payload.len() < GATHER_BELOW_BYTES {
            self.gathered.put_slice(payload);
            if self.gathered.len() >= GATHERED_BYTES {
                self.close_gathered();
            }
        } else {
            self.close_gathered();
            self.chunks.push_back(payload.clone());
        }
    }

    /// Returns the next chunk, even if it is short.
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        if self.chunks.is_empty() {
            self.close_gathered();
        }
        self.chunks.pop_front()
    }

    /// Returns true if there is a chunk that later messages cannot extend.
    pub fn has_whole_chunk(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Returns true if [`Self::next_chunk`] has returned all messages that were added.
    pub fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.chunks.is_empty()
    }

    fn close_gathered(&mut self) {
        if !self.gathered.is_empty() {
            self.chunks.push_back(self.gathered.split().freeze());
        }
    }
}

/// Writes key and length of a payload, unless it is empty.
fn put_payload_prefix(bytes: usize, to: &mut impl BufMut) {
    if bytes > 0 {
        to.put_u8(PAYLOAD_KEY);
        prost::encoding::encode_varint(bytes as u64, to);
    }
}

/// Decoder of chunks into messages. It keeps at most one message and one chunk.
#[derive(Debug)]
pub struct Decoder {
    chunks: Chunks,
    /// Flag and length of the message in progress; `None` until its prefix has arrived.
    prefix: Option<(u8, usize)>,
    /// Beginning of the message in progress, if it arrives in many chunks. Each chunk is copied on
    /// its arrival, while the processor's cache still contains it.
    assembled: BytesMut,
    longest: usize,
}

impl Decoder {
    /// Creates a decoder that refuses messages of more than `longest` bytes.
    pub fn new(longest: usize) -> Self {
        let (chunks, assembled) = (Chunks::default(), BytesMut::new());
        Self { chunks, prefix: None, assembled, longest }
    }

    /// Adds received bytes.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunks.push(chunk);
    }

    /// Changes the limit for messages that have not begun, in bytes.
    pub fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// Appends all complete messages; the decoder keeps an incomplete one. Fails if the bytes are
    /// not a valid message, or if the call failed.
    pub fn take_messages<M: PayloadMessage>(&mut self, into: &mut Vec<M>) -> Result<(), WireError> {
        while let Some(frame) = self.next_arrived()? {
            match frame {
                Frame::Message(length) => self.read(length, into)?,
                Frame::End(end) => return check_status(end),
            }
        }
        Ok(())
    }

    /// Returns true if the decoder has received a part of a message.
    pub fn is_mid_message(&self) -> bool {
        self.prefix.is_some() || self.chunks.remaining() > 0
    }

    /// Returns the next message or end, if it is complete.
    pub fn next_frame<M: Message + Default>(&mut self) -> Result<Option<Frame<M>>, FramingError> {
        Ok(match self.next_arrived()? {
            None => None,
            Some(Frame::End(end)) => Some(Frame::End(end)),
            Some(Frame::Message(length)) => Some(Frame::Message(self.read_any(length)?)),
        })
    }

    /// Returns the length of the next message, if it is complete, or the end. After a length, the
    /// caller reads the message.
    pub(crate) fn next_arrived(&mut self) -> Result<Option<Frame<usize>>, FramingError> {
        if self.prefix.is_none() {
            if self.chunks.remaining() < PREFIX_BYTES {
                return Ok(None);
            }
            let mut prefix = [0; PREFIX_BYTES];
            self.chunks.copy_to_slice(&mut prefix);
            let [flag, announced @ ..] = prefix;
            let announced = u32::from_be_bytes(announced) as usize;
            if flag != PLAIN && flag != END {
                return Err(FramingError::Flag(flag));
            }
            if announced > self.longest {
                return Err(FramingError::TooLong { announced, limit: self.longest });
            }
            self.prefix = Some((flag, announced));
        }
        let Some((flag, length)) = self.prefix else { return Ok(None) };
        if !self.assembled.is_empty() {
            self.assemble(length);
            if self.assembled.len() < length {
                return Ok(None);
            }
            self.chunks.put_back(std::mem::take(&mut self.assembled).freeze());
        }
        if self.chunks.remaining() < length {
            // A header and its payload arrive in two chunks; after a third, more are likely.
            if self.chunks.count() > MAX_HELD_CHUNKS {
                self.assembled.reserve(length);
                self.assemble(length);
            }
            return Ok(None);
        }
        self.prefix = None;
        Ok(Some(match flag {
            END => Frame::End(self.read_any(length)?),
            _ => Frame::Message(length),
        }))
    }

    /// Appends the next message, which has `length` bytes.
    pub(crate) fn read<M: PayloadMessage>(
        &mut self,
        length: usize,
        into: &mut Vec<M>,
    ) -> Result<(), FramingError> {
        let place = into.len();
        // A message is read in its place, because moving it takes longer than reading.
        into.push(M::default());
        self.chunks.read(length, &mut into[place]).inspect_err(|_| into.truncate(place))?;
        Ok(())
    }

    /// Reads the next message, which has `length` bytes.
    pub(crate) fn read_any<M: Message + Default>(
        &mut self,
        length: usize,
    ) -> Result<M, FramingError> {
        Ok(M::decode((&mut self.chunks).take(length))?)
    }

    /// Returns the length of the message in progress, in bytes, or `None` between messages.
    pub fn incomplete_bytes(&self) -> Option<usize> {
        self.prefix.map(|(_, length)| length)
    }

    /// Appends received bytes to `assembled`, until it contains the message of `length` bytes.
    fn assemble(&mut self, length: usize) {
        let missing = (length - self.assembled.len()).min(self.chunks.remaining());
        self.assembled.put((&mut self.chunks).take(missing));
    }

    /// Checks that no incomplete message is left at the end of the stream.
    pub fn finish(&self) -> Result<(), FramingError> {
        if self.is_mid_message() { Err(FramingError::Truncated) } else { Ok(()) }
    }
}

/// Converts the status that ends a call into a result.
pub(crate) fn check_status(end: CallStatus) -> Result<(), WireError> {
    match end.code {
        0 => Ok(()),
        // The text appears in logs and messages, and the peer chooses its length.
        code => Err(WireError::Ended { code, message: sanitise(&end.message) }),
    }
}

#[cfg(test)]
mod tests;
