//! The samples in flight on one lane: their slots, their share of the window, and since when an answer is due.
//!
//! All of it closes on the last event of a sample. No I/O and no clock here: the time is passed in.

use std::{task::Waker, time::Instant};

use crate::{event::OutOfOrder, slots::SlotTable, window::Window};

/// A sample in flight.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Sample<T> {
    pub(crate) ticket: T,
    pub(crate) index: usize,
    pub(crate) issued: Instant,
    pub(crate) sent: Instant,
    /// What it takes of the window, in bytes.
    pub(crate) cost: usize,
    /// Its first token, once LoadGen was told of it, and when that was.
    pub(crate) first: Option<(i32, Instant)>,
}

/// The samples in flight on one lane.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct InFlight<T> {
    slots: SlotTable<Sample<T>>,
    window: Window,
    /// Whether a first token is due before each answer.
    first_due: bool,
    /// Since when answers are due: the last event, or the first sample sent since there was none in flight.
    waiting_since: Option<Instant>,
}

impl<T> InFlight<T> {
    /// Of the lane with that number.
    pub(crate) fn new(lane: u16, window: Window, first_due: bool) -> Self {
        let slots = SlotTable::new(lane, window.max_samples());
        Self { slots, window, first_due, waiting_since: None }
    }

    /// Lets a sample of that size go out, if the window has room: [`Self::insert`] has to follow.
    pub(crate) fn admit(&mut self, bytes: usize, waker: &Waker) -> bool {
        self.window.admit(bytes, waker)
    }

    /// Keeps no room for a sample: none waits to go out.
    pub(crate) fn give_way(&self) {
        self.window.give_way();
    }

    /// Gives an admitted sample a slot, and returns the id to send. Gives the sample back when no slot is free.
    pub(crate) fn insert(&mut self, sample: Sample<T>) -> Result<u64, Sample<T>> {
        let sent = sample.sent;
        let id = self.slots.insert(sample)?;
        self.waiting_since.get_or_insert(sent);
        Ok(id)
    }

    /// A first token has come, and is due: its sample, which has to keep it, and of which LoadGen has to be told. `None` when
    /// the id belongs to no sample in flight.
    pub(crate) fn first(&mut self, id: u64) -> Result<Option<&mut Sample<T>>, OutOfOrder> {
        match self.slots.get_mut(id) {
            None => Ok(None),
            Some(_) if !self.first_due => Err(OutOfOrder::Unasked),
            Some(sample) if sample.first.is_some() => Err(OutOfOrder::Second),
            sample => Ok(sample),
        }
    }

    /// A part of an output has come. Whether its id belongs to a sample in flight.
    pub(crate) fn part(&mut self, id: u64) -> bool {
        self.slots.get_mut(id).is_some()
    }

    /// The last event of a sample has come: takes the sample out. `None` when the id belongs to no sample in flight.
    pub(crate) fn last(&mut self, id: u64) -> Option<Sample<T>> {
        let sample = self.slots.remove(id)?;
        self.window.answered(sample.cost);
        Some(sample)
    }

    /// Whether a sample that was taken out may be completed.
    pub(crate) fn may_complete(&self, sample: &Sample<T>) -> Result<(), OutOfOrder> {
        if self.first_due && sample.first.is_none() {
            return Err(OutOfOrder::Missing);
        }
        Ok(())
    }

    /// The node has answered something: what is in flight still is waited for from now on.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.waiting_since = self.window.is_open().then_some(now);
    }

    /// Since when answers are due, to be moved by a time in which nobody could look.
    pub(crate) fn waiting_since(&mut self) -> Option<&mut Instant> {
        self.waiting_since.as_mut()
    }

    /// What is in flight.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sample<T>> {
        self.slots.iter()
    }

    #[cfg(test)]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// Takes back all that is in flight, and nothing goes out any more.
    pub(crate) fn retire(&mut self) -> impl Iterator<Item = Sample<T>> + use<T> {
        self.waiting_since = None;
        self.slots.retire()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may happen: a sample goes out, and events of any sample that ever was.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Send,
        First(usize),
        Part(usize),
        Last(usize),
    }

    /// What the rules say of a sample.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Stage {
        Sent,
        FirstSeen,
        Answered,
    }

    /// One sequence of steps, and what it has to come to.
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

        /// Takes the step; false where the run fails.
        fn take(&mut self, step: Step) -> bool {
            match step {
                Step::Send => {
                    assert_eq!(self.table.admit(1, Waker::noop()), self.in_flight() < 2);
                    if self.in_flight() < 2 {
                        let (ticket, now) = (self.samples.len(), self.now);
                        let sample = Sample {
                            ticket,
                            index: 0,
                            issued: now,
                            sent: now,
                            cost: 1,
                            first: None,
                        };
                        let id = self.table.insert(sample).ok().unwrap();
                        self.samples.push((id, Stage::Sent));
                    }
                }
                Step::First(place) => {
                    let (id, stage) = self.samples[place];
                    let keep = |sample: &mut Sample<usize>| {
                        sample.first = Some((5, self.now));
                        sample.ticket
                    };
                    let first = self.table.first(id).map(|sample| sample.map(keep));
                    let expected = match (stage, self.first_due) {
                        (Stage::Answered, _) => Ok(None),
                        (_, false) => Err(OutOfOrder::Unasked),
                        (Stage::FirstSeen, true) => Err(OutOfOrder::Second),
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
                    let expected = if missing { Err(OutOfOrder::Missing) } else { Ok(()) };
                    assert_eq!(self.table.may_complete(&sample), expected);
                    return !missing;
                }
            }
            true
        }

        /// Slots, window and deadline are those of the samples without a last event, and no others.
        fn check(&mut self) {
            assert_eq!(self.table.iter().count(), self.in_flight());
            assert_eq!(self.table.window.is_open(), self.in_flight() > 0);
            self.table.heard(self.now);
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
            next.check();
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
