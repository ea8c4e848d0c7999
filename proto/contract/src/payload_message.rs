//! Messages that end with a payload: requests and responses of samples.

use bytes::Bytes;
use prost::Message;

use crate::v1::{InferRequest, InferResponse};

/// Tag of the id, the first field of both messages: eight bytes.
pub(crate) const ID_TAG: u32 = 1;

/// Tag of the payload, the last field of both messages.
pub(crate) const PAYLOAD_TAG: u32 = 15;

/// Message that ends with a payload.
pub trait PayloadMessage: Message + Default {
    /// Returns the payload field. The encoder takes the payload out of it.
    fn payload_mut(&mut self) -> &mut Bytes;

    /// Sets the id.
    fn set_id(&mut self, id: u64);

    /// Sets the field with this tag, if it is a varint. Returns false otherwise.
    fn set_number(&mut self, tag: u32, number: u64) -> bool;

    /// Returns the length of the message's text, such as the error text of a response, in bytes. A
    /// text keeps no more memory alive than its length.
    fn text_bytes(&self) -> usize {
        0
    }
}

impl PayloadMessage for InferRequest {
    fn payload_mut(&mut self) -> &mut Bytes {
        &mut self.payload
    }

    fn set_id(&mut self, id: u64) {
        self.id = id;
    }

    #[inline]
    fn set_number(&mut self, tag: u32, number: u64) -> bool {
        match tag {
            2 => self.encoding = number as i32,
            3 => self.decoded_bytes = number,
            _ => return false,
        }
        true
    }
}

impl PayloadMessage for InferResponse {
    fn payload_mut(&mut self) -> &mut Bytes {
        &mut self.payload
    }

    fn set_id(&mut self, id: u64) {
        self.id = id;
    }

    #[inline]
    fn set_number(&mut self, tag: u32, number: u64) -> bool {
        match tag {
            2 => self.status = number as i32,
            4 => self.encoding = number as i32,
            5 => self.decoded_bytes = number,
            6 => self.queue_ns = number,
            7 => self.prepare_ns = number,
            8 => self.compute_ns = number,
            9 => self.batch_size = number as u32,
            11 => self.part = number as i32,
            12 => self.token_count = number as u32,
            13 => self.first_token_ns = number,
            14 => self.cached_tokens = number as u32,
            _ => return false,
        }
        true
    }

    fn text_bytes(&self) -> usize {
        self.error.len()
    }
}
