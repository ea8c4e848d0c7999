//! Messages in a stream of bytes, without copying payloads.
//!
//! The framing is gRPC's: a flag byte, the message's length in four bytes (big-endian), the message. Messages
//! are sent as a list of chunks: headers and short payloads are gathered in a buffer, and each long payload is the very
//! `Bytes` that was handed in. They are received without a copy: a payload that arrived in one chunk is a slice of it; one
//! that arrived in several chunks is copied once.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use netdiv_node_common::said::said;
use prost::Message;

use crate::{
    chunks::Chunks,
    v1::{CallStatus, InferRequest, InferResponse},
    wire_error::{FramingError, WireError},
};

/// Bytes in front of each message.
const PREFIX_BYTES: usize = 5;

/// Flag of an uncompressed message.
const PLAIN: u8 = 0;

/// Flag of the status that ends a QUIC stream, as gRPC-Web marks its trailers. gRPC itself uses the trailers of HTTP/2.
const END: u8 = 0x80;

/// Payloads shorter than this are copied behind their header: a separate chunk, which HTTP/2 writes by itself, would cost more
/// than the copy.
const GATHER_BELOW_BYTES: usize = 16 << 10;

/// Longest header that is encoded on the stack: all but those with an error's text.
const SHORT_HEADER_BYTES: usize = 96;

/// Key and length in front of a payload, at most.
const PAYLOAD_PREFIX_BYTES: usize = 11;

/// Size at which a buffer of headers and short payloads becomes a chunk.
const GATHERED_BYTES: usize = 32 << 10;

/// Chunks of an incomplete message that are held as they are.
const MOST_HELD_CHUNKS: usize = 2;

/// Key of the payload: field 15, length-delimited. It is the last field of both messages.
const PAYLOAD_KEY: u8 = 15 << 3 | 2;

/// A message that ends with a payload.
pub trait Framed: Message + Default {
    /// The payload, which the encoder takes.
    fn payload_mut(&mut self) -> &mut Bytes;

    /// Bytes of a text beside it, which keeps no more memory than its own.
    fn text_bytes(&self) -> usize {
        0
    }
}

impl Framed for InferRequest {
    fn payload_mut(&mut self) -> &mut Bytes {
        &mut self.payload
    }
}

impl Framed for InferResponse {
    fn payload_mut(&mut self) -> &mut Bytes {
        &mut self.payload
    }

    fn text_bytes(&self) -> usize {
        self.error.len()
    }
}

/// One frame of a stream.
#[derive(Debug, PartialEq)]
pub enum Frame<M> {
    /// A message.
    Message(M),
    /// How the call ended.
    End(CallStatus),
}

/// One short message with its prefix.
pub fn encode(message: &impl Message) -> Bytes {
    encode_with(PLAIN, message)
}

/// A call's end with its prefix.
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

/// Turns messages into chunks.
#[derive(Debug, Default)]
pub struct Encoder {
    gathered: BytesMut,
    chunks: VecDeque<Bytes>,
}

impl Encoder {
    /// Adds a message.
    pub fn push<M: Framed>(&mut self, mut message: M) {
        let payload = std::mem::take(message.payload_mut());
        let header = message.encoded_len();
        let tail = match payload.len() {
            0 => 0,
            n => 1 + prost::length_delimiter_len(n) + n,
        };
        // A message is far shorter than 4 GiB: payloads are limited to `limits::MAX_PAYLOAD_BYTES`.
        let length = (header + tail) as u32;
        if header <= SHORT_HEADER_BYTES {
            // prost writes numbers byte by byte, which is slow in a buffer that can grow.
            let mut short = [0; PREFIX_BYTES + SHORT_HEADER_BYTES + PAYLOAD_PREFIX_BYTES];
            let mut rest = &mut short[..];
            put_header(&message, length, payload.len(), &mut rest);
            let written = PREFIX_BYTES + SHORT_HEADER_BYTES + PAYLOAD_PREFIX_BYTES - rest.len();
            self.gathered.put_slice(&short[..written]);
        } else {
            put_header(&message, length, payload.len(), &mut self.gathered);
        }
        if payload.len() < GATHER_BELOW_BYTES {
            self.gathered.put_slice(&payload);
            if self.gathered.len() >= GATHERED_BYTES {
                self.close_gathered();
            }
        } else {
            self.close_gathered();
            self.chunks.push_back(payload);
        }
    }

