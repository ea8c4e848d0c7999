//! Waiting for a server on behalf of who waits for an answer.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use tokio::{
    select,
    time::{Instant, Sleep, sleep_until},
};

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

/// Keeps the tokens of an answer, for tests and fuzz targets.
#[cfg(any(test, feature = "fuzzing"))]
#[derive(Default)]
pub(crate) struct Taken(pub(crate) Vec<i32>);

#[cfg(any(test, feature = "fuzzing"))]
impl Taker for Taken {
    fn tokens(&mut self, ids: &[i32]) {
        self.0.extend(ids);
    }

    fn has_gone(&self) -> bool {
        false
    }
}

/// Waits for one answer of a server, but not for ever, and only while somebody wants it. The timer goes on from wait to wait, so
/// that parts which follow each other at once cost none.
pub(crate) struct Patience {
    /// When to look next; never later than the end of a wait that has asked it.
    look: Pin<Box<Sleep>>,
}

impl Patience {
    /// For waits of which the first ends then; later ones end no earlier.
    pub(crate) fn new(until: Instant) -> Self {
        Self { look: Box::pin(sleep_until(next_look(until))) }
    }

    /// Waits for what the server does next, at most until then.
    pub(crate) async fn wait<T>(
        &mut self,
        future: impl Future<Output = T>,
        taker: &impl Taker,
        until: Instant,
    ) -> Result<T, String> {
        let mut future = pin!(future);
        loop {
            // Of a fast server most of an answer is here already, and then the timer is not asked.
            select! {
                biased;
                output = &mut future => return Ok(output),
                () = self.look.as_mut() => {}
            }
            if taker.has_gone() {
                return Err(GONE.into());
            }
            if Instant::now() >= until {
                return Err(SILENT.into());
            }
            self.look.as_mut().reset(next_look(until));
        }
    }
}

fn next_look(until: Instant) -> Instant {
    until.min(Instant::now() + LOOK)
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

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        future::{pending, ready},
    };

    use super::*;

    /// Someone who goes after being looked at so often.
    struct Leaving(Cell<u8>);

    impl Taker for Leaving {
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
        let mut patience = Patience::new(Instant::now());
        let silent = patience.wait(pending::<()>(), &Nobody, Instant::now()).await;
        assert_eq!(silent, Err(SILENT.into()));
        let answer = sleep_until(Instant::now() + Duration::from_millis(10));
        assert_eq!(patience.wait(answer, &Nobody, long).await, Ok(()));
        // What is here is taken, however late it is asked for.
        assert_eq!(patience.wait(ready(1), &Nobody, Instant::now()).await, Ok(1));
    }

    #[tokio::test]
    async fn who_has_gone_is_noticed_in_every_wait() {
        let long = Instant::now() + Duration::from_secs(3600);
        let mut patience = Patience::new(Instant::now());
        for looks in [2, 0] {
            let taker = Leaving(Cell::new(looks));
            assert_eq!(patience.wait(pending::<()>(), &taker, long).await, Err(GONE.into()));
        }
    }
}
