//! Log lines about refused peers, limited in rate, so that a flood of connections cannot fill the disk.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::warn;

/// Lines per second; further ones are counted, and the next line gives their number.
const LINES: u32 = 16;
const SECOND: Duration = Duration::from_secs(1);

/// The limit's state.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Lately>);

#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Refusals {
    /// Logs what happened to a peer, and why.
    pub(crate) fn warn(&self, peer: impl Display, what: &str, why: impl Display) {
        let mut lately = self.0.lock();
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
    /// How many lines were left out before this one; `None` if this one is left out too.
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
