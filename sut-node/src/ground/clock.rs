//! Time, from the system or from a simulation.

use std::time::Instant;

/// A source of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub(crate) fn() -> Instant);

impl Default for Clock {
    fn default() -> Self {
        Self(Instant::now)
    }
}

impl Clock {
    pub(crate) fn now(self) -> Instant {
        (self.0)()
    }
}
