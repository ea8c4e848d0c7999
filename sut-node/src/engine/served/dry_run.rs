//! Reads responses without a server, for tests and fuzz targets.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
    vec,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::runtime::Builder;

use crate::{
    engine::{
        remote::{reading::read, refusal::Refusal},
        served::{dialect::api, events::EventResponse, output::ServedOutput, settings::Dialect},
    },
    model::served_model::ServedModel,
};

/// Reads a response to a prompt of `prompt_tokens` tokens from the pieces of its body. Returns the
/// ids that the engine would pass on, and the outcome.
pub(crate) fn read_answer(
    dialect: Dialect,
    model: &ServedModel,
    prompt_tokens: usize,
    pieces: impl Iterator<Item = Bytes>,
) -> (Vec<i32>, Result<(), String>) {
    let pieces: Vec<_> = pieces.collect();
    let mut answer = EventResponse::new(api(dialect), Pieces(pieces.into_iter()));
    let (output, mut taken) = (ServedOutput::new(model, prompt_tokens), Vec::new());
    // The pieces are ready, so the time does not matter.
    let timeout = Duration::from_secs(60);
    let outcome = match Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime.block_on(read(&mut answer, output, &mut taken, timeout)).map(drop),
        Err(error) => Err(error.to_string().into()),
    };
    (taken, outcome.map_err(Refusal::into_text))
}

struct Pieces(vec::IntoIter<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }
}
