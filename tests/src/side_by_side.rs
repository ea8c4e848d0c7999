//! Work on several items at the same time, where most of an item's time is waiting.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

/// Runs `work` on every item, in `threads` threads, and returns the results in the order of the
/// items. The result of an item is `None` if `work` panicked, so that one failure does not hide
/// others.
pub fn side_by_side<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let next = Mutex::new(items.iter().enumerate());
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let item = next.lock().expect("no holder panics").next();
                    let Some((index, item)) = item else { return };
                    if let Ok(result) = catch_unwind(AssertUnwindSafe(|| work(item))) {
                        results.lock().expect("no holder panics")[index] = Some(result);
                    }
                }
            });
        }
    });
    results.into_inner().expect("no holder panics")
}
