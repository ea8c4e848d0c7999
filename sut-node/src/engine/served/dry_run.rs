//! Answers without a server: what a test or a fuzzer makes up.

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
        remote::taker::Taken,
        served::{chunk::Chunks, exchange::read, grpc, openai, output::Output},
    },
    model::served::ServedModel,
    settings::served::Protocol,
};

/// Reads an answer's body that comes in pieces, to a prompt of so many tokens: the ids as they are given on, and how it ends.
pub fn read_answer(
    protocol: Protocol,
    model: &ServedModel,
    prompt_tokens: usize,
    pieces: impl Iterator<Item = Bytes>,
) -> (Vec<i32>, Result<(), String>) {
    let pieces: Vec<_> = pieces.collect();
    let body = Pieces(pieces.into_iter());
    match protocol {
        Protocol::Openai(dialect) => {
            let answer = openai::answer::Answer::of_body(dialect, body);
            read_all(answer, Output::new(model, prompt_tokens))
        }
        Protocol::Grpc(service) => {
            let answer = grpc::answer::Answer::of_body(service, body);
            read_all(answer, Output::new(model, prompt_tokens))
        }
    }
}

fn read_all(mut answer: impl Chunks, output: Output<'_>) -> (Vec<i32>, Result<(), String>) {
    let mut taken = Taken::default();
    // Nothing is waited for.
    let timeout = Duration::from_secs(60);
    let outcome = match Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime.block_on(read(&mut answer, output, &mut taken, timeout)).map(drop),
        Err(error) => Err(error.to_string()),
    };
    (taken.0, outcome)
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
