//! Announcements of waits for nodes that last longer than a second.

use std::{
    fmt::Display,
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};

use tracing::info;

/// Maximum time of a wait without an announcement.
const UNANNOUNCED: Duration = Duration::from_secs(1);

/// Wait that is announced once, when it has lasted a second.
#[derive(Debug)]
pub struct Wait {
    /// Time of the announcement; `None` if there is no announcement, or no further one.
    due: Option<Instant>,
}

impl Wait {
    /// Starts a wait now.
    pub fn begin() -> Self {
        Self { due: Some(Instant::now() + UNANNOUNCED) }
    }

    /// Starts a wait without an announcement, because another wait for the same node announces it.
    pub const fn unannounced() -> Self {
        Self { due: None }
    }

    /// Announces the wait, if that is due; `limit` is its maximum time.
    pub fn announce(&mut self, what: impl Display, limit: Duration) {
        if self.due.take_if(|due| *due <= Instant::now()).is_some() {
            info!("waiting for {what} (up to {} s)", limit.as_secs_f64());
        }
    }

    /// Returns the rest of `limit`, or of the time until the announcement, whichever is shorter.
    pub(crate) fn before_announcement(&self, limit: Duration) -> Duration {
        let left = |due: Instant| due.saturating_duration_since(Instant::now());
        self.due.map_or(limit, |due| limit.min(left(due)))
    }

    /// Waits for a part of the wait, and announces the wait if that becomes due meanwhile.
    pub async fn during<T>(
        &mut self,
        what: impl Display,
        limit: Duration,
        part: impl Future<Output = T>,
    ) -> T {
        let mut part = pin!(part);
        if let Some(due) = self.due {
            tokio::select! {
                biased;
                done = &mut part => return done,
                () = tokio::time::sleep_until(due.into()) => self.announce(what, limit),
            }
        }
        part.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn a_wait_is_announced_once_it_is_due_and_not_again() {
        let mut wait = Wait::begin();
        assert_eq!(wait.during("a", Duration::MAX, ready(7)).await, 7);
        assert!(wait.due.is_some(), "it was short");
        assert!(wait.before_announcement(Duration::MAX) <= UNANNOUNCED);
        assert_eq!(wait.before_announcement(Duration::ZERO), Duration::ZERO);
        wait.due = Some(Instant::now());
        let short = tokio::time::sleep(Duration::from_millis(200));
        wait.during("a", Duration::MAX, short).await;
        assert!(wait.due.is_none(), "it is announced");
        assert_eq!(wait.before_announcement(Duration::MAX), Duration::MAX);
        assert_eq!(wait.during("a", Duration::MAX, ready(8)).await, 8);
        let mut silent = Wait::unannounced();
        silent.announce("a", Duration::MAX);
        assert!(silent.due.is_none());
    }
}
