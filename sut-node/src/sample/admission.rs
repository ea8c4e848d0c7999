//! Admission: limits of the samples in flight. A full node stops reading its streams, and flow
//! control holds the senders back: nothing is dropped.

use tokio::sync::Semaphore;

use crate::sample::token_room::TokenRoom;

/// Free room of the node, in samples, payload bytes and tokens.
#[derive(Debug)]
pub(crate) struct Admission {
    samples: Semaphore,
    bytes: Semaphore,
    tokens: Semaphore,
    max_bytes: u32,
    /// Limit of the tokens in flight; `None`: no limit.
    max_tokens: Option<TokenRoom>,
}

/// Cost of a sample: the room in bytes and tokens that it takes. It is at most the whole room of
/// the node: a larger sample is admitted alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    bytes: u32,
    /// Cost in tokens; 0 without a limit of tokens.
    tokens: u32,
}

/// Permit for one or more samples. It is released when the engine has answered them.
#[derive(Debug)]
pub(crate) struct AdmissionPermit {
    admission: &'static Admission,
    samples: usize,
    bytes: usize,
    tokens: usize,
}

impl AdmissionPermit {
    /// Splits off the permit of a sample with this cost.
    pub(crate) fn split_off(&mut self, cost: Cost) -> Self {
        let (bytes, tokens) = (cost.bytes as usize, cost.tokens as usize);
        self.samples -= 1;
        self.bytes -= bytes;
        self.tokens -= tokens;
        Self { admission: self.admission, samples: 1, bytes, tokens }
    }

    /// Takes over another permit, so that many are released at once.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.samples += std::mem::take(&mut other.samples);
        self.bytes += std::mem::take(&mut other.bytes);
        self.tokens += std::mem::take(&mut other.tokens);
    }
}

