//! Assignment of samples to lanes.

use std::{
    cmp::Ordering::Equal,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use strum::Display;

use crate::{
    inbox::{Closed, Inbox, MOST_TAKEN, QueuedSample, Refusal},
    speed::{Speed, SpeedEstimate},
};

/// Policy that spreads samples over nodes and streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Policy {
    /// Each stream takes the next sample when it has room, so a faster node receives more. For
    /// Offline.
    Pull,
    /// Each sample goes to the stream where it is expected to wait for the shortest time, by the
    /// speed that the node's replies show, among the next eight in turn. If it waits at none of
    /// several, the stream whose unanswered samples take the shortest time gets it. For Server,
    /// SingleStream and MultiStream.
    LeastOutstanding,
    /// Each stream in turn.
    RoundRobin,
}

/// Number of lanes that [`Policy::LeastOutstanding`] compares for a sample, beginning with the next
/// lane in turn. With many lanes, the best of eight is nearly the best of all, and the cost does
/// not grow with their number.
const COMPARED_LANES: usize = 8;

/// Number of times that all samples in flight must be unanswered for the end of a query to be far.
const FAR: usize = 4;

/// Maximum number of samples of a query that are assigned to lanes before these lanes are woken.
const GROUPED: usize = 1024;

/// Inboxes of all lanes: one shared inbox with [`Policy::Pull`], otherwise one inbox for each lane.
pub(crate) struct Dispatch<T> {
    policy: Policy,
    lanes: Vec<LaneInbox<T>>,
    next: AtomicUsize,
}

/// Inbox and counters of one lane, aligned so that threads of different lanes share no cache line.
#[repr(align(128))]
struct LaneInbox<T> {
    inbox: Arc<Inbox<T>>,
    /// Number of samples that were assigned to this lane and are not answered yet, which
    /// `LeastOutstanding` compares. Stays 0 with `Pull`.
    outstanding: AtomicUsize,
    /// Speed of the lane's node.
    speed: Speed,
    /// Set once the lane's node is lost or the run ends.
    retired: AtomicBool,
}

impl<T> Dispatch<T> {
    /// Creates the inboxes of `lanes` lanes. `capacity` is the number of samples that may wait in
    /// all inboxes together.
    pub(crate) fn new(policy: Policy, lanes: usize, capacity: usize) -> Self {
        let shared = Arc::new(Inbox::new(capacity, lanes));
        let own = |_| match policy {
            Policy::Pull => shared.clone(),
            _ => Arc::new(Inbox::new(capacity / lanes.max(1), 1)),
        };
        let lane = |inbox| LaneInbox {
            inbox,
            outstanding: AtomicUsize::default(),
            speed: Speed::new(&SpeedEstimate::new(1)),
            retired: AtomicBool::default(),
        };
        let lanes = (0..lanes).map(own).map(lane).collect();
        Self { policy, lanes, next: AtomicUsize::new(0) }
    }

    pub(crate) fn inbox(&self, lane: usize) -> Arc<Inbox<T>> {
        self.lanes[lane].inbox.clone()
    }

    /// Notes the speed of a lane's node.
    pub(crate) fn learn(&self, lane: usize, speed: &SpeedEstimate) {
        self.lanes[lane].speed.publish(speed);
    }

    /// Returns the maximum number of samples that a lane may have in flight, beyond the limits of
    /// its window. Towards the end of a query with [`Policy::Pull`] it is the share of the
    /// `unanswered` samples that the lane's node can answer while the others answer theirs: whole
    /// batches and at least one, because a node may wait to fill a batch.
    pub(crate) fn max_in_flight(
        &self,
        lane: usize,
        batch: usize,
        in_flight: usize,
        unanswered: usize,
    ) -> usize {
        let is_far = || unanswered > FAR * self.lanes.len() * (in_flight + MOST_TAKEN);
        if self.policy != Policy::Pull || is_far() {
            return usize::MAX;
        }
        let open = self.lanes.iter().filter(|lane| !lane.retired.load(Ordering::Relaxed));
        let rate = |lane: &LaneInbox<T>| 1.0 / lane.speed.ns_per_sample();
        let share = rate(&self.lanes[lane]) / open.map(rate).sum::<f64>();
        ((share * unanswered as f64) as usize / batch).max(1) * batch
    }

    /// Assigns samples to lanes. Blocks while the inbox of an assigned lane is full.
    pub(crate) fn push(
        &self,
        samples: &mut dyn Iterator<Item = QueuedSample<T>>,
    ) -> Result<(), Closed> {
        let one = samples.size_hint() == (1, Some(1));
        let mut samples = samples.peekable();
        if one || self.policy == Policy::Pull {
            loop {
                match self.lanes[self.assign_lane()].inbox.push(&mut samples) {
                    Ok(()) => return Ok(()),
                    Err(Refusal::Closed) => return Err(Closed),
                    // The loop chooses another lane.
                    Err(Refusal::Retired) => {}
                }
            }
        }
        // Samples of one query for the same lane are pushed together.
        let mut groups: Vec<Vec<_>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut refused = Vec::new();
        while !refused.is_empty() || samples.peek().is_some() {
            for sample in refused.drain(..).chain(samples.by_ref().take(GROUPED)) {
                groups[self.assign_lane()].push(sample);
            }
            for (lane, group) in self.lanes.iter().zip(&mut groups) {
                let mut group = group.drain(..).peekable();
                match lane.inbox.push(&mut group) {
                    Ok(()) => {}
                    Err(Refusal::Closed) => return Err(Closed),
                    Err(Refusal::Retired) => refused.extend(group),
                }
            }
        }
        Ok(())
    }

