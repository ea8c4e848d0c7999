//! Limit on threads.

use std::{
    io,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::resources::memory;

/// Stack of a thread, in bytes, in the standard library and in tokio.
const STACK_BYTES: u64 = 2 << 20;

/// Checks that `count` threads can be started, by starting them for a moment. tokio panics if it
/// cannot start its own.
///
/// # Errors
///
/// Fails with the system's reason and the remedy.
pub fn check(count: usize) -> io::Result<()> {
    memory::check_limits(STACK_BYTES.saturating_mul(count as u64))?;
    let starting = Mutex::new(());
    thread::scope(|scope| {
        let held = starting.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = || drop(starting.lock());
        let start = |_| thread::Builder::new().spawn_scoped(scope, wait);
        let started: io::Result<Vec<_>> = (0..count).map(start).collect();
        drop(held);
        started.map(drop)
    })
    .map_err(|error| {
        let advice = "raise the limit of processes (`ulimit -u`, pids.max, systemd's TasksMax)";
        io::Error::new(error.kind(), format!("cannot start {count} threads: {error}; {advice}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_can_be_started_and_end() {
        check(0).unwrap();
        check(8).unwrap();
    }
}
