//! When a lane is looked at for answers that do not come.

use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{failure::Failure, lane::Lane, loadgen::LoadGen, settings::NetworkSettings};

/// Two clocks: for a node that is silent, and for single samples that are late.
pub(crate) struct Deadlines {
    sample_timeout: Duration,
    sample_deadline: Duration,
    silence: Interval,
    lateness: Interval,
    /// Whether the last look at single samples was not made, as it came too late.
    skipped: bool,
}

impl Deadlines {
    pub(crate) fn new(limits: &NetworkSettings) -> Self {
        let NetworkSettings { sample_timeout, sample_deadline, .. } = *limits;
        // Looking at each sample in flight takes a while; the time to detect is within a tenth of the limit, on a thread
        // that is not held up.
        let every = |limit: Duration, most: Duration| {
            let mut looks = interval((limit / 10).clamp(Duration::from_millis(10), most));
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            looks
        };
        let silence = every(sample_timeout, Duration::from_millis(500));
        let lateness = every(sample_deadline, Duration::from_secs(30));
        Self { sample_timeout, sample_deadline, silence, lateness, skipped: false }
    }

    /// Waits for the next look. An error when samples are in flight and no answer has come for too long, or one of them is
    /// in flight for too long while others are answered: at a slow node a sample may wait its turn. Time in which this
    /// process stood still, and nobody could look, is not held against the node.
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
                // Behind a halt answers may wait unread; the next look decides.
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
