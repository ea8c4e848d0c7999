//! Log lines about peers that are refused. A flood of strangers must not fill a disk.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tracing::warn;

/// Lines in one second; the others are counted, and the next line says how many they were.
const LINES: u32 = 16;
const SECOND: Duration = Duration::from_secs(1);

/// What was refused lately.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Lately>);

#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Refusals {
    /// Says what became of a peer, and why.
    pub(crate) fn warn(&self, peer: impl Display, what: &str, why: impl Display) {
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match lately.line(Instant::now()) {
            None => {}
            Some(0) => warn!(%peer, %why, "{what}"),
            Some(left_out) => {
                warn!(%peer, %why, left_out, "{what}; others before it were not logged")
            }
        }
    }
}

impl Lately {
    /// How many were left out before this line, or `None` where it is left out too.
    fn line(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= SECOND) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == LINES {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_logged() {
        let (mut lately, start) = (Lately::default(), Instant::now());
        assert!((0..LINES).all(|_| lately.line(start) == Some(0)));
        assert!((0..1000).all(|_| lately.line(start).is_none()));
        assert_eq!(lately.line(start + SECOND), Some(1000));
        assert_eq!(lately.line(start + SECOND), Some(0));
    }
}
