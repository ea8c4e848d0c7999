//! Processor time of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What all threads of this process have used so far, in user and in kernel code.
pub fn time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(whole) + Duration::from_nanos(nanos)
}
