//! Receivers of tokens. A wait for a server ends early if the receiver has gone.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use tokio::{
    select,
    time::{Instant, Sleep, sleep_until},
};

use crate::engine::sink::Sink;

/// Interval at which a waiting request checks that its receiver has not gone.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) const CLIENT_GONE: &str = "the client has gone";
pub(crate) const STALLED: &str = "no progress within --url-timeout";

/// Receiver of an output's tokens.
pub(crate) trait TokenReceiver {
    /// Receives the next tokens.
    fn tokens(&mut self, ids: &[i32]);

    /// Returns the maximum number of tokens that the receiver takes.
    fn max_tokens(&self) -> usize {
        usize::MAX
    }

    /// Returns true if the receiver has gone.
    fn has_gone(&self) -> bool {
        false
    }
}

impl TokenReceiver for Sink {
    fn tokens(&mut self, ids: &[i32]) {
        Self::push_tokens(self, ids);
    }

    fn max_tokens(&self) -> usize {
        Self::max_tokens(self)
    }

    fn has_gone(&self) -> bool {
        self.is_closed()
    }
}

/// Stores the tokens, for probes and tests.
impl TokenReceiver for Vec<i32> {
    fn tokens(&mut self, ids: &[i32]) {
        self.extend(ids);
    }
}

/// Timer of the waits for one response of a server. A wait ends after a limited time, or once the
/// receiver of the response has gone. All waits share a timer, so that a wait for data that is
/// ready sets none.
pub(crate) struct StallTimer {
    /// Timer of the next check whether the receiver has gone. It ends no later than the wait that
    /// set it.
    look: Pin<Box<Sleep>>,
}

impl StallTimer {
    /// Creates a timer. The first wait must end at `until`, and later waits no earlier.
    pub(crate) fn new(until: Instant) -> Self {
        Self { look: Box::pin(sleep_until(next_look(until))) }
    }

    /// Waits for the server's next action, at most until `until`.
    pub(crate) async fn wait<T>(
        &mut self,
        future: impl Future<Output = T>,
        taker: &impl TokenReceiver,
        until: Instant,
    ) -> Result<T, String> {
        let mut future = pin!(future);
        loop {
            // Fast path: data that is ready needs no timer.
            select! {
                biased;
                output = &mut future => return Ok(output),
                () = self.look.as_mut() => {}
            }
            if taker.has_gone() {
                return Err(CLIENT_GONE.into());
            }
            if Instant::now() >= until {
                return Err(STALLED.into());
            }
            self.look.as_mut().reset(next_look(until));
        }
    }
}

fn next_look(until: Instant) -> Instant {
    until.min(Instant::now() + LOOK)
}

/// Waits for `time`. Fails once the receiver has gone.
pub(crate) async fn pause(time: Duration, taker: &impl TokenReceiver) -> Result<(), String> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if taker.has_gone() {
            return Err(CLIENT_GONE.into());
        }
        sleep_until(end.min(Instant::now() + LOOK)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        future::{pending, ready},
    };

    use super::*;

    /// A receiver that has gone after a number of checks.
    struct Leaving(Cell<u8>);

    impl TokenReceiver for Leaving {
        fn tokens(&mut self, _: &[i32]) {}

        fn has_gone(&self) -> bool {
            let left = self.0.get();
            self.0.set(left.saturating_sub(1));
            left == 0
        }
    }

    #[tokio::test]
    async fn a_timer_that_has_gone_off_ends_no_later_wait() {
        let long = Instant::now() + Duration::from_secs(3600);
        let mut patience = StallTimer::new(Instant::now());
        let silent = patience.wait(pending::<()>(), &Vec::new(), Instant::now()).await;
        assert_eq!(silent, Err(STALLED.into()));
        let answer = sleep_until(Instant::now() + Duration::from_millis(10));
        assert_eq!(patience.wait(answer, &Vec::new(), long).await, Ok(()));
        // Data that is ready counts, even after the deadline.
        assert_eq!(patience.wait(ready(1), &Vec::new(), Instant::now()).await, Ok(1));
    }

    #[tokio::test]
    async fn who_has_gone_is_noticed_in_every_wait() {
        let long = Instant::now() + Duration::from_secs(3600);
        let mut patience = StallTimer::new(Instant::now());
        for looks in [2, 0] {
            let taker = Leaving(Cell::new(looks));
            assert_eq!(patience.wait(pending::<()>(), &taker, long).await, Err(CLIENT_GONE.into()));
        }
    }
}
