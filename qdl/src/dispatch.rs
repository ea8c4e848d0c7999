//! Which connection gets which sample.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::inbox::{Closed, Inbox, Pending};

/// How samples are spread over nodes and connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A connection takes the next sample when it has room: a faster node gets more. For Offline.
    Pull,
    /// Each sample goes to the stream with the fewest unanswered ones, of the next eight in turn. For Server and the streams.
    LeastOutstanding,
    /// Each connection in turn.
    RoundRobin,
}

/// Lanes that are compared, from the next one in turn: with many lanes the best of some is nearly the best of all, and
/// costs no more.
const LOOKED_AT: usize = 8;

/// Samples of a query that are handed out before connections are told.
const GROUPED: usize = 1024;

/// The inboxes: one for all connections when they pull, else one for each.
pub(crate) struct Dispatch<T> {
    policy: Policy,
    lanes: Vec<LaneInbox<T>>,
    next: AtomicUsize,
}

/// One connection's end of it.
pub(crate) struct LaneInbox<T> {
    pub(crate) inbox: Arc<Inbox<T>>,
    /// Samples given to this connection and not yet answered; kept for `LeastOutstanding`.
    pub(crate) outstanding: Arc<AtomicUsize>,
}

impl<T> Clone for LaneInbox<T> {
    fn clone(&self) -> Self {
        Self { inbox: self.inbox.clone(), outstanding: self.outstanding.clone() }
    }
}

impl<T> Dispatch<T> {
    /// `capacity` is the number of samples that may wait in all inboxes together.
    pub(crate) fn new(policy: Policy, lanes: usize, capacity: usize) -> Self {
        let shared = Arc::new(Inbox::new(capacity, lanes));
        let own = |_| match policy {
            Policy::Pull => shared.clone(),
            _ => Arc::new(Inbox::new(capacity / lanes.max(1), 1)),
        };
        let lane = |inbox| LaneInbox { inbox, outstanding: Arc::default() };
        let lanes = (0..lanes).map(own).map(lane).collect();
        Self { policy, lanes, next: AtomicUsize::new(0) }
    }

    pub(crate) fn lane(&self, lane: usize) -> LaneInbox<T> {
        self.lanes[lane].clone()
    }

    /// Hands samples out; waits while their inbox is full.
    pub(crate) fn push(&self, samples: &mut dyn Iterator<Item = Pending<T>>) -> Result<(), Closed> {
        if self.policy == Policy::Pull {
            return self.lanes[0].inbox.push(samples);
        }
        if samples.size_hint() == (1, Some(1)) {
            return self.lanes[self.give()].inbox.push(samples);
        }
        // Those of one query that go the same way go together.
        let mut groups: Vec<Vec<_>> = self.lanes.iter().map(|_| Vec::new()).collect();
        loop {
            let mut more = false;
            for sample in samples.take(GROUPED) {
                groups[self.give()].push(sample);
                more = true;
            }
            if !more {
                return Ok(());
            }
            for (lane, group) in self.lanes.iter().zip(&mut groups) {
                lane.inbox.push(&mut group.drain(..))?;
            }
        }
    }

    /// The lane that the next sample is given to.
    fn give(&self) -> usize {
        let lane = self.choose();
        self.lanes[lane].outstanding.fetch_add(1, Ordering::Relaxed);
        lane
    }

    /// The next lane in turn, or from there on the one with the fewest samples outstanding.
    fn choose(&self) -> usize {
        let count = self.lanes.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed) % count;
        if self.policy == Policy::RoundRobin {
            return first;
        }
        let in_turn = (first..count).chain(0..first);
        in_turn
            .take(LOOKED_AT)
            .min_by_key(|lane| self.lanes[*lane].outstanding.load(Ordering::Relaxed))
            .unwrap_or(first)
    }

    /// Notes answers to samples of that lane.
    pub(crate) fn answered(&self, lane: usize, samples: usize) {
        if self.policy != Policy::Pull {
            self.lanes[lane].outstanding.fetch_sub(samples, Ordering::Relaxed);
        }
    }

    pub(crate) fn wait_until_empty(&self) -> Result<(), Closed> {
        self.lanes.iter().try_for_each(|lane| lane.inbox.wait_until_empty())
    }

    pub(crate) fn close(&self) {
        self.lanes.iter().for_each(|lane| lane.inbox.close());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn push(dispatch: &Dispatch<()>, count: usize) {
        let one = |index| Pending { ticket: (), index, issued: Instant::now() };
        dispatch.push(&mut (0..count).map(one)).unwrap();
    }

    fn lengths(dispatch: &Dispatch<()>) -> Vec<usize> {
        dispatch.lanes.iter().map(|lane| lane.inbox.len()).collect()
    }

    #[test]
    fn pulling_connections_share_one_inbox() {
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
