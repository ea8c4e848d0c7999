//! A failed run ends soon, whatever LoadGen does: it may spend minutes on preparing queries, without a call in
//! which it could be told.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use netdiv_qdl::{Failure, LoadGen, Qdl};

/// How often to look.
const PERIOD: Duration = Duration::from_millis(100);

/// How long LoadGen may take to end a failed run by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Does the work; calls `stuck` once if it goes on for too long after a failure.
pub(crate) fn guard<L: LoadGen, T>(
    qdl: &Qdl<L>,
    stuck: impl FnOnce(&Failure) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut failed_at = None;
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let Some(failure) = qdl.failure() else { continue };
                if failed_at.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    return stuck(failure);
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}
