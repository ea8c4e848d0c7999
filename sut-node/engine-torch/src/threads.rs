//! The number of threads of libtorch's operations.

use std::cell::Cell;

thread_local! {
    /// Set once this thread has configured libtorch.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Sets the number of threads, once for each thread that computes.
pub(crate) fn prepare(threads: i32) {
    if !PREPARED.replace(true) {
        tch::set_num_threads(threads);
    }
}