impl Admission {
    /// Creates the admission of a node, which lives as long as the process: counting its users
    /// would be two atomic operations for each sample.
    pub(crate) fn new(
        max_samples: u32,
        max_bytes: u32,
        max_tokens: Option<TokenRoom>,
    ) -> &'static Self {
        Box::leak(Box::new(Self {
            samples: Semaphore::new(max_samples as usize),
            bytes: Semaphore::new(max_bytes as usize),
            tokens: Semaphore::new(max_tokens.map_or(0, |room| room.max_tokens as usize)),
            max_bytes,
            max_tokens,
        }))
    }

    /// Returns the cost of a sample. `bytes` is the larger of its encoded and decoded lengths, and
    /// `decoded` the decoded length. `working` is the memory that the model needs in addition. All
    /// are in bytes.
    pub(crate) fn cost(&self, bytes: u64, decoded: u64, working: u64) -> Cost {
        // A sample that never fits is refused once it is read. It must not wait until the node is
        // empty.
        let working = if self.fits(decoded, working) { working } else { 0 };
        let room = self.max_tokens.filter(|room| room.refusal(decoded).is_none());
        let within = |n: u64, most: u32| u32::try_from(n).unwrap_or(u32::MAX).min(most);
        Cost {
            bytes: within(bytes.saturating_add(working), self.max_bytes),
            tokens: room.map_or(0, |room| within(room.cost(decoded), room.max_tokens)),
        }
    }

    /// Returns the reason why a sample of `decoded` bytes, for which the model needs `working`
    /// bytes in addition, can never be admitted; `None` if it can.
    pub(crate) fn refusal(&self, decoded: u64, working: u64) -> Option<String> {
        if self.fits(decoded, working) {
            return self.max_tokens.and_then(|room| room.refusal(decoded));
        }
        let (needed, room) = (working.saturating_add(decoded), self.max_bytes);
        Some(format!(
            "the model needs {needed} bytes for a sample of {decoded}, including its response, but the node has room for {room}: \
             raise --max-in-flight-bytes of the node"
        ))
    }

    /// Returns true if an empty node has room for a sample and for the model's memory. A long
    /// sample is admitted alone if the model needs no more memory.
    fn fits(&self, decoded: u64, working: u64) -> bool {
        working == 0 || working.saturating_add(decoded) <= self.max_bytes.into()
    }

    /// Returns a permit for samples of these costs together, or `None` if there is no room for all
    /// of them.
    pub(crate) fn try_admit(
        &'static self,
        samples: impl IntoIterator<Item = Cost>,
    ) -> Option<AdmissionPermit> {
        let (mut samples_sum, mut bytes, mut tokens) = (0_u32, 0_u32, 0_u32);
        for cost in samples {
            samples_sum += 1;
            bytes = bytes.checked_add(cost.bytes)?;
            tokens = tokens.checked_add(cost.tokens)?;
        }
        let places = self.samples.try_acquire_many(samples_sum).ok()?;
        let room = self.bytes.try_acquire_many(bytes).ok()?;
        let of_tokens = match tokens {
            0 => None,
            _ => Some(self.tokens.try_acquire_many(tokens).ok()?),
        };
        let permits = [Some(places), Some(room), of_tokens];
        permits.into_iter().flatten().for_each(|permit| permit.forget());
        let (samples, bytes, tokens) = (samples_sum as usize, bytes as usize, tokens as usize);
        Some(AdmissionPermit { admission: self, samples, bytes, tokens })
    }

    /// Returns a permit once there is room. Waiters are served in order, so that small samples do
    /// not keep a large one out.
    pub(crate) async fn admit(&'static self, cost: Cost) -> AdmissionPermit {
        let Cost { bytes, tokens } = cost;
        // The semaphores are never closed, so acquiring cannot fail. A cancelled waiter keeps no
        // permit.
        let sample = self.samples.acquire().await;
        let room = self.bytes.acquire_many(bytes).await;
        let of_tokens = self.tokens.acquire_many(tokens).await;
        [sample, room, of_tokens].into_iter().flatten().for_each(|permit| permit.forget());
        let (bytes, tokens) = (bytes as usize, tokens as usize);
        AdmissionPermit { admission: self, samples: 1, bytes, tokens }
    }

    /// Returns true if another sample of that cost would be admitted now.
    pub(crate) fn has_room_for(&self, cost: Cost) -> bool {
        self.samples.available_permits() > 0
            && self.bytes.available_permits() >= cost.bytes as usize
            && self.tokens.available_permits() >= cost.tokens as usize
    }

    /// Returns the free room: the number of samples, of payload bytes and of tokens, in this order.
    pub(crate) fn free(&self) -> [usize; 3] {
        [&self.samples, &self.bytes, &self.tokens].map(Semaphore::available_permits)
    }
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        self.admission.samples.add_permits(self.samples);
        self.admission.bytes.add_permits(self.bytes);
        self.admission.tokens.add_permits(self.tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: u32) -> Cost {
        Cost { bytes, tokens: 0 }
    }

    #[test]
    fn samples_and_bytes_are_limited_and_come_back() {
        let admission = Admission::new(2, 100, None);
        let first = admission.try_admit([bytes(60)]).unwrap();
        assert!(admission.try_admit([bytes(60)]).is_none(), "no room in bytes");
        let second = admission.try_admit([bytes(40)]).unwrap();
        assert!(admission.try_admit([bytes(0)]).is_none(), "no room in samples");
        drop((first, second));
        assert!(admission.try_admit([bytes(60), bytes(60)]).is_none(), "no room for both");
        let mut both = admission.try_admit([bytes(60), bytes(40)]).unwrap();
        let first = both.split_off(bytes(60));
        drop(both);
        assert!(
            !admission.has_room_for(bytes(41)) && admission.has_room_for(bytes(40)),
            "40 are free again"
        );
        drop(first);
        let working = admission.try_admit([admission.cost(8, 30, 60)]).unwrap();
        assert!(admission.try_admit([bytes(33)]).is_none(), "60 for the model and 8 of a sample");
        drop(working);
        let refused = admission.refusal(30, 71).unwrap();
        assert!(refused.contains("needs 101 bytes for a sample of 30"), "{refused}");
        assert_eq!(admission.refusal(30, 70), None);
        assert_eq!(admission.refusal(1 << 40, 0), None, "a huge sample is admitted alone");
        let never = admission.try_admit([admission.cost(8, 30, u64::MAX)]).unwrap();
        assert!(
            admission.try_admit([bytes(92)]).is_some(),
            "a sample that is refused waits for nothing"
        );
        drop(never);
        let huge = admission.try_admit([admission.cost(1 << 40, 1 << 40, 0)]).unwrap();
        assert!(admission.try_admit([bytes(1)]).is_none(), "a huge sample takes all");
        drop(huge);
        let mut both = admission.try_admit([bytes(70)]).unwrap();
        both.join(admission.try_admit([bytes(30)]).unwrap());
        assert!(admission.try_admit([bytes(1)]).is_none(), "joined places are still taken");
        drop(both);
        assert!(admission.try_admit([bytes(100)]).is_some());
    }

    #[tokio::test]
    async fn the_one_who_waits_gets_the_place() {
        let admission = Admission::new(1, 100, None);
        let first = admission.admit(bytes(1)).await;
        let waiting = tokio::spawn(admission.admit(bytes(100)));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let all = waiting.await.unwrap();
        // A cancelled waiter for bytes keeps no permit.
        drop(all);
        let half = Admission::new(2, 100, None).admit(bytes(60)).await;
        let admission = half.admission;
        let gives_up = tokio::time::timeout(std::time::Duration::ZERO, admission.admit(bytes(60)));
        assert!(gives_up.await.is_err());
        assert!(admission.has_room_for(bytes(40)));
    }

    #[tokio::test]
    async fn tokens_are_limited_and_a_large_sample_is_not_starved_by_small_ones() {
        let room = TokenRoom { max_tokens: 100, longest_output: 10 };
        let admission = Admission::new(10, 100, Some(room));
        let tokens = |tokens| Cost { bytes: 1, tokens };
        let mut small = admission.try_admit([tokens(40), tokens(40)]).unwrap();
        assert!(admission.try_admit([tokens(21)]).is_none());
        let large = tokio::spawn(admission.admit(tokens(90)));
        tokio::task::yield_now().await;
        assert!(!large.is_finished());
        // Twenty are free, but reserved for the large sample.
        assert!(!admission.has_room_for(tokens(1)) && admission.try_admit([tokens(1)]).is_none());
        drop(small.split_off(tokens(40)));
        tokio::task::yield_now().await;
        assert!(!large.is_finished() && admission.try_admit([tokens(1)]).is_none());
        drop(small);
        let large = large.await.unwrap();
        assert_eq!(admission.free(), [9, 99, 10]);
        drop(large);
        assert_eq!(admission.free(), [10, 100, 100]);
        // A sample that can never be admitted is refused elsewhere, and does not wait for room
        // until then.
        let _all = admission.try_admit([tokens(100)]).unwrap();
        let longest = 24 + 4 * 90;
        for (bytes, tokens) in [(0, 10), (longest, 100), (longest + 4, 0), (1 << 40, 0)] {
            assert_eq!(admission.cost(bytes, bytes, 0).tokens, tokens);
            assert_eq!(admission.refusal(bytes, 0).is_some(), tokens == 0);
            let admitted =
                admission.try_admit([Cost { bytes: 0, ..admission.cost(bytes, bytes, 0) }]);
            assert_eq!(admitted.is_some(), tokens == 0);
        }
    }
}
