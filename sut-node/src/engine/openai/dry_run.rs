//! Answers without a server: what a test or a fuzzer makes up.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::runtime::Builder;

use crate::{
    engine::openai::{
        dialect::api,
        events::Events,
        exchange::{Taker, read},
        output::Output,
    },
    model::served::ServedModel,
    settings::openai::Dialect,
};

/// Reads an answer that comes in pieces, to a prompt of so many tokens: the ids as they are given on, and how it ends.
pub fn read_answer(
    dialect: Dialect,
    model: &ServedModel,
    prompt_tokens: usize,
    pieces: impl Iterator<Item = Bytes> + Unpin,
) -> (Vec<i32>, Result<(), String>) {
    let mut taken = Taken(Vec::new());
    let mut events = Events::new(Pieces(pieces));
    let output = Output::new(model, prompt_tokens);
    // Nothing is waited for.
    let timeout = Duration::from_secs(60);
    let outcome = match Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => {
            let answer = read(api(dialect), &mut events, output, &mut taken, timeout);
            runtime.block_on(answer).map(drop)
        }
        Err(error) => Err(error.to_string()),
    };
    (taken.0, outcome)
}

struct Pieces<I>(I);

impl<I: Iterator<Item = Bytes> + Unpin> Body for Pieces<I> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }
}

/// Keeps what it takes.
struct Taken(Vec<i32>);

impl Taker for Taken {
    fn tokens(&mut self, ids: &[i32]) {
        self.0.extend(ids);
    }

    fn has_gone(&self) -> bool {
        false
    }
}
