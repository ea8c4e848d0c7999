//! A response as it arrives. The server's dialect turns each event into a chunk.

use bytes::Bytes;
use http_body::Body;

use crate::engine::{
    remote::{reading::Parts, refusal::Refusal},
    served::{
        chunk::Chunk,
        connections::Failure,
        openai::{dialect::Api, events::Events},
    },
};

pub(crate) struct EventResponse<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> {
    api: &'static Api,
    events: Events<B>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> EventResponse<B> {
    pub(crate) fn new(api: &'static Api, body: B) -> Self {
        Self { api, events: Events::new(body) }
    }
}

impl<B> Parts for EventResponse<B>
where
    B: Body<Data = Bytes, Error: Into<Failure>> + Unpin + Send,
{
    type Part = Chunk;

    async fn next(&mut self) -> Result<Option<Chunk>, Refusal> {
        let event = self.events.next().await?;
        Ok(event.map(|data| self.api.read(&data)).transpose()?)
    }
}
