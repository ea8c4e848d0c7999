//! Waits for nodes, which are announced in the log if they last longer than a second.

use std::{
    fmt::Display,
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};

use tracing::info;

/// Maximum time of a wait without an announcement.
const UNANNOUNCED: Duration = Duration::from_secs(1);

/// Wait for nodes, which is announced in the log once, when it has lasted a second.
#[derive(Debug)]
pub struct Wait {
    /// Time at which the wait is announced; `None` if it is not announced, or was announced
    /// already.
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

    /// Announces the wait for `what`, if the announcement is due; `limit` is the maximum time of
    /// the wait.
    pub fn announce(&mut self, what: impl Display, limit: Duration) {
        if self.due.take_if(|due| *due <= Instant::now()).is_some() {
            info!("waiting for {what} (up to {} s)", limit.as_secs_f64());
        }
    }

    /// Returns `limit` or the time that is left until the announcement, whichever is shorter.
    pub(crate) fn before_announcement(&self, limit: Duration) -> Duration {
        let left = |due: Instant| due.saturating_duration_since(Instant::now());
        self.due.map_or(limit, |due| limit.min(left(due)))
    }

    /// Awaits `part`, which is one step of the wait for `what`, and returns its output. Announces
    /// the wait if the announcement becomes due before `part` completes.
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
