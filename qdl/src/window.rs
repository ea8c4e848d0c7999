//! How much may be in flight on one lane.

use netdiv_contract::tokens;

/// Samples, payload bytes and tokens that were sent and not yet answered, against their limits.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Window {
    max_samples: usize,
    max_bytes: usize,
    /// Where the node counts tokens.
    max_tokens: Option<MaxTokens>,
    samples: usize,
    bytes: usize,
    tokens: u64,
}

/// Tokens in flight at most; a sample counts with its own and the longest output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MaxTokens {
    pub(crate) most: u64,
    pub(crate) longest_output: u32,
}

impl Window {
    /// Both limits are at least 1.
    pub(crate) fn new(max_samples: usize, max_bytes: usize, max_tokens: Option<MaxTokens>) -> Self {
        let (max_samples, max_bytes) = (max_samples.max(1), max_bytes.max(1));
        Self { max_samples, max_bytes, max_tokens, samples: 0, bytes: 0, tokens: 0 }
    }

    /// Lets a sample of that size go out, if there is room. One that is larger than the whole window goes alone.
    pub(crate) fn admit(&mut self, bytes: usize) -> bool {
        let tokens = self.tokens_of(bytes);
        let most_tokens = self.max_tokens.map_or(u64::MAX, |tokens| tokens.most);
        let room = self.samples < self.max_samples
            && (self.samples == 0
                || self.bytes.saturating_add(bytes) <= self.max_bytes
                    && self.tokens.saturating_add(tokens) <= most_tokens);
        if room {
            self.samples += 1;
            self.bytes += bytes;
            self.tokens += tokens;
        }
        room
    }

    /// Gives back what such a sample took: its answer is complete.
    pub(crate) fn answered(&mut self, bytes: usize) {
        self.samples -= 1;
        self.bytes -= bytes;
        self.tokens -= self.tokens_of(bytes);
    }

    fn tokens_of(&self, bytes: usize) -> u64 {
        self.max_tokens.map_or(0, |max| tokens::cost(bytes as u64, max.longest_output))
    }

    /// Whether no limit is exceeded, but by a sample that is larger than all the room and alone.
    #[cfg(test)]
    pub(crate) fn keeps_its_limits(&self) -> bool {
        let tokens = self.max_tokens.is_none_or(|max| self.tokens <= max.most);
        let sizes = self.bytes <= self.max_bytes && tokens;
        self.samples <= self.max_samples && (self.samples <= 1 || sizes)
    }

    /// Whether samples are in flight.
    pub(crate) fn is_open(&self) -> bool {
        self.samples > 0
    }

    pub(crate) fn max_samples(&self) -> usize {
        self.max_samples
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sample_larger_than_the_window_goes_alone() {
        let mut window = Window::new(10, 100, None);
        assert!(window.admit(500));
        assert!(!window.admit(1));
        window.answered(500);
        assert!(window.admit(1));
    }

    #[test]
    fn tokens_are_those_of_the_samples_and_of_their_longest_outputs() {
        let mut window = Window::new(10, 1000, Some(MaxTokens { most: 25, longest_output: 10 }));
        let of = |tokens: usize| 24 + 4 * tokens;
        assert!(window.admit(of(2)) && window.admit(of(3)));
        assert!(!window.admit(of(0)));
        window.answered(of(3));
        assert!(window.admit(of(0)));
        window.answered(of(2));
        window.answered(of(0));
        assert!(window.admit(of(100)) && !window.admit(0), "one that is too large goes alone");
        window.answered(of(100));
        assert_eq!((window.tokens, window.keeps_its_limits()), (0, true));
    }

    /// Every sequence of steps up to a length, against the plain rule.
    fn try_all(window: &Window, in_flight: &[usize], left: u8) {
        let Some(left) = left.checked_sub(1) else { return };
        let sum: usize = in_flight.iter().sum();
        assert_eq!(window.is_open(), !in_flight.is_empty());
        for bytes in [0, 1, 4, 9] {
            let mut next = window.clone();
            let fits = in_flight.len() < 3 && (in_flight.is_empty() || sum + bytes <= 8);
            assert_eq!(next.admit(bytes), fits, "{bytes} beside {in_flight:?}");
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

    proptest! {
        #[test]
        fn limits_hold_and_nothing_leaks(sizes in proptest::collection::vec(1_usize..60, 1..200)) {
            let mut window = Window::new(5, 100, None);
            let mut in_flight = std::collections::VecDeque::new();
            for size in sizes {
                while !window.admit(size) {
                    prop_assert!(!in_flight.is_empty());
                    window.answered(in_flight.pop_front().unwrap_or_default());
                }
                in_flight.push_back(size);
                prop_assert!(in_flight.len() <= 5);
                prop_assert!(in_flight.iter().sum::<usize>() <= 100);
            }
            for size in in_flight {
                window.answered(size);
            }
            prop_assert_eq!((window.samples, window.bytes), (0, 0));
        }
    }
}
