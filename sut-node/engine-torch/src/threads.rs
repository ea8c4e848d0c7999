//! How many threads libtorch's operations may use.

use std::cell::Cell;

thread_local! {
    /// Whether this thread knows.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Tells libtorch, once for each thread that computes.
pub(crate) fn prepare(threads: i32) {
    if !PREPARED.replace(true) {
        tch::set_num_threads(threads);
    }
}
