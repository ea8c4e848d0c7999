//! Detection of pauses between queries, in which the connections' threads may fall asleep.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Time without a query after which the connections' threads have nothing to send and may sleep.
const CALM: Duration = Duration::from_micros(50);

/// Clock that measures the time since the last query.
pub(crate) struct Pace {
    began: Instant,
    /// Time of the last query, in nanoseconds since `began`.
    last: AtomicU64,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, last: AtomicU64::new(0) }
    }

    /// Notes a query. Returns true if the previous query was so long ago that the connections'
    /// threads may sleep.
    pub(crate) fn note_query(&self, now: Instant) -> bool {
        let now = now.saturating_duration_since(self.began);
        let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let last = self.last.swap(nanoseconds, Ordering::Relaxed);
        now.saturating_sub(Duration::from_nanos(last)) >= CALM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_in_a_row_are_not_calm() {
        let began = Instant::now();
        let pace = Pace::new(began);
        let us = |us| began + Duration::from_micros(us);
        let calm = [60, 61, 100, 150, 149, 200].map(|now| pace.note_query(us(now)));
        assert_eq!(calm, [true, false, false, true, false, true]);
    }
}
