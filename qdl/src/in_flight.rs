//! Samples in flight on one lane: their slots, their share of the window, and the time since which
//! a response is due.
//!
//! The last event of a sample frees its slot and its share of the window, and ends the wait for its
//! response. This module does no I/O and reads no clock: times are passed in.

use std::{task::Waker, time::Instant};

use crate::{failure::OrderViolation, slots::SlotTable, window::Window};

#[cfg_attr(test, derive(Clone))]
pub(crate) struct SentSample<T> {
    pub(crate) ticket: T,
    pub(crate) index: usize,
    pub(crate) issued: Instant,
    pub(crate) sent: Instant,
    /// Number of bytes that the sample uses in the window.
    pub(crate) cost: usize,
    /// Number of samples of the lane that were in flight once this one was sent.
    pub(crate) in_flight: u32,
    /// First token, and the time at which it arrived; `None` before it arrives.
    pub(crate) first: Option<(i32, Instant)>,
}

/// Samples in flight on one lane.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct InFlight<T> {
    slots: SlotTable<SentSample<T>>,
    window: Window,
    /// Requires a first token before each response.
    first_due: bool,
    /// Time since which a response is due: the time of the last event, or the time at which a
    /// sample was sent while no other sample was in flight. `None` if no sample is in flight.
    waiting_since: Option<Instant>,
}

impl<T> InFlight<T> {
    /// Creates the empty table of the lane with this number.
    pub(crate) fn new(lane: u16, window: Window, first_due: bool) -> Self {
        let slots = SlotTable::new(lane, window.max_samples());
        Self { slots, window, first_due, waiting_since: None }
    }

    /// Reserves room in the window for a sample of `bytes`, or returns false. After true,
    /// [`Self::insert`] must follow.
    pub(crate) fn admit(&mut self, bytes: usize, waker: &Waker) -> bool {
        self.window.admit(bytes, waker)
    }

    /// Gives up the lane's claim to the next free tokens of the node, because the lane has nothing
    /// to send.
    pub(crate) fn release_turn(&self) {
        self.window.release_turn();
    }

    /// Inserts an admitted sample and returns the id to send. Returns the sample if no slot is
    /// free.
    pub(crate) fn insert(&mut self, sample: SentSample<T>) -> Result<u64, SentSample<T>> {
        let sent = sample.sent;
        let id = self.slots.insert(sample)?;
        self.waiting_since.get_or_insert(sent);
        Ok(id)
    }

    /// Returns the sample of a first token that has arrived and is due. The caller stores the token
    /// in it and passes it to LoadGen. `None` if the id belongs to no sample in flight.
    pub(crate) fn first(&mut self, id: u64) -> Result<Option<&mut SentSample<T>>, OrderViolation> {
        match self.slots.get_mut(id) {
            None => Ok(None),
            Some(_) if !self.first_due => Err(OrderViolation::Unasked),
            Some(sample) if sample.first.is_some() => Err(OrderViolation::Second),
            sample => Ok(sample),
        }
    }

    /// Returns true if the id of a part of an output belongs to a sample in flight.
    pub(crate) fn part(&mut self, id: u64) -> bool {
        self.slots.get_mut(id).is_some()
    }

    /// Removes and returns a sample whose last event has arrived. `None` if the id belongs to no
    /// sample in flight.
    pub(crate) fn last(&mut self, id: u64) -> Option<SentSample<T>> {
        let sample = self.slots.remove(id)?;
        self.window.answered(sample.cost);
        Some(sample)
    }

    /// Checks that a removed sample may be completed: its first token, if due, has arrived.
    pub(crate) fn may_complete(&self, sample: &SentSample<T>) -> Result<(), OrderViolation> {
        if self.first_due && sample.first.is_none() {
            return Err(OrderViolation::Missing);
        }
        Ok(())
    }

    /// Records an event from the node: the time since which a response is due becomes `now`, if
    /// samples are still in flight.
    pub(crate) fn record_activity(&mut self, now: Instant) {
        self.waiting_since = self.window.has_samples().then_some(now);
    }

    /// Returns the time since which a response is due. The caller may move it forward by the time
    /// for which this process was suspended.
    pub(crate) fn waiting_since(&mut self) -> Option<&mut Instant> {
        self.waiting_since.as_mut()
    }

