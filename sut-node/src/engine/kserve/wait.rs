//! Waiting for a server.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::engine::sink::Sink;

/// How often a request that waits looks whether somebody still wants its answer.
const LOOK: Duration = Duration::from_millis(200);

const GONE: &str = "nobody waits for the answer any more";
pub(super) const SILENT: &str = "no answer for as long as --url-timeout-ms allows";

/// Who waits for an answer.
pub(super) trait Taker {
    /// Takes tokens that follow.
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

/// Waits for a server, but not for ever, and only while somebody waits for its answer.
pub(super) async fn wait<T>(
    future: impl Future<Output = T>,
    taker: &impl Taker,
    until: Instant,
) -> Result<T, String> {
    let mut future = pin!(future);
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
