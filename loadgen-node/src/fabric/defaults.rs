//! Default sizes, times and rounds.

use std::time::Duration;

use super::watch::Times;

/// Default sizes and times.
#[derive(Debug)]
pub(crate) struct Defaults {
    /// Message sizes in bytes, in ascending order.
    pub(crate) sizes: &'static [usize],
    pub(crate) times: Times,
    /// Time limit for the round trips of all sizes and nodes together.
    pub(crate) round_trips: Duration,
}

/// Defaults of a measurement that takes half a minute, for any number of nodes and of connections
/// to try.
pub(crate) const QUICK: Defaults = Defaults {
    sizes: &[64, 16 << 10, 1 << 20],
    times: Times { warm_up: Duration::from_millis(200), duration: Duration::from_millis(300) },
    round_trips: Duration::from_millis(1500),
};

/// Defaults of `--thorough`, whose figures vary less.
pub(crate) const THOROUGH: Defaults = Defaults {
    sizes: &[64, 16 << 10, 128 << 10, 1 << 20, 64 << 20],
    times: Times { warm_up: Duration::from_secs(1), duration: Duration::from_secs(5) },
    round_trips: Duration::MAX,
};

/// Default number of rounds.
pub(crate) const ROUNDS: usize = 3;

/// Default size of a matrix and of a soak, in bytes.
pub(crate) const ONE_SIZE: [usize; 1] = [1 << 20];
/// Default sizes of an open loop, in bytes.
pub(crate) const OPEN_LOOP_SIZES: [usize; 3] = [64, 16 << 10, 128 << 10];
