//! An answer as it comes: events that a dialect reads.

use bytes::Bytes;
use http_body::Body;

use crate::{
    engine::served::{
        chunk::{Chunk, Chunks},
        connections::Failure,
        openai::{
            dialect::{Api, api},
            events::Events,
        },
    },
    settings::served::Dialect,
};

pub(crate) struct Answer<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> {
    api: &'static Api,
    events: Events<B>,
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin> Answer<B> {
    /// Of a body without a head.
    pub(crate) fn of_body(dialect: Dialect, body: B) -> Self {
        Self::new(api(dialect), body)
    }

    pub(crate) fn new(api: &'static Api, body: B) -> Self {
        Self { api, events: Events::new(body) }
    }
}

impl<B: Body<Data = Bytes, Error: Into<Failure>> + Unpin + Send> Chunks for Answer<B> {
    async fn next(&mut self) -> Result<Option<Chunk>, String> {
        let event = self.events.next().await?;
        event.map(|data| self.api.read(&data)).transpose()
    }
}
