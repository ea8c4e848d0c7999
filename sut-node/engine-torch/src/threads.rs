//! Sets the number of threads with which libtorch runs an operation.

use std::cell::Cell;

thread_local! {
    /// Set once this thread has configured libtorch.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Sets the number of threads that libtorch uses for the operations of the current thread. Only the
/// first call on each thread has an effect.
pub(crate) fn prepare(threads: i32) {
    if !PREPARED.replace(true) {
        tch::set_num_threads(threads);
    }
}