    /// The next chunk, short as it may be.
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        if self.chunks.is_empty() {
            self.close_gathered();
        }
        self.chunks.pop_front()
    }

    /// Whether a chunk is there that nothing will be added to.
    pub fn has_whole_chunk(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Whether every chunk was taken.
    pub fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.chunks.is_empty()
    }

    fn close_gathered(&mut self) {
        if !self.gathered.is_empty() {
            self.chunks.push_back(self.gathered.split().freeze());
        }
    }
}

/// All of a message up to its payload, which was taken out of it.
fn put_header(message: &impl Message, length: u32, payload_bytes: usize, to: &mut impl BufMut) {
    to.put_u8(PLAIN);
    to.put_u32(length);
    message.encode_raw(to);
    if payload_bytes > 0 {
        to.put_u8(PAYLOAD_KEY);
        prost::encoding::encode_varint(payload_bytes as u64, to);
    }
}

/// Turns chunks into messages. It holds no more than one message and one chunk.
#[derive(Debug)]
pub struct Decoder {
    chunks: Chunks,
    /// Flag and length of the message that is being received.
    prefix: Option<(u8, usize)>,
    /// The start of that message, if it comes in many chunks: each is copied while it is in the cache.
    assembled: BytesMut,
    longest: usize,
}

impl Decoder {
    /// A decoder that refuses messages longer than that, in bytes.
    pub fn new(longest: usize) -> Self {
        let (chunks, assembled) = (Chunks::default(), BytesMut::new());
        Self { chunks, prefix: None, assembled, longest }
    }

    /// Adds what was received.
    pub fn push(&mut self, chunk: Bytes) {
        self.chunks.push(chunk);
    }

    /// Changes the limit, for the messages to come.
    pub fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// Adds all messages that have been received as a whole; a part of one may be left. An error if the bytes are no
    /// message, or if the call failed.
    pub fn take_messages<M: Message + Default>(
        &mut self,
        into: &mut Vec<M>,
    ) -> Result<(), WireError> {
        while let Some(frame) = self.next_frame()? {
            match frame {
                Frame::Message(message) => into.push(message),
                Frame::End(end) => return ended(end),
            }
        }
        Ok(())
    }

    /// Whether a part of a message was received.
    pub fn is_mid_message(&self) -> bool {
        self.prefix.is_some() || self.chunks.remaining() > 0
    }

    /// The next message or end, if it is complete.
    pub fn next_frame<M: Message + Default>(&mut self) -> Result<Option<Frame<M>>, FramingError> {
        Ok(self.next_with_length()?.map(|(frame, _)| frame))
    }

    /// The same with its length, in bytes.
    pub(crate) fn next_with_length<M: Message + Default>(
        &mut self,
    ) -> Result<Option<(Frame<M>, usize)>, FramingError> {
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
            // A header and its payload come in two chunks; after a third, more are likely.
            if self.chunks.count() > MOST_HELD_CHUNKS {
                self.assembled.reserve(length);
                self.assemble(length);
            }
            return Ok(None);
        }
        self.prefix = None;
        let frame = match flag {
            END => Frame::End(self.chunks.read(length)?),
            _ => Frame::Message(self.chunks.read(length)?),
        };
        Ok(Some((frame, length)))
    }

    /// Length of the message that is being received, while it is incomplete.
    pub fn incomplete_bytes(&self) -> Option<usize> {
        self.prefix.map(|(_, length)| length)
    }

    /// Copies the received part of a message of that length behind its start.
    fn assemble(&mut self, length: usize) {
        let missing = (length - self.assembled.len()).min(self.chunks.remaining());
        self.assembled.put((&mut self.chunks).take(missing));
    }

    /// Checks that nothing is left at the end of the stream.
    pub fn finish(&self) -> Result<(), FramingError> {
        if self.is_mid_message() { Err(FramingError::Truncated) } else { Ok(()) }
    }
}

/// The status that ends a call.
pub(crate) fn ended(end: CallStatus) -> Result<(), WireError> {
    match end.code {
        0 => Ok(()),
        // It goes into logs and messages, and its length is the peer's choice.
        code => Err(WireError::Ended { code, message: said(&end.message) }),
    }
}

#[cfg(test)]
mod tests;
