//! Watchdog that ends a failed run soon, whatever LoadGen does. LoadGen may prepare queries for
//! minutes, or sleep long between two queries, without a call that could end the test.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use loadgen_sys::StartTestError;
use tracing::error;

use crate::error::EXIT_FAILED;

/// Time for which the watchdog sleeps: shorter than those for which `cpulimit` stops a program.
const NAP: Duration = Duration::from_millis(20);

/// Number of naps between checks.
const NAPS: usize = 5;

/// Time limit for LoadGen to end a failed run by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Time limit for LoadGen to close its logs after the watchdog has ended the test.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Maximum time for writing the result of a failed run.
const WRITING_TIME: Duration = Duration::from_secs(60);

/// Runs `work`. If it takes too long after a failure while LoadGen still owes calls, calls
/// `give_up` once, which does not return. A failure after LoadGen has all responses changes
/// nothing. Also returns the time by which the watchdog woke up late: a program that is stopped
/// again and again does not see it in any other way.
pub(crate) fn guard(
    failure: impl Fn() -> Option<String> + Send,
    owes_calls: &AtomicBool,
    give_up: impl FnOnce(String) -> std::convert::Infallible + Send,
    work: impl FnOnce() -> Result<(), StartTestError>,
) -> (Result<(), StartTestError>, Duration) {
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = move || {
            let (mut failed_at, mut late) = (None, Duration::ZERO);
            loop {
                for _ in 0..NAPS {
                    let began = Instant::now();
                    if ended.recv_timeout(NAP) != Err(RecvTimeoutError::Timeout) {
                        return late;
                    }
                    late += began.elapsed().saturating_sub(NAP);
                }
                let Some(reason) = failure() else { continue };
                let waited = failed_at.get_or_insert_with(Instant::now).elapsed();
                if waited > GRACE && owes_calls.load(Ordering::SeqCst) {
                    match give_up(reason) {}
                }
            }
        };
        let watchdog =
            match thread::Builder::new().name("watchdog".into()).spawn_scoped(scope, watch) {
                Ok(watchdog) => watchdog,
                Err(error) => {
                    let error = StartTestError(format!("cannot start a thread: {error}"));
                    return (Err(error), Duration::ZERO);
                }
            };
        let result = work();
        drop(done);
        (result, watchdog.join().unwrap_or_default())
    })
}

/// Ends the process after [`WRITING_TIME`], in case the file system does not respond while the
/// result is written.
pub(crate) fn exit_later() {
    let exit = || {
        thread::sleep(WRITING_TIME);
        let seconds = WRITING_TIME.as_secs();
        error!("no result: the file system of the output folder has not answered for {seconds} s");
        loadgen_sys::exit_now(EXIT_FAILED);
    };
    // If the thread cannot start, the process ends as soon as the file system responds.
    drop(thread::Builder::new().name("exit".into()).spawn(exit));
}

/// Lets LoadGen write the reason into its log and close it, within a time limit.
pub(crate) fn end_loadgen(reason: String) {
    let (done, ended) = mpsc::channel::<()>();
    let end = move || {
        loadgen_sys::end_from_outside(&reason);
        drop(done);
    };
    if thread::Builder::new().name("ending".into()).spawn(end).is_ok() {
        // There is nothing more to wait for, even if LoadGen has not closed its log in time.
        let _ = ended.recv_timeout(CLOSING_TIME);
    }
}
