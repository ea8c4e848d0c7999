//! Sizes, times and rounds where no option says otherwise.

use std::time::Duration;

use super::watch::Times;

/// Sizes and times.
#[derive(Debug)]
pub(crate) struct Defaults {
    /// In bytes, in ascending order.
    pub(crate) sizes: &'static [usize],
    pub(crate) times: Times,
    /// Limit for the round trips of all sizes and nodes together.
    pub(crate) round_trips: Duration,
}

/// Defaults that take half a minute, whatever the number of nodes and of the connections that are tried.
pub(crate) const QUICK: Defaults = Defaults {
    sizes: &[64, 16 << 10, 1 << 20],
    times: Times { warm_up: Duration::from_millis(200), duration: Duration::from_millis(300) },
    round_trips: Duration::from_millis(1500),
};

/// Defaults of `--thorough`: figures vary less.
pub(crate) const THOROUGH: Defaults = Defaults {
    sizes: &[64, 16 << 10, 128 << 10, 1 << 20, 64 << 20],
    times: Times { warm_up: Duration::from_secs(1), duration: Duration::from_secs(5) },
    round_trips: Duration::MAX,
};

/// Rounds.
pub(crate) const ROUNDS: usize = 3;

/// Sizes of a matrix and a soak, and of an open loop, in bytes.
pub(crate) const ONE_SIZE: [usize; 1] = [1 << 20];
pub(crate) const OPEN_LOOP_SIZES: [usize; 3] = [64, 16 << 10, 128 << 10];
