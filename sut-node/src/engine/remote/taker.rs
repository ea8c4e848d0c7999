//! Waiting for a server on behalf of who waits for an answer.

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::engine::sink::Sink;

/// How often a request that waits looks whether somebody still wants its answer.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) const GONE: &str = "nobody waits for the answer any more";
pub(crate) const SILENT: &str = "nothing came for as long as --url-timeout allows";

/// Who waits for the tokens of an output.
pub(crate) trait Taker {
    /// Takes those that follow.
    fn tokens(&mut self, ids: &[i32]);

    /// Whether nobody waits any more.
    fn has_gone(&self) -> bool;
}

impl Taker for Sink {
    fn tokens(&mut self, ids: &[i32]) {
        Self::tokens(self, ids);
    }

    fn has_gone(&self) -> bool {
        self.is_closed()
    }
}

/// Someone who wants to know whether there is an answer, and not what it is.
pub(crate) struct Nobody;

impl Taker for Nobody {
    fn tokens(&mut self, _: &[i32]) {}

    fn has_gone(&self) -> bool {
        false
    }
}

/// Keeps the tokens, and waits for ever.
#[derive(Default)]
pub(crate) struct Taken(pub(crate) Vec<i32>);

impl Taker for Taken {
    fn tokens(&mut self, ids: &[i32]) {
        self.0.extend(ids);
    }

    fn has_gone(&self) -> bool {
        false
    }
}

/// Waits for a server, but not for ever, and only while somebody waits for its answer.
pub(crate) async fn wait<T>(
    future: impl Future<Output = T>,
    taker: &impl Taker,
    until: Instant,
) -> Result<T, String> {
    let mut future = pin!(future);
    // Of a fast server most of an answer is here already, and a timer takes longer than a look.
    if let Poll::Ready(output) = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
        return Ok(output);
    }
    loop {
        let look = until.min(Instant::now() + LOOK);
        if let Ok(output) = timeout_at(look, future.as_mut()).await {
            return Ok(output);
        }
        if taker.has_gone() {
            return Err(GONE.into());
        }
        if Instant::now() >= until {
            return Err(SILENT.into());
        }
    }
}

/// Waits for that long, while somebody waits for an answer.
pub(crate) async fn pause(time: Duration, taker: &impl Taker) -> Result<(), String> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if taker.has_gone() {
            return Err(GONE.into());
        }
        sleep_until(end.min(Instant::now() + LOOK)).await;
    }
    Ok(())
}