    /// Returns the number of samples in flight.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Iterates over the samples in flight.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SentSample<T>> {
        self.slots.iter()
    }

    #[cfg(test)]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// Removes all samples in flight, and accepts no more.
    pub(crate) fn retire(&mut self) -> impl Iterator<Item = SentSample<T>> + use<T> {
        self.waiting_since = None;
        self.slots.retire()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Step of a sequence: a sample is sent, or an event of any earlier sample arrives.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Send,
        First(usize),
        Part(usize),
        Last(usize),
    }

    /// State of a sample that is expected after the steps so far.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Stage {
        Sent,
        FirstSeen,
        Answered,
    }

    /// Table after a sequence of steps, and the states of the samples that are expected then.
    #[derive(Clone)]
    struct Path {
        table: InFlight<usize>,
        first_due: bool,
        now: Instant,
        samples: Vec<(u64, Stage)>,
    }

    impl Path {
        fn new(first_due: bool) -> Self {
            let table = InFlight::new(3, Window::new(2, 100, None), first_due);
            Self { table, first_due, now: Instant::now(), samples: Vec::new() }
        }

        fn in_flight(&self) -> usize {
            self.samples.iter().filter(|(_, stage)| *stage != Stage::Answered).count()
        }

        /// Takes a step and checks its outcome. Returns false if the step fails the run.
        fn take(&mut self, step: Step) -> bool {
            match step {
                Step::Send => {
                    assert_eq!(self.table.admit(1, Waker::noop()), self.in_flight() < 2);
                    if self.in_flight() < 2 {
                        let (ticket, now) = (self.samples.len(), self.now);
                        let sample = SentSample {
                            ticket,
                            index: 0,
                            issued: now,
                            sent: now,
                            cost: 1,
                            in_flight: 1,
                            first: None,
                        };
                        let id = self.table.insert(sample).ok().unwrap();
                        self.samples.push((id, Stage::Sent));
                    }
                }
                Step::First(place) => {
                    let (id, stage) = self.samples[place];
                    let keep = |sample: &mut SentSample<usize>| {
                        sample.first = Some((5, self.now));
                        sample.ticket
                    };
                    let first = self.table.first(id).map(|sample| sample.map(keep));
                    let expected = match (stage, self.first_due) {
                        (Stage::Answered, _) => Ok(None),
                        (_, false) => Err(OrderViolation::Unasked),
                        (Stage::FirstSeen, true) => Err(OrderViolation::Second),
                        (Stage::Sent, true) => Ok(Some(place)),
                    };
                    assert_eq!(first, expected);
                    if first == Ok(Some(place)) {
                        self.samples[place].1 = Stage::FirstSeen;
                    }
                    return first.is_ok();
                }
                Step::Part(place) => {
                    let (id, stage) = self.samples[place];
                    assert_eq!(self.table.part(id), stage != Stage::Answered);
                }
                Step::Last(place) => {
                    let (id, stage) = self.samples[place];
                    let last = self.table.last(id);
                    assert_eq!(last.is_some(), stage != Stage::Answered);
                    let Some(sample) = last else { return true };
                    assert_eq!(sample.ticket, place);
                    self.samples[place].1 = Stage::Answered;
                    let missing = self.first_due && stage == Stage::Sent;
                    let expected = if missing { Err(OrderViolation::Missing) } else { Ok(()) };
                    assert_eq!(self.table.may_complete(&sample), expected);
                    return !missing;
                }
            }
            true
        }

        /// Checks that slots, window and deadline cover exactly the samples without a last event.
        fn check_invariants(&mut self) {
            assert_eq!(self.table.iter().count(), self.in_flight());
            assert_eq!(self.table.window.has_samples(), self.in_flight() > 0);
            self.table.record_activity(self.now);
            assert_eq!(self.table.waiting_since().is_some(), self.in_flight() > 0);
            let seen = self.samples.iter().filter(|(_, stage)| *stage == Stage::FirstSeen).count();
            assert_eq!(self.table.clone().retire().filter(|s| s.first.is_some()).count(), seen);
        }
    }

    fn try_all(path: &Path, left: u8) {
        let Some(left) = left.checked_sub(1) else { return };
        let all = 0..path.samples.len();
        let events = [Step::First, Step::Part, Step::Last].into_iter();
        let steps = events.flat_map(|event| all.clone().map(event)).chain([Step::Send]);
        for step in steps {
            let mut next = path.clone();
            let goes_on = next.take(step);
            next.check_invariants();
            if goes_on {
                try_all(&next, left);
            }
        }
    }

    #[test]
    fn every_sequence_of_events_closes_on_the_last_one() {
        for first_due in [false, true] {
            try_all(&Path::new(first_due), 8);
        }
    }
}
