//! Waits for nodes, which are announced in the log if they last longer than a second, and again
//! every ten seconds.

use std::{
    fmt::Display,
    future::Future,
    pin::pin,
    time::{Duration, Instant},
};

use tracing::info;

/// Maximum time of a wait without an announcement.
const UNANNOUNCED: Duration = Duration::from_secs(1);

/// Time between two announcements of a wait.
const REPEATED: Duration = Duration::from_secs(10);

/// Wait for nodes, which is announced in the log when it has lasted a second, and then every ten
/// seconds.
#[derive(Debug)]
pub struct Wait {
    started: Instant,
    /// Maximum time of the wait, and the option that sets it.
    limit: Duration,
    option: &'static str,
    /// Time of the next announcement; `None` if the wait is not announced.
    due: Option<Instant>,
    is_announced: bool,
}

impl Wait {
    /// Starts a wait now. `limit` is its maximum time, which `option` sets.
    pub fn begin(option: &'static str, limit: Duration) -> Self {
        let started = Instant::now();
        Self { started, limit, option, due: Some(started + UNANNOUNCED), is_announced: false }
    }

    /// Makes this a wait without announcements, because another wait for the same node has them.
    #[must_use]
    pub fn unannounced(self) -> Self {
        Self { due: None, ..self }
    }

    /// Announces the wait for `what`, if an announcement is due.
    pub fn announce(&mut self, what: impl Display) {
        if let Some(text) = self.announcement(what) {
            info!("{text}");
        }
    }

    /// Returns the announcement that is due, and sets the time of the next one.
    fn announcement(&mut self, what: impl Display) -> Option<String> {
        let now = Instant::now();
        self.due.take_if(|due| *due <= now)?;
        self.due = Some(now + REPEATED);
        let (limit, option) = (self.limit.as_secs_f64(), self.option);
        Some(if std::mem::replace(&mut self.is_announced, true) {
            let waited = (now - self.started).min(self.limit).as_secs();
            format!("still waiting for {what}: {waited} s of {limit} s ({option})")
        } else {
            format!("waiting for {what} (up to {limit} s, {option})")
        })
    }

    /// Returns `limit` or the time that is left until the next announcement, whichever is shorter.
    pub(crate) fn before_announcement(&self, limit: Duration) -> Duration {
        let left = |due: Instant| due.saturating_duration_since(Instant::now());
        self.due.map_or(limit, |due| limit.min(left(due)))
    }

    /// Awaits `part`, which is one step of the wait for `what`, and returns its output. Announces
    /// the wait each time that an announcement becomes due before `part` completes.
    pub async fn during<T>(&mut self, what: impl Display, part: impl Future<Output = T>) -> T {
        let mut part = pin!(part);
        while let Some(due) = self.due {
            tokio::select! {
                biased;
                done = &mut part => return done,
                () = tokio::time::sleep_until(due.into()) => self.announce(&what),
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
    async fn a_wait_is_announced_each_time_that_it_is_due() {
        let mut wait = Wait::begin("--patience", Duration::from_secs(600));
        assert_eq!(wait.during("a", ready(7)).await, 7);
        assert_eq!(wait.announcement("a"), None, "it was short");
        assert!(wait.before_announcement(Duration::MAX) <= UNANNOUNCED);
        assert_eq!(wait.before_announcement(Duration::ZERO), Duration::ZERO);
        wait.due = Some(Instant::now());
        let short = tokio::time::sleep(Duration::from_millis(200));
        wait.during("a", short).await;
        assert!(wait.is_announced);
        assert_eq!(wait.announcement("a"), None, "it is not due again");
        assert!(wait.before_announcement(Duration::MAX) > UNANNOUNCED);
        wait.due = Some(Instant::now());
        let again = wait.announcement("a");
        assert_eq!(again.as_deref(), Some("still waiting for a: 0 s of 600 s (--patience)"));
        // The last step of a wait may end after its limit.
        let ended = Duration::from_secs(1);
        let mut late = Wait { limit: ended, due: Some(Instant::now()), is_announced: true, ..wait };
        late.started = Instant::now() - 2 * ended;
        let text = late.announcement("a");
        assert_eq!(text.as_deref(), Some("still waiting for a: 1 s of 1 s (--patience)"));
        wait.is_announced = false;
        wait.due = Some(Instant::now());
        let first = wait.announcement("a");
        assert_eq!(first.as_deref(), Some("waiting for a (up to 600 s, --patience)"));
        let mut silent = wait.unannounced();
        assert_eq!(silent.during("a", ready(8)).await, 8);
        assert_eq!(silent.announcement("a"), None);
        assert_eq!(silent.before_announcement(Duration::MAX), Duration::MAX);
    }
}
