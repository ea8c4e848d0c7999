//! An answer as it comes: events that a dialect reads.

use bytes::Bytes;
use http_body::Body;

use crate::engine::served::{
    chunk::Chunk,
    connections::Failure,
    openai::{dialect::Api, events::Events},
};

pub(crate) struct Answer<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> {
    api: &'static Api,
    events: Events<B>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> Answer<B> {
    pub(crate) fn new(api: &'static Api, body: B) -> Self {
        Self { api, events: Events::new(body) }
    }

    /// Waits for the next part; `None`: the answer is over.
    pub(crate) async fn next(&mut self) -> Result<Option<Chunk>, String> {
        let event = self.events.next().await?;
        event.map(|data| self.api.read(&data)).transpose()
    }
}
