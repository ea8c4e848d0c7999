//! An answer as it comes: the messages of a call.

use std::{
    error::Error as _,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use tonic::{Status, Streaming};
use tonic_prost::ProstDecoder;

use crate::{
    engine::{
        remote::refused::{causes, short},
        served::{
            chunk::{Chunk, Chunks},
            connections::Failure,
            grpc::{Message, Said, reading::Reading, sglang, trtllm, vllm},
        },
    },
    settings::served::GrpcService,
};

pub(crate) struct Answer {
    /// The message that came first.
    first: Option<Option<Said>>,
    rest: Pin<Box<dyn Stream<Item = Result<Option<Said>, Status>> + Send>>,
    reading: Reading,
}

/// The messages of a call, each as what all services have in common; `None`: it says nothing.
struct Messages<M>(Streaming<M>);

impl<M: Message> Stream for Messages<M> {
    type Item = Result<Option<Said>, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let message = ready!(Pin::new(&mut self.0).poll_next(cx));
        Poll::Ready(message.map(|message| message.map(M::said)))
    }
}

impl Answer {
    pub(super) fn new<M: Message>(call: Streaming<M>) -> Self {
        Self { first: None, rest: Box::pin(Messages(call)), reading: Reading::new(M::HABITS) }
    }

    /// Of a body without head and trailers.
    pub(crate) fn of_body<B>(service: GrpcService, body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<Failure>> + Send + 'static,
    {
        fn answer<M: Message>(
            body: impl Body<Data = Bytes, Error: Into<Failure>> + Send + 'static,
        ) -> Answer {
            Answer::new(Streaming::new_request(ProstDecoder::<M>::default(), body, None, None))
        }
        match service {
            GrpcService::Vllm => answer::<vllm::proto::GenerateResponse>(body),
            GrpcService::Sglang => answer::<sglang::proto::GenerateResponse>(body),
            GrpcService::Trtllm => answer::<trtllm::proto::GenerateResponse>(body),
        }
    }

    /// Waits for the first message.
    pub(super) async fn begun(mut self) -> Result<Self, Status> {
        self.first = self.message().await?;
        Ok(self)
    }

    async fn message(&mut self) -> Result<Option<Option<Said>>, Status> {
        poll_fn(|cx| self.rest.as_mut().poll_next(cx)).await.transpose()
    }
}

impl Chunks for Answer {
    async fn next(&mut self) -> Result<Option<Chunk>, String> {
        let message = match self.first.take() {
            Some(first) => Some(first),
            None => self.message().await.map_err(|status| told(&status))?,
        };
        match message {
            Some(said) => self.reading.take(said).map(Some),
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
