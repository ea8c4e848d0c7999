//! A kernel timer, because tokio's timers are up to a millisecond late.

use std::{
    io,
    os::fd::OwnedFd,
    task::{Context, Poll},
    time::Instant,
};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::{Interest, unix::AsyncFd};

/// A timer for one point in time, which may change.
pub(crate) struct Timer {
    kernel: AsyncFd<OwnedFd>,
    /// Time that the timer is set to.
    due: Option<Instant>,
}

impl Timer {
    /// Creates a timer, within a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let kernel = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe; an `OwnedFd` is always the same"
        )]
        let kernel = AsyncFd::with_interest(kernel, Interest::READABLE)?;
        Ok(Self { kernel, due: None })
    }

    /// Returns ready once `due` is reached.
    pub(crate) fn poll_until(&mut self, context: &mut Context<'_>, due: Instant) -> Poll<()> {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        if self.due != Some(due) {
            self.due = Some(due);
            // A time beyond the kernel's range never elapses.
            let it_value = Timespec::try_from(left).unwrap_or_default();
            let spec = Itimerspec { it_interval: Timespec::default(), it_value };
            // Fails only for an invalid duration.
            let _ = timerfd_settime(&self.kernel, TimerfdTimerFlags::empty(), &spec);
        }
        // An error means that the runtime ends.
        while let Poll::Ready(Ok(mut rung)) = self.kernel.poll_read_ready(context) {
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            rung.clear_ready();
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use super::*;

    async fn wait(timer: &mut Timer, due: Instant) {
        poll_fn(|context| timer.poll_until(context, due)).await;
        assert!(Instant::now() >= due);
    }

    #[tokio::test]
    async fn it_rings_once_for_each_time_however_often_that_changes() {
        let mut timer = Timer::new().unwrap();
        let (begin, far) = (Instant::now(), Duration::from_secs(3600));
        wait(&mut timer, begin).await;
        for milliseconds in [20, 30, 31] {
            let later = poll_fn(|context| Poll::Ready(timer.poll_until(context, begin + far)));
            assert!(later.await.is_pending());
            wait(&mut timer, begin + Duration::from_millis(milliseconds)).await;
        }
        assert!(begin.elapsed() < far);
    }
}
