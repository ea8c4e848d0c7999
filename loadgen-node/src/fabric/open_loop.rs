//! Open loop: messages at a fixed rate, whether or not responses arrive. A message's time counts
//! from when it was due, so that a message that had to wait does not look fast.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use netdiv_qdl::Settings;
use netdiv_receivers::LatencyRecorder;
use parking_lot::Mutex;

use super::{
    client::connect,
    figures::{OpenLoop, Shape},
    progress,
};
use crate::RunError;

/// Maximum number of late messages that are issued at once.
const BURST: u64 = 256;

/// Maximum time that the histogram resolves, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Minimum share of the messages that must be answered when the last one is issued, for the rate to
/// count as kept.
const ANSWERED: f64 = 0.95;

/// Maximum pause between two looks at the clock.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends `rate` messages per second, over all nodes together, for `duration`. Then waits for the
/// responses.
pub(crate) fn open_loop(
    settings: &Settings,
    shape: Shape,
    benchmark: Option<String>,
    rate: f64,
    duration: Duration,
) -> Result<OpenLoop, RunError> {
    let times = Histogram::new_with_bounds(1, LONGEST_NS, 3).map_err(RunError::failed)?;
    let times = Arc::new(Mutex::new(times));
    let qdl = connect(settings.clone(), shape, LatencyRecorder(times.clone()))?;
    let begin = Instant::now();
    let due = |number: u64| begin + Duration::from_secs_f64(number as f64 / rate);
    let count = (duration.as_secs_f64() * rate).ceil() as u64;
    let issue_limit = duration.mul_f64(1.01) + PAUSE;
    let (mut sent, mut latest) = (0, Duration::ZERO);
    while sent < count {
        let now = Instant::now();
        // The rate is not kept, and more messages would only prolong the wait for responses.
        if now - begin > issue_limit {
            break;
        }
        let late = now.saturating_duration_since(due(sent));
        latest = latest.max(late);
        if due(sent) > now {
            thread::sleep((due(sent) - now).min(PAUSE));
            qdl.failure().map_or(Ok(()), |why| Err(RunError::failed(why)))?;
            continue;
        }
        let behind = ((now - begin).as_secs_f64() * rate) as u64 + 1;
        let until = behind.min(sent + BURST).min(count);
        let messages: Vec<_> = (sent..until).map(due).collect();
        sent = until;
        qdl.issue(&messages).map_err(RunError::failed)?;
    }
    let (handed_over, answered) = (begin.elapsed(), qdl.progress().answered);
    let outstanding = sent.saturating_sub(answered);
    let left = handed_over.as_secs_f64() * outstanding as f64 / answered as f64;
    progress::log_wait(outstanding, Duration::try_from_secs_f64(left).ok());
    qdl.flush().map_err(RunError::failed)?;
    let total = begin.elapsed();
    let times = times.lock();
    Ok(OpenLoop {
        benchmark,
        message_bytes: shape.sample_bytes(),
        answer_bytes: shape.from_node,
        rate_messages_per_second: rate,
        messages: sent,
        answered_per_second: sent as f64 / total.as_secs_f64(),
        latest_ms: latest.as_secs_f64() * 1e3,
        waited_ms: (total - handed_over).as_secs_f64() * 1e3,
        kept: sent == count
            && handed_over <= issue_limit
            && answered as f64 >= ANSWERED * sent as f64,
        p50_ns: times.value_at_quantile(0.5),
        p90_ns: times.value_at_quantile(0.9),
        p99_ns: times.value_at_quantile(0.99),
        p99_9_ns: times.value_at_quantile(0.999),
        max_ns: times.max(),
    })
}
