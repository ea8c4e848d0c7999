//! How many tokens may be in flight to a node, over all its lanes.

use std::task::Waker;

use netdiv_contract::tokens;
use parking_lot::Mutex;

/// The room of a node that counts tokens. A sample takes its own and those of the longest output.
#[derive(Debug)]
pub(crate) struct TokenRoom {
    most: u64,
    longest_output: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    samples: usize,
    tokens: u64,
    /// The lane that was refused first. No other gets room before it, or short samples would keep a long one out.
    next: Option<(usize, Waker)>,
    /// Of all lanes that were refused.
    waiting: Vec<Waker>,
}

impl TokenRoom {
    pub(crate) fn new(most: u32, longest_output: u32) -> Self {
        Self { most: most.into(), longest_output, state: Mutex::default() }
    }

    /// Lets a sample of that size go out on a lane, if there is room; else the lane is woken when there may be some. One that is
    /// larger than all the room goes alone.
    pub(crate) fn admit(&self, lane: usize, bytes: usize, waker: &Waker) -> bool {
        let tokens = self.tokens_of(bytes);
        let mut state = self.state.lock();
        let fits = state.samples == 0 || state.tokens.saturating_add(tokens) <= self.most;
        let is_turn = match &state.next {
            Some((next, its)) if *next != lane => {
                if fits {
                    // Its sample may have gone to another node meanwhile: then it gives way.
                    its.wake_by_ref();
                }
                false
            }
            _ => true,
        };
        if !fits || !is_turn {
            if is_turn {
                state.next = Some((lane, waker.clone()));
            }
            if !state.waiting.iter().any(|other| other.will_wake(waker)) {
                state.waiting.push(waker.clone());
            }
            return false;
        }
        state.samples += 1;
        state.tokens += tokens;
        if state.next.take().is_some() {
            state.wake();
        }
        true
    }

    /// Gives back what such a sample took.
    pub(crate) fn answered(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.samples -= 1;
        state.tokens -= self.tokens_of(bytes);
        state.wake();
    }

    /// Lets other lanes go first: this one has nothing to send.
    pub(crate) fn give_way(&self, lane: usize) {
        let mut state = self.state.lock();
        if state.next.as_ref().is_some_and(|(next, _)| *next == lane) {
            state.next = None;
            state.wake();
        }
    }

    fn tokens_of(&self, bytes: usize) -> u64 {
        tokens::cost(bytes as u64, self.longest_output)
    }

    /// Whether there are not more tokens in flight than may be, but by a sample that is alone.
    #[cfg(test)]
    pub(crate) fn keeps_its_limit(&self) -> bool {
        let state = self.state.lock();
        state.samples <= 1 || state.tokens <= self.most
    }

    /// Whether nothing is in flight.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        (state.samples, state.tokens) == (0, 0)
    }
}

impl State {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::wakes::Wakes;

    /// Bytes of a sample of so many tokens.
    const fn of(tokens: usize) -> usize {
        24 + 4 * tokens
    }

    #[test]
    fn tokens_are_those_of_the_samples_and_of_their_longest_outputs() {
        let room = TokenRoom::new(25, 10);
        let admit = |lane, tokens| room.admit(lane, of(tokens), Waker::noop());
        assert!(admit(0, 2) && admit(1, 3), "of all lanes together");
        assert!(!admit(0, 0));
        room.answered(of(3));
        assert!(admit(0, 0));
        room.answered(of(2));
        room.answered(of(0));
        assert!(admit(1, 100) && !admit(0, 0), "one that is too large goes alone");
        room.answered(of(100));
        assert!(room.is_empty());
    }

    #[test]
    fn a_long_sample_is_not_kept_out_by_short_ones_of_other_lanes() {
        let room = TokenRoom::new(100, 0);
        let lanes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
        let admit =
            |lane: usize, tokens| room.admit(lane, of(tokens), &Waker::from(lanes[lane].clone()));
        let woken = || lanes.each_ref().map(|lane| lane.count());
        assert!(admit(1, 40) && admit(1, 40));
        assert!(!admit(0, 90));
        assert!(!admit(1, 10), "there is room, but another lane came before");
        assert_eq!(woken(), [1, 0], "it may have nothing to send any more");
        room.answered(of(40));
        assert_eq!(woken(), [2, 1], "once for each that waits");
        assert!(!admit(1, 10) && !admit(0, 90));
        room.answered(of(40));
        assert!(!admit(1, 10) && admit(0, 90));
        assert_eq!(woken(), [5, 3], "the other one has its turn");
        assert!(admit(1, 10));
    }

    #[test]
    fn a_lane_whose_sample_went_elsewhere_gives_way() {
        let room = TokenRoom::new(100, 0);
        let other = Arc::new(Wakes::default());
        let short = || room.admit(1, of(10), &Waker::from(other.clone()));
        assert!(room.admit(1, of(60), Waker::noop()));
        assert!(!room.admit(0, of(90), Waker::noop()) && !short());
        room.give_way(1);
        assert!(!short(), "it was not its turn");
        room.give_way(0);
        assert_eq!(other.count(), 1);
        assert!(short());
    }
}
