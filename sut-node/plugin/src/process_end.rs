//! The end of a process whose libraries cannot be cleaned up.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_LOST: AtomicBool = AtomicBool::new(false);

pub(crate) fn note_loss() {
    IS_LOST.store(true, Ordering::Relaxed);
}

/// Returns true once a device of any plug-in is lost to this process.
pub fn is_device_lost() -> bool {
    IS_LOST.load(Ordering::Relaxed)
}

/// Ends the process without the destructors of its libraries. A destructor may abort, or wait for
/// ever, after its device is lost or while a thread is inside its library.
pub fn end_without_destructors(code: u8) -> ! {
    // SAFETY: the call never returns, and no other code of this process runs afterwards.
    unsafe { libc::_exit(code.into()) }
}
