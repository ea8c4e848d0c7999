//! I/O threads, which serve the connections and complete samples, and detection of pauses between
//! queries, in which the threads may fall asleep.
//!
//! Each thread runs a single-threaded runtime for the whole run, because LoadGen loses the log of a
//! thread that exits during a test. A connection stays on the thread on which it was opened,
//! because a sample's first token and its response must be reported from one thread.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use tokio::{runtime, sync::oneshot};

use crate::settings::{OnThreadStart, Settings};

pub(crate) struct IoThreads {
    threads: Vec<IoThread>,
}

struct IoThread {
    runtime: runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl IoThreads {
    pub(crate) fn start(settings: &Settings) -> io::Result<Self> {
        let start = |number| IoThread::start(number, settings);
        let threads = (0..settings.io_threads.max(1)).map(start).collect::<io::Result<_>>()?;
        Ok(Self { threads })
    }

    /// Returns the runtime of the thread that serves a connection; `connection` is its number over
    /// all nodes.
    pub(crate) fn runtime(&self, connection: usize) -> &runtime::Handle {
        &self.threads[connection % self.threads.len()].runtime
    }
}

impl IoThread {
    fn start(number: usize, settings: &Settings) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let (first, busy_poll) = (settings.on_thread_start.clone(), settings.busy_poll);
        let serve = move || {
            if let Some(OnThreadStart(first)) = first {
                first(number);
            }
            if busy_poll {
                runtime.spawn(netdiv_transport::busy_poll());
            }
            // Ends on request, or when the owner is gone.
            let _ = runtime.block_on(stopped);
        };
        let thread = thread::Builder::new().name(format!("qdl-io-{number}")).spawn(serve)?;
        Ok(Self { runtime: handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            thread.stop.take();
        }
        for thread in &mut self.threads {
            // A panic of a connection's task was already reported as the run's failure.
            let _ = thread.thread.take().map(thread::JoinHandle::join);
        }
    }
}

/// Time without a query after which the connections' threads have nothing to send and may sleep.
const CALM: Duration = Duration::from_micros(50);

/// Clock that measures the time since the last query.
pub(crate) struct Pace {
    began: Instant,
    /// Time of the last query, in nanoseconds since `began`.
    last: AtomicU64,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { began: now, last: AtomicU64::new(0) }
    }

    /// Notes a query. Returns true if the previous query was so long ago that the connections'
    /// threads may sleep.
    pub(crate) fn note_query(&self, now: Instant) -> bool {
        let now = now.saturating_duration_since(self.began);
        let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let last = self.last.swap(nanoseconds, Ordering::Relaxed);
        now.saturating_sub(Duration::from_nanos(last)) >= CALM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_in_a_row_are_not_calm() {
        let began = Instant::now();
        let pace = Pace::new(began);
        let us = |us| began + Duration::from_micros(us);
        let calm = [60, 61, 100, 150, 149, 200].map(|now| pace.note_query(us(now)));
        assert_eq!(calm, [true, false, false, true, false, true]);
    }
}
