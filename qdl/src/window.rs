//! Limits of the samples, payload bytes and tokens in flight on one lane.

use std::{sync::Arc, task::Waker};

use crate::token_budget::TokenBudget;

/// Numbers of samples and payload bytes in flight on one lane, and the limits of these numbers.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Window {
    max_samples: usize,
    max_bytes: usize,
    /// Token budget that all lanes to the node share, and the number of this lane; `None` if the
    /// node does not count tokens.
    tokens: Option<(Arc<TokenBudget>, usize)>,
    samples: usize,
    bytes: usize,
}

impl Window {
    /// Creates an empty window. Both limits are at least 1.
    pub(crate) fn new(
        max_samples: usize,
        max_bytes: usize,
        tokens: Option<(Arc<TokenBudget>, usize)>,
    ) -> Self {
        let (max_samples, max_bytes) = (max_samples.max(1), max_bytes.max(1));
        Self { max_samples, max_bytes, tokens, samples: 0, bytes: 0 }
    }

    /// Reserves room for a sample of `bytes`, or returns false. A sample that is larger than the
    /// whole window is sent alone. If other lanes use the node's tokens, `waker` is woken when some
    /// may be free.
    pub(crate) fn admit(&mut self, bytes: usize, waker: &Waker) -> bool {
        let room = self.samples < self.max_samples
            && (self.samples == 0 || self.bytes.saturating_add(bytes) <= self.max_bytes)
            && self.tokens.as_ref().is_none_or(|(room, lane)| room.admit(*lane, bytes, waker));
        if room {
            self.samples += 1;
            self.bytes += bytes;
        }
        room
    }

    /// Gives up the lane's claim to the next free tokens, because the lane has nothing to send.
    pub(crate) fn release_turn(&self) {
        if let Some((room, lane)) = &self.tokens {
            room.release_turn(*lane);
        }
    }

    /// Releases the room of a sample of `bytes`, whose response is complete.
    pub(crate) fn answered(&mut self, bytes: usize) {
        self.samples -= 1;
        self.bytes -= bytes;
        if let Some((room, _)) = &self.tokens {
            room.answered(bytes);
        }
    }

    /// Returns true if no limit is exceeded, except by a single sample that is larger than a limit.
    #[cfg(test)]
    pub(crate) fn keeps_its_limits(&self) -> bool {
        let tokens = self.tokens.as_ref().is_none_or(|(room, _)| room.is_within_limit());
        let bytes = self.samples <= 1 || self.bytes <= self.max_bytes;
        self.samples <= self.max_samples && bytes && tokens
    }

    /// Returns true if no lane to the node has tokens in flight.
    #[cfg(test)]
    pub(crate) fn has_no_tokens_in_flight(&self) -> bool {
        self.tokens.as_ref().is_none_or(|(room, _)| room.is_empty())
    }

    /// Returns true if samples are in flight.
    pub(crate) fn has_samples(&self) -> bool {
        self.samples > 0
    }

    pub(crate) fn max_samples(&self) -> usize {
        self.max_samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries every sequence of up to `left` steps, and compares the window with the samples
    /// `in_flight`.
    fn try_all(window: &Window, in_flight: &[usize], left: u8) {
        let Some(left) = left.checked_sub(1) else { return };
        let sum: usize = in_flight.iter().sum();
        assert_eq!(window.has_samples(), !in_flight.is_empty());
        for bytes in [0, 1, 4, 9] {
            let mut next = window.clone();
            let fits = in_flight.len() < 3 && (in_flight.is_empty() || sum + bytes <= 8);
            assert_eq!(next.admit(bytes, Waker::noop()), fits, "{bytes} beside {in_flight:?}");
            if fits {
                try_all(&next, &[in_flight, &[bytes]].concat(), left);
            }
        }
        for place in 0..in_flight.len() {
            let (mut next, mut others) = (window.clone(), in_flight.to_vec());
            next.answered(others.remove(place));
            try_all(&next, &others, left);
        }
    }

    #[test]
    fn no_sequence_of_steps_exceeds_a_limit_or_leaks() {
        try_all(&Window::new(3, 8, None), &[], 9);
    }
}