    /// Reassigns the unanswered samples of a lost node to other lanes, ahead of the samples that
    /// wait there.
    pub(crate) fn reassign(&self, mut samples: Vec<QueuedSample<T>>) {
        if self.policy == Policy::Pull {
            self.lanes[0].inbox.put_back(samples);
            return;
        }
        while !samples.is_empty() {
            let mut groups: Vec<Vec<_>> = self.lanes.iter().map(|_| Vec::new()).collect();
            for sample in samples {
                groups[self.assign_lane()].push(sample);
            }
            let refused = |(lane, group): (&LaneInbox<T>, _)| lane.inbox.put_back(group);
            samples = self.lanes.iter().zip(groups).flat_map(refused).collect();
        }
    }

    /// Stops the assignment of samples to this lane.
    pub(crate) fn retire(&self, lane: usize) {
        self.lanes[lane].retired.store(true, Ordering::SeqCst);
    }

    /// Returns true if the lane's node is lost or the run has ended.
    pub(crate) fn is_retired(&self, lane: usize) -> bool {
        self.lanes[lane].retired.load(Ordering::Relaxed)
    }

    /// Removes and returns the samples in the inbox of this retired lane. A shared inbox keeps its
    /// samples, because the other lanes take them.
    pub(crate) fn withdraw(&self, lane: usize) -> Vec<QueuedSample<T>> {
        match self.policy {
            Policy::Pull => Vec::new(),
            _ => self.lanes[lane].inbox.retire(),
        }
    }

    /// Returns the lane for the next sample, and counts the sample there.
    pub(crate) fn assign_lane(&self) -> usize {
        if self.policy == Policy::Pull {
            return 0;
        }
        let lane = self.choose();
        self.lanes[lane].outstanding.fetch_add(1, Ordering::Relaxed);
        lane
    }

    /// Returns the next lane in turn, or with [`Policy::LeastOutstanding`] the lane with the
    /// shortest expected times among the next [`COMPARED_LANES`] in turn.
    fn choose(&self) -> usize {
        let count = self.lanes.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed) % count;
        let is_open = |lane: &usize| !self.lanes[*lane].retired.load(Ordering::Relaxed);
        let mut in_turn = (first..count).chain(0..first).filter(is_open);
        let chosen = match self.policy {
            Policy::RoundRobin => in_turn.next(),
            _ => {
                let expected = |lane: usize| {
                    let LaneInbox { speed, outstanding, .. } = &self.lanes[lane];
                    (speed.expected_ns(outstanding.load(Ordering::Relaxed)), lane)
                };
                let compared = in_turn.take(COMPARED_LANES).map(expected);
                // The numbers are never NaN.
                let shortest = compared.min_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(Equal));
                shortest.map(|(_, lane)| lane)
            }
        };
        // If every node is lost, the inboxes are closed.
        chosen.unwrap_or(first)
    }

    /// Notes that `samples` samples of this lane were answered.
    pub(crate) fn answered(&self, lane: usize, samples: usize) {
        if self.policy != Policy::Pull {
            self.lanes[lane].outstanding.fetch_sub(samples, Ordering::Relaxed);
        }
    }

    pub(crate) fn wait_until_empty(&self) -> Result<(), Closed> {
        self.lanes.iter().try_for_each(|lane| lane.inbox.wait_until_empty())
    }

    pub(crate) fn close(&self) {
        for (number, lane) in self.lanes.iter().enumerate() {
            self.retire(number);
            lane.inbox.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn push(dispatch: &Dispatch<()>, count: usize) {
        let one = |index| QueuedSample { ticket: (), index, issued: Instant::now() };
        dispatch.push(&mut (0..count).map(one)).unwrap();
    }

    fn lengths(dispatch: &Dispatch<()>) -> Vec<usize> {
        dispatch.lanes.iter().map(|lane| lane.inbox.len()).collect()
    }

    #[test]
    fn pulling_lanes_share_one_inbox() {
        let dispatch = Dispatch::new(Policy::Pull, 3, 100);
        push(&dispatch, 7);
        assert_eq!(lengths(&dispatch), [7, 7, 7], "the same inbox three times");
    }

    #[test]
    fn round_robin_takes_turns() {
        let dispatch = Dispatch::new(Policy::RoundRobin, 3, 300);
        push(&dispatch, 7);
        assert_eq!(lengths(&dispatch), [3, 2, 2]);
    }

    #[test]
    fn the_lane_that_answers_gets_the_next_sample() {
        let dispatch = Dispatch::new(Policy::LeastOutstanding, 3, 300);
        push(&dispatch, 6);
        assert_eq!(lengths(&dispatch), [2, 2, 2]);
        dispatch.answered(1, 2);
        push(&dispatch, 2);
        assert_eq!(lengths(&dispatch), [2, 4, 2]);
    }
}
