//! Common parts of the table's functions: error handling, and handles that the node holds.

use netdiv_plugin::abi::{Status, Text};

use crate::failure::Failure;

/// Runs `work`, the body of a function of the table. An error or a panic becomes a status and a
/// text.
pub(crate) fn guarded(error: Text, work: impl FnOnce() -> Result<(), Failure>) -> Status {
    let work = || work().map_err(|failure| (failure.status, failure.text));
    // SAFETY: the caller provides memory for the text, as the ABI requires.
    unsafe { netdiv_plugin::guarded(error, work) }
}

/// Moves a value to the heap, and writes its address to `place`, as a pointer to the ABI's opaque
/// type `H`. The node owns the value from then on.
///
/// # Safety
///
/// `place` points at memory of the caller for a pointer.
pub(crate) unsafe fn into_handle<T, H>(value: T, place: *mut *mut H) {
    // SAFETY: as above.
    unsafe { *place = Box::into_raw(Box::new(value)).cast() }
}

/// Drops a value whose address the node returns.
///
/// # Safety
///
/// The handle is from [`into_handle`] for a `T`, and is returned only once.
pub(crate) unsafe fn drop_handle<T, H>(handle: *mut H) {
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(handle.cast::<T>()) });
}
