//! An answer as it comes: the messages of a call.

use std::error::Error as _;

use bytes::Bytes;
use http_body::Body;
use tonic::{Status, Streaming};
use tonic_prost::ProstDecoder;

use crate::engine::{
    remote::refused::{causes, short},
    served::{
        chunk::{Chunk, Chunks},
        connections::Failure,
        vllm_grpc::{proto::GenerateResponse, reading::Reading},
    },
};

pub(crate) struct Answer {
    /// The message that came first.
    first: Option<GenerateResponse>,
    rest: Streaming<GenerateResponse>,
    reading: Reading,
}

impl Answer {
    /// Of a body without head and trailers.
    pub(crate) fn of_body<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<Failure>> + Send + 'static,
    {
        let decoder = ProstDecoder::<GenerateResponse>::default();
        let rest = Streaming::new_request(decoder, body, None, None);
        Self { first: None, rest, reading: Reading::default() }
    }

    /// Waits for the first message.
    pub(crate) async fn begin(mut rest: Streaming<GenerateResponse>) -> Result<Self, Status> {
        let first = rest.message().await?;
        Ok(Self { first, rest, reading: Reading::default() })
    }
}

impl Chunks for Answer {
    async fn next(&mut self) -> Result<Option<Chunk>, String> {
        let message = match self.first.take() {
            Some(first) => Some(first),
            None => self.rest.message().await.map_err(|status| told(&status))?,
        };
        match message {
            Some(message) => self.reading.take(message).map(Some),
            // All is well only once the server has said so.
            None => Ok(self.reading.last()),
        }
    }
}

/// What a status says, which is the server's own or tells how the call broke off.
pub(super) fn told(status: &Status) -> String {
    match status.source() {
        Some(error) => causes(error),
        None => format!("status {:?}: {}", status.code(), short(status.message())),
    }
}
