//! How much the node takes in. When it is full it stops reading its streams, and HTTP/2's flow control holds
//! the sender back: nothing is dropped.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The node's room, in samples and payload bytes.
#[derive(Debug)]
pub(crate) struct Admission {
    samples: Semaphore,
    bytes: Semaphore,
    max_bytes: u32,
}

/// The places of one or more samples; given back when the engine has answered them.
#[derive(Debug)]
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    samples: usize,
    bytes: usize,
}

impl Admitted {
    /// The place of one of them, of that many payload bytes, to be held alone.
    pub(crate) fn split_off(&mut self, bytes: u64) -> Self {
        let bytes = (self.admission.charge(bytes) as usize).min(self.bytes);
        self.samples -= 1;
        self.bytes -= bytes;
        Self { admission: self.admission.clone(), samples: 1, bytes }
    }

    /// Takes over another sample's place, so that many are given back at once.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.samples += std::mem::take(&mut other.samples);
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Admission {
    pub(crate) fn new(max_samples: u32, max_bytes: u32) -> Self {
        Self {
            samples: Semaphore::new(max_samples as usize),
            bytes: Semaphore::new(max_bytes as usize),
            max_bytes,
        }
    }

    /// Places for samples of so many bytes each at once, or `None` when there is no room for all of them.
    pub(crate) fn try_admit(
        self: &Arc<Self>,
        samples: impl IntoIterator<Item = u64>,
    ) -> Option<Admitted> {
        let charges = samples.into_iter().map(|bytes| u64::from(self.charge(bytes)));
        let (samples, bytes) = charges.fold((0, 0), |(n, sum), charge| (n + 1, sum + charge));
        let bytes = u32::try_from(bytes).ok()?;
        let places = self.samples.try_acquire_many(samples).ok()?;
        let room = self.bytes.try_acquire_many(bytes).ok()?;
        places.forget();
        room.forget();
        let (samples, bytes) = (samples as usize, bytes as usize);
        Some(Admitted { admission: self.clone(), samples, bytes })
    }

    /// A place, once there is one.
    pub(crate) async fn admit(self: &Arc<Self>, bytes: u64) -> Admitted {
        let bytes = self.charge(bytes);
        // The semaphores are never closed, so acquiring cannot fail. Whoever stops waiting keeps neither place.
        let sample = self.samples.acquire().await;
        let room = self.bytes.acquire_many(bytes).await;
        if let (Ok(sample), Ok(room)) = (sample, room) {
            sample.forget();
            room.forget();
        }
        Admitted { admission: self.clone(), samples: 1, bytes: bytes as usize }
    }

    /// Whether another sample of that size would be let in now.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.samples.available_permits() > 0
            && self.bytes.available_permits() >= self.charge(bytes) as usize
    }

    /// Samples and bytes that would be let in now.
    #[cfg(test)]
    pub(crate) fn free(&self) -> (usize, usize) {
        (self.samples.available_permits(), self.bytes.available_permits())
    }

    /// A sample longer than all the room is let in alone.
    fn charge(&self, bytes: u64) -> u32 {
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.max_bytes)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.samples.add_permits(self.samples);
        self.admission.bytes.add_permits(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_and_bytes_are_limited_and_come_back() {
        let admission = Arc::new(Admission::new(2, 100));
        let first = admission.try_admit([60]).unwrap();
        assert!(admission.try_admit([60]).is_none(), "no room in bytes");
        let second = admission.try_admit([40]).unwrap();
        assert!(admission.try_admit([0]).is_none(), "no room in samples");
        drop((first, second));
        assert!(admission.try_admit([60, 60]).is_none(), "no room for both");
        let mut both = admission.try_admit([60, 40]).unwrap();
        let first = both.split_off(60);
        drop(both);
        assert!(!admission.has_room_for(41) && admission.has_room_for(40), "40 are free again");
        drop(first);
        let huge = admission.try_admit([1 << 40]).unwrap();
        assert!(admission.try_admit([1]).is_none(), "a huge sample takes all");
        drop(huge);
        let mut both = admission.try_admit([70]).unwrap();
        both.join(admission.try_admit([30]).unwrap());
        assert!(admission.try_admit([1]).is_none(), "joined places are still taken");
        drop(both);
        assert!(admission.try_admit([100]).is_some());
    }

    #[tokio::test]
    async fn the_one_who_waits_gets_the_place() {
        let admission = Arc::new(Admission::new(1, 100));
        let first = admission.admit(1).await;
        let waiting = tokio::spawn({
            let admission = admission.clone();
            async move { admission.admit(100).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let all = waiting.await.unwrap();
        // One that waits for bytes and gives up keeps no place.
        drop(all);
        let half = Arc::new(Admission::new(2, 100)).admit(60).await;
        let admission = half.admission.clone();
        let gives_up = tokio::time::timeout(std::time::Duration::ZERO, admission.admit(60));
        assert!(gives_up.await.is_err());
        assert!(admission.has_room_for(40));
    }
}
