//! Detection of overdue responses on a lane.

use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{failure::Failure, lane::Lane, loadgen::LoadGen, settings::NetworkSettings};

/// Timers of one lane: `silence` checks for a node that sends no response, and `lateness` checks
/// for single samples that are overdue.
pub(crate) struct Deadlines {
    sample_timeout: Duration,
    sample_deadline: Duration,
    silence: Interval,
    lateness: Interval,
    /// Set if the last check of single samples was skipped, because it ran too late, as after a
    /// suspension of this process.
    skipped: bool,
}

impl Deadlines {
    pub(crate) fn new(limits: &NetworkSettings) -> Self {
        let NetworkSettings { sample_timeout, sample_deadline, .. } = *limits;
        // Checks are rare, because each looks at every sample in flight, which takes time. On a
        // thread that is not blocked, a failure is detected within a tenth of the limit.
        let every = |limit: Duration, most: Duration| {
            let mut looks = interval((limit / 10).clamp(Duration::from_millis(10), most));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            looks
        };
        let silence = every(sample_timeout, Duration::from_millis(500));
        let lateness = every(sample_deadline, Duration::from_secs(30));
        Self { sample_timeout, sample_deadline, silence, lateness, skipped: false }
    }

    /// Waits for the next check. Fails if samples are in flight and no response has arrived for too
    /// long. Also fails if one sample is in flight for too long while others are answered; this has
    /// its own limit, because a sample may wait its turn at a slow node. Time during which this
    /// process was suspended, and could not check, does not count.
    pub(crate) async fn tick<L: LoadGen>(&mut self, lane: &Lane<L>) -> Result<(), Failure> {
        let node = || lane.node_name.clone();
        tokio::select! {
            due = self.silence.tick() => {
                let (now, halt) = (Instant::now(), due.elapsed());
                let mut state = lane.state.lock();
                let Some(since) = state.in_flight.waiting_since() else { return Ok(()) };
                *since = now.min(*since + halt);
                if now - *since > self.sample_timeout {
                    return Err(Failure::NoAnswer { node: node(), waited: self.sample_timeout });
                }
            }
            due = self.lateness.tick() => {
                // After a suspension, responses may still be unread, so the next check decides.
                self.skipped = !self.skipped && due.elapsed() > self.lateness.period();
                if self.skipped {
                    return Ok(());
                }
                let now = Instant::now();
                let late = |sent| now.saturating_duration_since(sent) > self.sample_deadline;
                if lane.state.lock().in_flight.iter().any(|sample| late(sample.sent)) {
                    return Err(Failure::Overdue { node: node(), waited: self.sample_deadline });
                }
            }
        }
        Ok(())
    }
}
