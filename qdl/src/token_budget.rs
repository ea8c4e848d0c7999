//! Token budget of a node: limits the tokens in flight to the node over all lanes together.

use std::task::Waker;

use netdiv_contract::tokens;
use parking_lot::Mutex;

/// Token budget of a node that counts tokens. A sample uses the number of its own tokens plus the
/// length of the longest output, in tokens.
#[derive(Debug)]
pub(crate) struct TokenBudget {
    most: u64,
    longest_output: u32,
    state: Mutex<TokenBudgetState>,
}

#[derive(Debug, Default)]
struct TokenBudgetState {
    samples: usize,
    tokens: u64,
    /// Lane that was refused first, and its waker. No other lane gets tokens before this lane;
    /// otherwise short samples of other lanes would keep a long sample out.
    next: Option<(usize, Waker)>,
    /// Wakers of all lanes that were refused.
    waiting: Vec<Waker>,
}

impl TokenBudget {
    pub(crate) fn new(most: u32, longest_output: u32) -> Self {
        Self { most: most.into(), longest_output, state: Mutex::default() }
    }

    /// Reserves the tokens of a sample of `bytes` on a lane, or returns false. After false, the
    /// lane is woken when there may be room. A sample that is larger than the whole budget is sent
    /// alone.
    pub(crate) fn admit(&self, lane: usize, bytes: usize, waker: &Waker) -> bool {
        let tokens = self.tokens_of(bytes);
        let mut state = self.state.lock();
        let fits = state.samples == 0 || state.tokens.saturating_add(tokens) <= self.most;
        let is_turn = match &state.next {
            Some((next, its)) if *next != lane => {
                if fits {
                    // The sample of the lane `next` may have been reassigned in the meantime. When
                    // that lane is woken, it then gives up its turn.
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

    /// Releases the tokens of a sample of `bytes`, whose response is complete.
    pub(crate) fn answered(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.samples -= 1;
        state.tokens -= self.tokens_of(bytes);
        state.wake();
    }

    /// Gives up this lane's claim to the next free tokens, because the lane has nothing to send.
    pub(crate) fn release_turn(&self, lane: usize) {
        let mut state = self.state.lock();
        if state.next.as_ref().is_some_and(|(next, _)| *next == lane) {
            state.next = None;
            state.wake();
        }
    }

    fn tokens_of(&self, bytes: usize) -> u64 {
        tokens::cost(bytes as u64, self.longest_output)
    }

    /// Returns true if the limit is not exceeded, except by a single sample.
    #[cfg(test)]
    pub(crate) fn is_within_limit(&self) -> bool {
        let state = self.state.lock();
        state.samples <= 1 || state.tokens <= self.most
    }

    /// Returns true if nothing is in flight.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        (state.samples, state.tokens) == (0, 0)
    }
}

impl TokenBudgetState {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::inbox::tests::WakeCounter;

    /// Returns the size of a sample of `tokens` tokens, in bytes.
    const fn of(tokens: usize) -> usize {
        24 + 4 * tokens
    }

    #[test]
    fn tokens_are_those_of_the_samples_and_of_their_longest_outputs() {
        let room = TokenBudget::new(25, 10);
        let admit = |lane, tokens| room.admit(lane, of(tokens), Waker::noop());
        assert!(admit(0, 2) && admit(1, 3), "of all lanes together");
        assert!(!admit(0, 0));
        room.answered(of(3));
        assert!(admit(0, 0));
        room.answered(of(2));
        room.answered(of(0));
        assert!(admit(1, 100) && !admit(0, 0), "a sample that is too large is sent alone");
        room.answered(of(100));
        assert!(room.is_empty());
    }

    #[test]
    fn a_long_sample_is_not_kept_out_by_short_ones_of_other_lanes() {
        let room = TokenBudget::new(100, 0);
        let lanes = [Arc::new(WakeCounter::default()), Arc::new(WakeCounter::default())];
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
        let room = TokenBudget::new(100, 0);
        let other = Arc::new(WakeCounter::default());
        let short = || room.admit(1, of(10), &Waker::from(other.clone()));
        assert!(room.admit(1, of(60), Waker::noop()));
        assert!(!room.admit(0, of(90), Waker::noop()) && !short());
        room.release_turn(1);
        assert!(!short(), "it was not its turn");
        room.release_turn(0);
        assert_eq!(other.count(), 1);
        assert!(short());
    }
}
